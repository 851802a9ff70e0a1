"""Detection of the kind of a file from its first bytes, for files with a wrong name and for pipes."""

from __future__ import annotations

from tideproof.files import is_store_open

_SIGNS = {
    b"SQLite format 3\x00": ".sqlite",
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".xlsx",
    b"\x1f\x8b": ".csv.gz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
}
_LENGTH = 512


def detect_kind(first: bytes) -> str:
    r"""Return the file name extension that fits the first bytes of a file; ".csv" if nothing else fits.

    >>> [detect_kind(first) for first in (b"PAR1...", b'{"arm": "A"}\n', b'[{"arm": "A"}]', b"arm,day\n")]
    ['.parquet', '.jsonl', '.json', '.csv']
    """
    if first[8:12] == b"DUCK":
        return ".duckdb"
    if first.startswith(b"SQLite") and first[68:72] == b"TIDE":
        return ".store"
    for sign, ending in _SIGNS.items():
        if first.startswith(sign):
            return ending
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    return {b"{": ".jsonl", b"[": ".json"}.get(text[:1], ".csv")


def detect_kind_of_file(path: str) -> str:
    """Return the file name extension that fits the contents of a file; "" if it cannot be read."""
    if is_store_open(path):
        return ".store"
    try:
        with open(path, "rb") as file:
            return detect_kind(file.read(_LENGTH))
    except OSError:
        return ""
