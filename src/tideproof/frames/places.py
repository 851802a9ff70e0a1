"""A path or a URL to the reader that knows it: files, DuckDB databases, PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tideproof.errors import InputError
from tideproof.frames.cell import Cells
from tideproof.frames.request import Request

_DATABASES = (".duckdb", ".ddb", ".db")


def from_place(
    place: str, table: str | None, request: Request, progress: Callable[[float], None] | None
) -> Cells:
    """Group the rows of a file, of files, or of a table in a database."""
    scheme = urlsplit(place).scheme if "://" in place else ""
    if scheme in ("postgresql", "postgres"):
        from tideproof.frames.postgres import from_postgres

        return from_postgres(place, table, request)
    if scheme == "duckdb" or (not scheme and Path(place).suffix.lower() in _DATABASES):
        from tideproof.frames.databases import from_duckdb

        return from_duckdb(_path(place) if scheme else place, table, request, progress)
    if scheme not in ("", "file"):
        raise InputError(
            f"cannot read {place!r}: give a local path, postgresql://…, duckdb:///path, or a DuckDB "
            f"relation of your own connection for what lies elsewhere"
        )
    if table is not None:
        raise InputError(f"table belongs to a database; {place!r} is a file")
    from tideproof.frames.files import from_files

    return from_files(_path(place) if scheme else place, request, progress)


def _path(url: str) -> str:
    """Return the path of a file's URL: three slashes make it relative to here, four absolute."""
    parts = urlsplit(url)
    path = unquote(parts.netloc + parts.path)
    return path[1:] if parts.scheme == "duckdb" and path.startswith("/") else path
