"""DuckDB: connections that report progress and phrase errors, and the user's own relations."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tideproof.data.group_by_sql import Progress, Query, Rows, SqlRows
from tideproof.errors import InputError

if TYPE_CHECKING:
    import duckdb

_PAUSE = 0.2  # seconds between two reports of progress


class Guard(NamedTuple):
    """How files of strangers are read: this one and nothing else, with so much memory (as DuckDB has it)."""

    path: str
    memory: str = "512MB"


@contextmanager
def open_relation(relation: duckdb.DuckDBPyRelation) -> Iterator[SqlRows]:
    """Open a relation inside the connection that made it."""

    def run(query: str, progress: Progress | None = None, /) -> Rows:
        answer = relation.query("tideproof_rows", query)
        return [] if answer is None else answer.fetchall()

    types = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    with phrased("the relation"):  # not sampled: its first rows may cost as much as all of them
        yield SqlRows(run, "tideproof_rows", types, compensated_mean, quick=True)


def compensated_mean(reward: str, rows: str) -> str:
    """Return SQL for a mean by a compensated sum: a naive one loses digits of rewards far from 0."""
    return f"favg({reward})"


def types_of(run: Query, rows: str) -> dict[str, str]:
    """Return the SQL type of each column."""
    return {row[0]: row[1] for row in run(f"DESCRIBE SELECT * FROM {rows}")}


@contextmanager
def session(database: str = ":memory:", guard: Guard | None = None) -> Iterator[Query]:
    """Open DuckDB and yield a function that runs a query and fetches all rows."""
    import duckdb

    with phrased(database):
        connection = duckdb.connect(database, read_only=database != ":memory:")
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    connection.execute("SET parquet_metadata_cache = true")  # a file is asked for types, a sample, and all
    if guard is not None:
        path = guard.path.replace("'", "''")
        connection.execute(
            f"SET memory_limit = '{guard.memory}'; SET temp_directory = ''; SET threads = 2; "
            f"SET allowed_paths = ['{path}']; SET enable_external_access = false; "
            f"SET lock_configuration = true"
        )

    def run(query: str, progress: Progress | None = None, /) -> Rows:
        with _reported(connection, progress):
            return connection.execute(query).fetchall()

    try:
        yield run
    finally:
        connection.close()


@contextmanager
def phrased(what: str) -> Iterator[None]:
    """Turn an error of DuckDB into one sentence about `what`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        said = sentence(error)
        encoded = "utf-8" in said.lower()
        helps = " Save it as UTF-8 (iconv -f latin1 -t utf8)." if encoded else ""
        raise InputError(f"cannot read {what}: {said}{helps}") from None


def sentence(error: Exception) -> str:
    r"""Return the lines of an error of DuckDB that say what happened, without its advice.

    >>> sentence(Exception("Conversion Error: CSV Error on Line: 4\nOriginal Line: A,x\nPossible fixes:"))
    'CSV Error on Line: 4; Original Line: A,x'
    """
    lines = []
    for line in str(error).splitlines():
        if not line.strip() or line.startswith(("Possible", "LINE ", "The search space", "Column ", "*")):
            break
        lines.append(line.strip())
    first, *rest = lines or [type(error).__name__]
    return "; ".join([first.split("Error: ", 1)[-1], *rest])


@contextmanager
def _reported(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> Iterator[None]:
    """Report the progress of the query that runs inside, a few times a second, from a thread."""
    if progress is None:
        yield
        return
    done = threading.Event()

    def report() -> None:
        while not done.wait(_PAUSE):
            progress(max(0.0, connection.query_progress()))

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
