"""A path or a URL, opened: files, DuckDB databases, PostgreSQL."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from tideproof.errors import InputError
from tideproof.frames.group_by import Progress
from tideproof.frames.request import Request
from tideproof.stats.cells import Cells

_DATABASES = (".duckdb", ".ddb", ".db")


class Source(Protocol):
    """Rows that lie open: look at their columns, then group them."""

    @property
    def types(self) -> dict[str, str]:
        """The SQL type of each column, in capitals."""

    def group(self, request: Request, progress: Progress | None = None) -> Cells:
        """Group the rows by arm and environment; `progress` is called with the percentage done."""


def open_source(place: str, table: str | None = None) -> AbstractContextManager[Source]:
    """Open a file, files, or a table in a database; to be used in a `with` statement.

    Parameters
    ----------
    place
        A path, a glob, or a URL.
    table
        In a database: a table's name, or a query.
    """
    scheme = urlsplit(place).scheme if "://" in place else ""
    if scheme in ("postgresql", "postgres"):
        from tideproof.frames.postgres import open_postgres

        return open_postgres(place, table)
    if scheme == "duckdb" or (not scheme and Path(place).suffix.lower() in _DATABASES):
        from tideproof.frames.databases import open_duckdb

        return open_duckdb(_path(place) if scheme else place, table)
    if scheme not in ("", "file"):
        raise InputError(
            f"cannot read {place!r}: give a local path, postgresql://…, duckdb:///path, or a DuckDB "
            f"relation of your own connection for what lies elsewhere"
        )
    if table is not None:
        raise InputError(f"table belongs to a database; {place!r} is a file")
    from tideproof.frames.files import open_files

    return open_files(_path(place) if scheme else place)


def _path(url: str) -> str:
    """Return the path of a file's URL.

    Of `duckdb:` three slashes make it relative to here, four absolute; of `file:` three absolute.

    >>> _path("duckdb:///a.db"), _path("duckdb:////tmp/a.db"), _path("file:///tmp/a%20b.csv")
    ('a.db', '/tmp/a.db', '/tmp/a b.csv')
    """
    parts = urlsplit(url)
    path = unquote(parts.netloc + parts.path)
    return path[1:] if parts.scheme == "duckdb" and path.startswith("/") else path
