"""A path or a URL, opened: files, DuckDB and SQLite databases, Excel, PostgreSQL, a pipe."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from tideproof.data.column_spec import Request
from tideproof.data.group_by_sql import Progress
from tideproof.data.sources.excel import SUFFIXES as EXCEL
from tideproof.data.sources.file_kinds import kind_at
from tideproof.data.time_ordered_rows import Timed
from tideproof.errors import InputError
from tideproof.stats.cells import Cells

_DUCKDB = (".duckdb", ".ddb", ".db")
_SQLITE = (".sqlite", ".sqlite3")


class Source(Protocol):
    """Rows that lie open: look at their columns, then group them."""

    @property
    def types(self) -> dict[str, str]:
        """The SQL type of each column, in capitals."""

    def group(self, request: Request, progress: Progress | None = None) -> Cells:
        """Group the rows by arm and environment; `progress` is called with the percentage done."""

    def quantile(self, request: Request, share: float) -> float:
        """Return what so large a share of the rewards are at most."""

    def timed(self, request: Request, most: int) -> Timed:
        """Return the rows in the order of time, in bins if there are more than `most`."""


def open_source(place: str, table: str | None = None) -> AbstractContextManager[Source]:
    """Open a file, files, or a table in a database; to be used in a `with` statement.

    Parameters
    ----------
    place
        A path, a glob, a URL, or "-" for standard input.
    table
        In a database: a table's name, or a query. In an Excel file: a sheet's name.
    """
    if place == "-":
        from tideproof.data.sources.pipe import open_pipe

        return open_pipe(table)
    scheme = urlsplit(place).scheme if "://" in place else ""
    if scheme in ("postgresql", "postgres"):
        from tideproof.data.sources.postgres_tables import open_postgres

        return open_postgres(place, table)
    if scheme not in ("", "file", "duckdb", "sqlite"):
        raise InputError(
            f"cannot read {place!r}: give a local path, postgresql://…, duckdb:///path, sqlite:///path, "
            f"or a DuckDB relation of your own connection for what lies elsewhere"
        )
    path = _path(place) if scheme else place
    found = kind_at(path)
    if found == ".store":
        raise InputError(
            f"{place!r} is a store of experiments, not a log: tideproof show says how they stand, and "
            f"tp.Experiment.open(url, name).fit() fits one"
        )
    kind = f".{scheme}" if scheme in ("duckdb", "sqlite") else _kind(path, found)
    if kind in _SQLITE:
        from tideproof.data.sources.sqlite_tables import open_sqlite

        return open_sqlite(path, table)
    if kind in _DUCKDB:
        from tideproof.data.sources.duckdb_database import open_duckdb

        return open_duckdb(path, table)
    if kind in EXCEL:
        from tideproof.data.sources.excel import open_excel

        return open_excel(path, table)
    if table is not None:
        raise InputError(f"table belongs to a database; {place!r} is a file")
    from tideproof.data.sources.duckdb_files import open_files

    return open_files(path)


def _kind(path: str, found: str) -> str:
    """Return the kind of a file: of a database by its first bytes, of others by the ending of the name."""
    return found if found in (".sqlite", ".duckdb") else Path(path).suffix.lower()


def _path(url: str) -> str:
    """Return the path of a file's URL.

    Of `duckdb:` and `sqlite:` three slashes make it relative to here, four absolute; of `file:` three
    absolute.

    >>> _path("duckdb:///a.db"), _path("duckdb:////tmp/a.db"), _path("file:///tmp/a%20b.csv")
    ('a.db', '/tmp/a.db', '/tmp/a b.csv')
    """
    parts = urlsplit(url)
    path = unquote(parts.netloc + parts.path)
    return path[1:] if parts.scheme != "file" and path.startswith("/") else path
