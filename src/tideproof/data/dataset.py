"""Opening of a log of any kind: columns in memory, data frames, files, databases, standard input.

`open_dataset` returns a `Dataset`, the operations on the rows of the log. `open_source` opens paths and URLs.
It detects SQLite and DuckDB files by their first bytes, and other files by the extension of their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote, urlsplit

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.group_by_sql import Progress
from tideproof.data.sources.array_columns import cells_from_columns, column_quantile
from tideproof.data.time_ordered_rows import TimeOrderedRows, order_columns
from tideproof.errors import InputError
from tideproof.files import is_store_open
from tideproof.stats.cells import Cells
from tideproof.table import Table

_DUCKDB = (".duckdb", ".ddb", ".db")
_SQLITE = (".sqlite", ".sqlite3")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_SIGNS = {
    b"SQLite format 3\x00": ".sqlite",
    b"PAR1": ".parquet",
    b"PK\x03\x04": ".xlsx",
    b"\x1f\x8b": ".csv.gz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
}
_LENGTH = 512


class Grouping(Protocol):
    """Function that groups rows by arm and environment; it calls `progress` with the percentage done."""

    def __call__(self, request: ColumnSpec, progress: Progress | None = None, /) -> Cells:
        """Return the statistics of the rewards of each arm in each environment of a log."""


class Dataset(NamedTuple):
    """Table from any source, with functions that group its rows, find quantiles and sort rows by time.

    Attributes
    ----------
    columns : names of the columns.
    group : returns the cells for a specification of columns.
    quantile : returns a quantile of the rewards; NaN without rewards.
    timed : returns the rows ordered by time, grouped into bins if there are more than the given number.
    types : SQL type of each column, for guesses which column is which; empty if they are unknown.
    """

    columns: Collection[str]
    group: Grouping
    quantile: Callable[[ColumnSpec, float], float]
    timed: Callable[[ColumnSpec, int], TimeOrderedRows]
    types: Mapping[str, str] = {}


@contextmanager
def open_dataset(data: Any, table: str | None = None) -> Iterator[Dataset]:
    """Open a table of any kind: columns in memory, a data frame, a file, a database or standard input."""
    if isinstance(data, Table):
        data = {name: data[name] for name in data.columns}
    if isinstance(data, (str, os.PathLike)):
        with open_source(os.fspath(data), table) as source:
            yield source_dataset(source)
        return
    if _package(data) == "narwhals":
        data = data.to_native()
    if isinstance(data, Mapping):
        group, quantile = _without_progress(cells_from_columns, data), partial(column_quantile, data)
        yield Dataset(data.keys(), group, quantile, partial(order_columns, data))
    elif _package(data) in ("duckdb", "_duckdb"):
        from tideproof.data.sources.duckdb_files import open_relation

        with open_relation(data) as source:
            yield source_dataset(source)
    else:
        from tideproof.data.sources.dataframes import (
            cells_from_frame,
            frame_columns,
            frame_quantile,
            order_frame,
        )

        group, quantile = _without_progress(cells_from_frame, data), partial(frame_quantile, data)
        yield Dataset(frame_columns(data), group, quantile, partial(order_frame, data))


def source_dataset(source: Source) -> Dataset:
    """Return the common interface `Dataset` for an opened file or database table."""
    return Dataset(source.types, source.group, source.quantile, source.timed, source.types)


def _without_progress(group: Callable[[Any, ColumnSpec], Cells], data: Any) -> Grouping:
    """Wrap a function that groups rows by arm and environment, so that it does not report progress."""
    return lambda request, progress=None, /: group(data, request)


def _package(data: Any) -> str:
    """Return the name of the package that defines the type of an object."""
    return type(data).__module__.split(".")[0]


class Source(Protocol):
    """Opened table: column types, statistics by arm and environment, quantiles of rewards, rows by time."""

    @property
    def types(self) -> dict[str, str]:
        """The SQL type of each column of the table, in capitals."""

    def group(self, request: ColumnSpec, progress: Progress | None = None) -> Cells:
        """Group the rows of a table by arm and environment; `progress` is called with the percentage done."""

    def quantile(self, request: ColumnSpec, share: float) -> float:
        """Return the quantile of the rewards of a log at probability `share`; NaN without rewards."""

    def timed(self, request: ColumnSpec, most: int) -> TimeOrderedRows:
        """Return the rows of a log ordered by time; more than `most` rows are grouped into time bins."""


def open_source(source: str, table: str | None = None) -> AbstractContextManager[Source]:
    """Return a context manager that opens a file, several files, or a table in a database.

    Parameters
    ----------
    source
        A path, a glob pattern, a URL, or "-" for standard input.
    table
        In a database, the name of a table, or a query. In an Excel file, the name of a sheet.
    """
    if source == "-":
        from tideproof.data.sources.pipe import open_pipe

        return open_pipe(table)
    scheme = urlsplit(source).scheme if "://" in source else ""
    if scheme in ("postgresql", "postgres"):
        from tideproof.data.sources.postgres_tables import open_postgres

        return open_postgres(source, table)
    if scheme not in ("", "file", "duckdb", "sqlite"):
        raise InputError(
            f"cannot read {source!r}: give a local path, postgresql://…, duckdb:///path or sqlite:///path; "
            f"for other sources pass a DuckDB relation"
        )
    path = _path_of_url(source) if scheme else source
    found = detect_kind_of_file(path)
    if found == ".store":
        raise InputError(
            f"{source!r} is a store of experiments, not a log: use tideproof show to list them, or "
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
    if table is None and kind == ".json":
        from tideproof.data.sources.benchmark_results import find_benchmark_results, open_benchmark_results

        if (results := find_benchmark_results(path)) is not None:
            return open_benchmark_results(results)
    if table is not None:
        raise InputError(f"table is for databases and Excel files only, not for {source!r}; leave it out")
    from tideproof.data.sources.duckdb_files import open_files

    return open_files(path)


def _select_kind(path: str, found: str) -> str:
    """Detect the kind of a file: databases by their first bytes, other files by the file name extension."""
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
