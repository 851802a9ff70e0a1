"""A file or folder of an evaluation tool, which can be read as JSON, as JSON lines, or as a zip archive."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from tideproof.errors import InputError, MissingExtra

_ZSTANDARD = 93  # compression method of zip members, which Python reads from version 3.14 on
_LOCAL_HEADER = 30  # bytes before the name in the local header of a zip member


class LogFile:
    """File or folder that may be an evaluation log; nothing is read before it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def is_folder(self) -> bool:
        """Whether the evaluation log is a folder, as one of HELM is."""
        return self.path.is_dir()

    @cached_property
    def is_zip(self) -> bool:
        """Whether the evaluation log is a zip archive."""
        return self.path.is_file() and zipfile.is_zipfile(self.path)

    @property
    def suffix(self) -> str:
        """Extension of the file name in lower case, ignoring a compression extension such as `.gz`."""
        suffixes = [each.lower() for each in self.path.suffixes if each.lower() != ".gz"]
        return suffixes[-1] if suffixes else ""

    @cached_property
    def document(self) -> Any:
        """The parsed JSON document of the file; None if the file is not one JSON document."""
        if self.is_folder or self.is_zip or self.suffix != ".json":
            return None
        with self.open() as file:
            try:
                return json.load(file)
            except (ValueError, UnicodeDecodeError):
                return None

    @cached_property
    def first_record(self) -> Any:
        """The JSON value of the first line of a JSON lines file; None if there is none."""
        if self.is_folder or self.is_zip or self.suffix not in (".jsonl", ".ndjson", ".json"):
            return None
        try:
            return next(self.records(), None)
        except (InputError, UnicodeDecodeError):
            return None

    def open(self) -> IO[str]:
        """Open the evaluation log as a text file."""
        if self.path.suffix.lower() == ".gz":
            return gzip.open(self.path, "rt", encoding="utf-8")
        return open(self.path, encoding="utf-8")

    def records(self) -> Iterator[Any]:
        """Yield the parsed JSON value of each line of the file."""
        with self.open() as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    try:
                        yield json.loads(line)
                    except ValueError:
                        raise InputError(
                            f"{self}: line {number} is not JSON; the file may be cut off"
                        ) from None

    def members(self) -> list[str]:
        """Return the names of the members of the zip archive."""
        with zipfile.ZipFile(self.path) as archive:
            return archive.namelist()

    def member(self, name: str) -> Any:
        """Return the parsed JSON document in a member of the zip archive."""
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(name)
            text = archive.read(name) if _can_read(info) else _decompress_zstandard(self.path, info)
        try:
            return json.loads(text)
        except ValueError:
            raise InputError(f"{self}: {name} is not JSON; the file may be damaged") from None


def _can_read(info: zipfile.ZipInfo) -> bool:
    """Return whether the standard library can decompress a member of a zip archive."""
    return info.compress_type != _ZSTANDARD or hasattr(zipfile, "ZIP_ZSTANDARD")


def _decompress_zstandard(path: Path, info: zipfile.ZipInfo) -> bytes:
    """Return the contents of a zip member that is compressed with Zstandard."""
    try:
        import zstandard
    except ImportError:
        raise MissingExtra(
            f"{path} is compressed with Zstandard: pip install zstandard (Python 3.14 does not need it)"
        ) from None
    with open(path, "rb") as file:
        file.seek(info.header_offset)
        header = file.read(_LOCAL_HEADER)
        name, extra = (int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
        file.seek(info.header_offset + _LOCAL_HEADER + name + extra)
        packed = file.read(info.compress_size)
    return bytes(zstandard.ZstdDecompressor().decompressobj().decompress(packed))
