"""Open tables and queries of DuckDB files, and choose a table in a database of any kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tideproof.data.group_by_sql import SqlRows
from tideproof.data.sources.duckdb_files import (
    compensated_mean_sql,
    fetch_types,
    open_connection,
    readable_errors,
)
from tideproof.data.sql_expressions import quote_name
from tideproof.errors import InputError, MissingFile, UnknownName

LIST_TABLES = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2"
)


@contextmanager
def open_duckdb(path: str, table: str | None) -> Iterator[SqlRows]:
    """Open a table or query of a DuckDB file for reading."""
    if not Path(path).is_file():
        raise MissingFile(f"there is no file {path!r}")
    with open_connection(path) as run, readable_errors(repr(path)):
        rows = table_sql(table, run(LIST_TABLES), home="main")
        yield SqlRows(
            run, rows, fetch_types(run, rows), compensated_mean_sql, sampled=not is_query(table), quick=True
        )


def is_query(table: str | None) -> bool:
    """Return whether `table` is a query instead of the name of a table.

    >>> is_query("log"), is_query(None), is_query("SELECT 1"), is_query("with t as (select 1) from t")
    (False, False, True, True)
    """
    return table is not None and table.lower().split(None, 1)[:1] in (["select"], ["with"])


def table_sql(table: str | None, tables: Sequence[Sequence[str]], home: str) -> str:
    """Return SQL for use after FROM that reads a table or a query of a database.

    `tables` lists the schema and the name of every table. A table in the schema `home` may be given by its
    name alone; the only table needs no name.

    >>> table_sql("log", [("main", "log"), ("main", "users")], home="main")
    '"main"."log"'
    >>> table_sql("select 1 as a;", [], home="main")
    '(select 1 as a) AS rows'
    """
    if table is not None and is_query(table):
        return f"({table.strip().rstrip(';')}) AS rows"
    names = {name if schema == home else f"{schema}.{name}": (schema, name) for schema, name in tables}
    if table is None:
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            raise InputError(
                f"choose a table to read, or give a query (table, --table); the database contains: {listed}"
            )
        table = next(iter(names))
    if table not in names:
        raise UnknownName.with_suggestion("table", table, names)
    return ".".join(quote_name(part) for part in names[table])
