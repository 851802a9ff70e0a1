"""PostgreSQL: the group-by is sent as SQL in a read-only transaction; only the groups come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tideproof.errors import InputError, MissingExtra
from tideproof.frames.databases import LISTED, chosen
from tideproof.frames.sql import Source

T = TypeVar("T")


def visit_postgres(url: str, table: str | None, visit: Callable[[Source], T]) -> T:
    """Show a table or query of a PostgreSQL database."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtra.of("psycopg", "postgres", "reading from PostgreSQL") from None

    try:
        with psycopg.connect(url, options="-c timezone=UTC") as connection:
            connection.read_only = True

            def run(query: str) -> Sequence[tuple[Any, ...]]:
                return connection.execute(query.encode()).fetchall()

            rows = chosen(table, run(LISTED), "public")
            return visit(Source(run, rows, _kinds(connection, rows), _mean(rows), sampled=False))
    except psycopg.Error as error:
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"cannot read from PostgreSQL: {said[0]}") from None


def _kinds(connection: Any, rows: str) -> dict[str, str]:
    """Return the SQL type of each column, from a query that fetches nothing."""
    described = connection.execute(f"SELECT * FROM {rows} LIMIT 0".encode()).description
    oids = sorted({column.type_code for column in described})
    listed = ", ".join(map(str, oids))
    names = dict(
        connection.execute(
            f"SELECT oid, upper(format_type(oid, NULL)) FROM pg_type WHERE oid IN ({listed})".encode()
        ).fetchall()
    )
    return {column.name: names[column.type_code] for column in described}


def _mean(rows: str) -> str:
    """Return SQL for a mean that keeps its digits: around the first finite reward of the table."""
    rows = rows.replace("{", "{{").replace("}", "}}")
    finite = "{0} > '-Infinity' AND {0} < 'Infinity'"
    centre = f"coalesce((SELECT {{0}} FROM {rows} WHERE {finite} LIMIT 1), 0)"
    return f"{centre} + avg({{0}} - {centre})"
