"""Tables and queries inside databases: naming one, and DuckDB files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tideproof.errors import InputError, MissingFile, UnknownName
from tideproof.frames.duck import MEAN, kinds_of, phrased, session
from tideproof.frames.sql import Source, quoted

T = TypeVar("T")

LISTED = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE table_schema NOT IN ('information_schema', 'pg_catalog') ORDER BY 1, 2"
)


def visit_duckdb(
    path: str, table: str | None, visit: Callable[[Source], T], progress: Callable[[float], None] | None
) -> T:
    """Show a table or query of a DuckDB file, which is opened to be read only."""
    if not Path(path).is_file():
        raise MissingFile(f"there is no file {path!r}")
    with session(path, progress) as run, phrased(repr(path)):
        rows = chosen(table, run(LISTED), "main")
        return visit(Source(run, rows, kinds_of(run, rows), MEAN, sampled=is_table(table)))


def is_table(table: str | None) -> bool:
    """Tell whether `table` names a table, and is no query."""
    return table is None or table.split(None, 1)[0].lower() not in ("select", "with")


def chosen(table: str | None, listed: Sequence[Sequence[str]], home: str) -> str:
    """Return what stands after FROM: a table among those `listed` as (schema, name), or a query.

    >>> chosen("log", [("main", "log"), ("main", "users")], "main")
    '"main"."log"'
    >>> chosen("select 1 as a", [], "main")
    '(select 1 as a) AS rows'
    """
    if table is not None and not is_table(table):
        return f"({table.strip().rstrip(';')}) AS rows"
    names = {name if schema == home else f"{schema}.{name}": (schema, name) for schema, name in listed}
    if table is None:
        if len(names) != 1:
            known = ", ".join(names) or "none"
            raise InputError(f"say which table to read, or give a query; the database holds: {known}")
        table = next(iter(names))
    if table not in names:
        raise UnknownName.among("table", table, names)
    return ".".join(quoted(part) for part in names[table])
