"""DuckDB connections with progress reports and readable errors; they also read DuckDB relations of users."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tideproof.data.group_by_sql import Progress, Query, Rows, SqlRows
from tideproof.errors import InputError

if TYPE_CHECKING:
    import duckdb

PROGRESS_PAUSE = 0.2  # seconds between two progress reports


class FileGuard(NamedTuple):
    """Restrictions for reading an untrusted file: only this file, with limited memory."""

    path: str
    memory: str = "512MB"


@contextmanager
def open_relation(relation: duckdb.DuckDBPyRelation) -> Iterator[SqlRows]:
    """Open a DuckDB relation for reading, in the connection that created it."""

    def run(query: str, progress: Progress | None = None, /) -> Rows:
        """Run an SQL query and return all rows of its result."""
        answer = relation.query("tideproof_rows", query)
        return [] if answer is None else answer.fetchall()

    types = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    with readable_errors("the relation"):  # not sampled, as its first rows may cost as much as all of them
        yield SqlRows(run, "tideproof_rows", types, compensated_mean_sql, quick=True)


def compensated_mean_sql(reward: str, rows: str) -> str:
    """Return SQL for a mean by compensated (Kahan) summation.

    A plain sum loses digits of rewards far from 0.
    """
    return f"favg({reward})"


def fetch_types(run: Query, rows: str) -> dict[str, str]:
    """Return the SQL type of each column of a table in DuckDB."""
    return {row[0]: row[1] for row in run(f"DESCRIBE SELECT * FROM {rows}")}


@contextmanager
def open_connection(database: str = ":memory:", guard: FileGuard | None = None) -> Iterator[Query]:
    """Open a DuckDB connection, and yield a function that runs a query and returns all rows."""
    import duckdb

    with readable_errors(database):
        connection = duckdb.connect(database, read_only=database != ":memory:")
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    connection.execute(
        "SET parquet_metadata_cache = true"
    )  # a file is read for types, a sample, and all rows
    if guard is not None:
        path = guard.path.replace("'", "''")
        connection.execute(
            f"SET memory_limit = '{guard.memory}'; SET temp_directory = ''; SET threads = 2; "
            f"SET allowed_paths = ['{path}']; SET enable_external_access = false; "
            f"SET lock_configuration = true"
        )

    def run(query: str, progress: Progress | None = None, /) -> Rows:
        """Run an SQL query and return all rows of its result."""
        with report_progress(connection, progress):
            return connection.execute(query).fetchall()

    try:
        yield run
    finally:
        connection.close()


@contextmanager
def readable_errors(what: str) -> Iterator[None]:
    """Context manager that converts an error of DuckDB to one sentence about the data source `what`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        said = error_sentence(error)
        encoded = "utf-8" in said.lower()
        helps = " Save it as UTF-8 (iconv -f latin1 -t utf8)." if encoded else ""
        raise InputError(f"cannot read {what}: {said}{helps}") from None


def error_sentence(error: Exception) -> str:
    r"""Return the lines of a DuckDB error that say what happened, without its advice.

    >>> error_sentence(Exception("Conversion Error: Error on Line: 4\nOriginal Line: A,x\nPossible fixes:"))
    'Error on Line: 4; Original Line: A,x'
    """
    lines = []
    for line in str(error).splitlines():
        if not line.strip() or line.startswith(("Possible", "LINE ", "The search space", "Column ", "*")):
            break
        lines.append(line.strip())
    first, *rest = lines or [type(error).__name__]
    return "; ".join([first.split("Error: ", 1)[-1], *rest])


@contextmanager
def report_progress(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> Iterator[None]:
    """Context manager that reports the progress of a DuckDB query from a thread, a few times per second."""
    if progress is None:
        yield
        return
    done = threading.Event()

    def report() -> None:
        """Call `progress` with the percentage done, a few times per second until the query ends."""
        while not done.wait(PROGRESS_PAUSE):
            progress(max(0.0, connection.query_progress()))

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
