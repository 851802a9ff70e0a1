"""Read tables and queries of a PostgreSQL database, where SQL groups the rows by arm and environment.

All statements run in a read-only transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tideproof.data.group_by_sql import Progress, Query, Rows, SqlRows
from tideproof.data.sources.duckdb_database import LIST_TABLES, table_sql
from tideproof.errors import InputError, MissingExtra


@contextmanager
def open_postgres(url: str, table: str | None) -> Iterator[SqlRows]:
    """Open a table or query of a PostgreSQL database."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra.for_module("psycopg", "postgres", "reading from PostgreSQL") from None

    try:
        with psycopg.connect(url, options="-c timezone=UTC -c datestyle=ISO,YMD") as connection:
            connection.read_only = True

            def run(query: str, progress: Progress | None = None, /) -> Rows:
                """Run an SQL query and return all rows of its result."""
                return connection.execute(query.encode()).fetchall()

            rows = table_sql(table, run(LIST_TABLES), home="public")
            yield SqlRows(run, rows, _fetch_types(connection, rows), _centred_mean_sql(run), _factor_sql)
    except psycopg.Error as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"cannot read from PostgreSQL: {lines[0]}") from None


def _fetch_types(connection: Any, rows: str) -> dict[str, str]:
    """Return the SQL type of each column of a PostgreSQL table, from a query that returns no rows."""
    described = connection.execute(f"SELECT * FROM {rows} LIMIT 0".encode()).description
    listed = ", ".join(str(oid) for oid in sorted({column.type_code for column in described}))
    names = dict(
        connection.execute(
            f"SELECT oid, upper(format_type(oid, NULL)) FROM pg_type WHERE oid IN ({listed})".encode()
        ).fetchall()
    )
    return {column.name: names[column.type_code] for column in described}


def _factor_sql(d: str) -> str:
    """Return SQL for a deviation from the mean, with tiny values replaced by 0 and huge ones by NaN.

    PostgreSQL raises an error if the fourth power of a deviation underflows or overflows.
    """
    size = f"abs({d})"
    return f"(CASE WHEN {size} < 1e-75 THEN 0 WHEN {size} < 1e75 THEN {d} WHEN {size} > 0 THEN 'NaN' END)"


def _centred_mean_sql(run: Query) -> Callable[[str, str], str]:
    """Return a function that writes SQL for a mean; one reward is subtracted first, to avoid rounding errors.

    That reward is fetched once: a subquery that is used twice could return two different rewards.
    """

    def mean(reward: str, rows: str) -> str:
        """Return SQL for the mean of the expression `reward` over `rows`."""
        finite = f"{reward} > '-Infinity' AND {reward} < 'Infinity'"  # excludes NULL and NaN, too
        found = run(f"SELECT {reward} FROM {rows} WHERE {finite} LIMIT 1")
        centre = f"CAST('{found[0][0]!r}' AS DOUBLE PRECISION)" if found else "0"
        return f"{centre} + avg({reward} - {centre})"

    return mean
