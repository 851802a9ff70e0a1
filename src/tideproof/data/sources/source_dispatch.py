"""Opening of a log by path or URL: files, DuckDB and SQLite databases, Excel, PostgreSQL, standard input."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.group_by_sql import Progress
from tideproof.data.sources.excel import SUFFIXES as EXCEL
from tideproof.data.sources.file_kinds import detect_kind_of_file
from tideproof.data.time_ordered_rows import TimeOrderedRows
from tideproof.errors import InputError
from tideproof.stats.cells import Cells

_DUCKDB = (".duckdb", ".ddb", ".db")
_SQLITE = (".sqlite", ".sqlite3")


class Source(Protocol):
    """Opened table: the types of its columns, its cells, a quantile of its rewards, its rows by time."""

    @property
    def types(self) -> dict[str, str]:
        """The SQL type of each column, in capitals."""

    def group(self, request: ColumnSpec, progress: Progress | None = None) -> Cells:
        """Return the cells: the rows grouped by arm and environment; `progress` gets the percentage done."""

    def quantile(self, request: ColumnSpec, share: float) -> float:
        """Return the quantile of the rewards at `share`, NaN without rewards."""

    def timed(self, request: ColumnSpec, most: int) -> TimeOrderedRows:
        """Return the rows ordered by time, grouped into bins if there are more than `most`."""


def open_source(place: str, table: str | None = None) -> AbstractContextManager[Source]:
    """Return a context manager that opens a file, several files, or a table in a database.

    Parameters
    ----------
    place
        A path, a glob pattern, a URL, or "-" for standard input.
    table
        In a database, the name of a table, or a query. In an Excel file, the name of a sheet.
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
            f"or, for other sources, a DuckDB relation"
        )
    path = _path_of_url(place) if scheme else place
    found = detect_kind_of_file(path)
    if found == ".store":
        raise InputError(
            f"{place!r} is a store of experiments, not a log: use tideproof show to list them, or "
            f"tp.Experiment.open(url, name).fit() to fit one"
        )
    kind = f".{scheme}" if scheme in ("duckdb", "sqlite") else _select_kind(path, found)
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
        raise InputError(f"table is for databases and Excel files; {place!r} is another file")
    from tideproof.data.sources.duckdb_files import open_files

    return open_files(path)


def _select_kind(path: str, found: str) -> str:
    """Return the kind of a file: databases by their first bytes, other files by the extension of the name."""
    return found if found in (".sqlite", ".duckdb") else Path(path).suffix.lower()


def _path_of_url(url: str) -> str:
    """Return the path in the URL of a file.

    In `duckdb:` and `sqlite:` URLs, a path after three slashes is relative to the current folder, and after
    four absolute. In `file:` URLs, a path after three slashes is absolute.

    >>> _path_of_url("duckdb:///a.db"), _path_of_url("duckdb:////tmp/a.db"), _path_of_url("file:///tmp/a%20b.csv")
    ('a.db', '/tmp/a.db', '/tmp/a b.csv')
    """
    parts = urlsplit(url)
    path = unquote(parts.netloc + parts.path)
    return path[1:] if parts.scheme != "file" and path.startswith("/") else path
