"""A path or a URL to the reader that knows it: files, DuckDB databases, PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from tideproof.errors import InputError
from tideproof.frames.request import Request
from tideproof.frames.sql import Source, from_source
from tideproof.stats.cells import Cells

T = TypeVar("T")

_DATABASES = (".duckdb", ".ddb", ".db")


def from_place(
    place: str, table: str | None, request: Request, progress: Callable[[float], None] | None
) -> Cells:
    """Group the rows of a file, of files, or of a table in a database."""
    return _visited(place, table, lambda source: from_source(source, request), request, progress)


def kinds_at(place: str, table: str | None) -> dict[str, str]:
    """Return the columns of a file or table and their SQL types."""
    return _visited(place, table, lambda source: source.kinds, None, None)


def _visited(
    place: str,
    table: str | None,
    visit: Callable[[Source], T],
    request: Request | None,
    progress: Callable[[float], None] | None,
) -> T:
    """Open a place and show its rows to `visit`; files look at the request before they are read."""
    scheme = urlsplit(place).scheme if "://" in place else ""
    if scheme in ("postgresql", "postgres"):
        from tideproof.frames.postgres import visit_postgres

        return visit_postgres(place, table, visit)
    if scheme == "duckdb" or (not scheme and Path(place).suffix.lower() in _DATABASES):
        from tideproof.frames.databases import visit_duckdb

        return visit_duckdb(_path(place) if scheme else place, table, visit, progress)
    if scheme not in ("", "file"):
        raise InputError(
            f"cannot read {place!r}: give a local path, postgresql://…, duckdb:///path, or a DuckDB "
            f"relation of your own connection for what lies elsewhere"
        )
    if table is not None:
        raise InputError(f"table belongs to a database; {place!r} is a file")
    from tideproof.frames.files import visit_files

    return visit_files(_path(place) if scheme else place, visit, request, progress)


def _path(url: str) -> str:
    """Return the path of a file's URL: three slashes make it relative to here, four absolute."""
    parts = urlsplit(url)
    path = unquote(parts.netloc + parts.path)
    return path[1:] if parts.scheme == "duckdb" and path.startswith("/") else path
