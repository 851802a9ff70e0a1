"""Tables and queries of SQLite files, read by Python's sqlite3 and grouped in memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tideproof.data.sources.duckdb_database import table_sql
from tideproof.data.sources.in_memory_table import InMemoryTable, infer_type
from tideproof.data.sql_expressions import quote_name
from tideproof.errors import InputError, MissingFile

_TABLES = (
    "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND substr(name, 1, 7) <> 'sqlite_' ORDER BY 2"
)
_SAMPLE = 1000  # rows from which the types of columns are inferred


@contextmanager
def open_sqlite(path: str, table: str | None) -> Iterator[InMemoryTable]:
    """Open a table or query of a SQLite file for reading."""
    if not Path(path).is_file():
        raise MissingFile(f"there is no file {path!r}")
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as connection:
            rows = table_sql(table, connection.execute(_TABLES).fetchall(), home="main")
            first = connection.execute(f"SELECT * FROM {rows} LIMIT {_SAMPLE}")
            names = [column[0] for column in first.description]
            sample = _columns(first.fetchall(), len(names))
            types = {name: infer_type(values) for name, values in zip(names, sample, strict=True)}

            def fetch(wanted: Sequence[str]) -> list[list[Any]]:
                """Return the values of the named columns of a table, one list for each name."""
                listed = ", ".join(map(quote_name, wanted))
                return _columns(connection.execute(f"SELECT {listed} FROM {rows}").fetchall(), len(wanted))

            yield InMemoryTable(types, fetch)
    except sqlite3.Error as error:
        raise InputError(f"cannot read {path!r}: {error}") from None


def _columns(rows: list[tuple[Any, ...]], count: int) -> list[list[Any]]:
    """Transpose rows of a table to columns; return `count` empty columns if there are no rows."""
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]
