"""Choice of the DuckDB function that reads the files at a path or glob, and of its options."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from tideproof.data.group_by_sql import Query
from tideproof.data.sources.csv_header import find_header, first_lines
from tideproof.data.sources.excel import SUFFIXES as EXCEL
from tideproof.data.sql_quoting import quote_text
from tideproof.errors import InputError, MissingFile

_TEXT = (".csv", ".tsv", ".tab", ".txt", ".psv", ".log", ".dat", "")
_JSON = {".jsonl": "newline_delimited", ".ndjson": "newline_delimited", ".json": "auto"}
_PARQUET = (".parquet", ".pq")
_PACKED = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind, with the DuckDB function and the options that read them.

    Attributes
    ----------
    paths : paths of the files, sorted.
    function : name of a DuckDB table function.
    options : its named arguments, as SQL.
    header : names of the columns of a CSV file, as written in it.
    lines_before : number of lines before the first data row of a CSV file.
    """

    paths: list[str]
    function: str
    options: dict[str, str] = field(default_factory=dict)
    header: list[str] = field(default_factory=list)
    lines_before: int = 0

    @property
    def rows(self) -> str:
        """SQL table function that reads these files, for use after FROM."""
        listed = ", ".join(quote_text(path) for path in self.paths)
        options = "".join(f", {name} = {value}" for name, value in self.options.items())
        return f"{self.function}([{listed}]{options})"

    @property
    def bytes(self) -> int:
        """Total size of the files on disk."""
        return sum(os.path.getsize(path) for path in self.paths)

    def using(self, **options: str) -> Files:
        """Return the same files with other options."""
        return replace(self, options=self.options | options)


def find_files(run: Query, place: str) -> Files:
    """Return the files at a path or glob, which must be of one kind and not all empty."""
    paths = _paths(place)
    suffixes = {_suffix(path) for path in paths}
    if len(suffixes) > 1:
        raise InputError(f"{place!r} matches files of several kinds: {', '.join(sorted(suffixes))}")
    suffix = suffixes.pop()
    if all(os.path.getsize(path) == 0 for path in paths):
        raise InputError(f"the file {place!r} is empty")
    together = {"union_by_name": "true"} if len(paths) > 1 else {}
    if suffix in _PARQUET:
        return Files(paths, "read_parquet", together)
    if suffix in _JSON:
        return Files(paths, "read_json", {"format": quote_text(_JSON[suffix])} | together)
    if suffix in _TEXT:
        return _csv_files(run, paths, together)
    known = ", ".join(name for name in (*_TEXT, *_PARQUET, *_JSON, *EXCEL) if name)
    packed = ", ".join(_PACKED)
    raise InputError(f"cannot read {suffix} files: {place!r}; supported: {known}, also with {packed}")


def _paths(place: str) -> list[str]:
    """Return the paths that a path or glob matches, or raise an error."""
    paths = [place] if os.path.isfile(place) else sorted(glob.glob(place, recursive=True))
    paths = [path for path in paths if os.path.isfile(path)]
    if not paths:
        if os.path.isdir(place):
            raise InputError(
                f"{place!r} is a folder; name its files, such as '{place.rstrip('/')}/*.parquet'"
            )
        what = "no file matches" if glob.has_magic(place) else "there is no file"
        raise MissingFile(f"{what} {place!r}")
    return paths


def _suffix(path: str) -> str:
    """Return the file name extension without that of a compression."""
    name = Path(path)
    return (name.with_suffix("") if name.suffix.lower() in _PACKED else name).suffix.lower()


def _csv_files(run: Query, paths: list[str], together: dict[str, str]) -> Files:
    """Return CSV files with the options for their delimiter, header and encoding."""
    first = next(path for path in paths if os.path.getsize(path))
    encoding = _guess_encoding(first)
    lines = first_lines(run, first, encoding)
    header = find_header(lines)
    if header is None:
        raise InputError(f"{first!r} has no line that names the columns, only empty lines or comments")
    options = {
        "delim": quote_text(header.delimiter),
        "header": "true",
        "skip": str(header.skip),
        "quote": "'\"'",
        "escape": "'\"'",
        "comment": "''",
        "null_padding": "false",
        "encoding": quote_text(encoding),
    }
    if lines[header.skip].startswith("#"):
        options["names"] = f"[{', '.join(map(quote_text, header.names))}]"
    return Files(paths, "read_csv", options | together, header.names, header.skip + 1)


def _guess_encoding(path: str) -> str:
    """Return the text encoding of a file, guessed from its first bytes."""
    with open(path, "rb") as file:
        return "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
