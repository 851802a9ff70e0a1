"""Detection of the date order and time zones of columns of times in a database table.

Of a column of text, the first time is read. All dates are read only if the day or the month is first in it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.date_order import (
    DateOrder,
    detect_time_order,
    has_day_or_month_first,
    lacks_century,
)
from tideproof.data.sql_expressions import is_number, is_text, quote_name
from tideproof.data.time_periods import ZONED, Period
from tideproof.errors import InputError

if TYPE_CHECKING:
    from tideproof.data.group_by_sql import SqlRows

_MOST_DATES = 2**17  # distinct dates; more are those of other text


def with_known_times(table: SqlRows, request: ColumnSpec) -> ColumnSpec:
    """Return the column specification with date orders and time zones of the columns of its periods."""
    parts = (_known_period(table, part) if isinstance(part, Period) else part for part in request.parts)
    return replace(request, parts=tuple(parts))


def time_order(table: SqlRows, request: ColumnSpec) -> DateOrder | None:
    """Return the date order of the column of times that replaces the environment."""
    column = request.columns[0]
    if not has_day_or_month_first(_first_text(table, column)):
        return None
    return detect_time_order(_dates(table, column), request.dates, column)


def _known_period(table: SqlRows, period: Period) -> Period:
    """Return a period with the date order of its column, and whether its times have time zones."""
    sql_type = table.types[period.column]
    first = _first_text(table, period.column)
    zoned = is_number(sql_type) or "WITH TIME ZONE" in sql_type or re.fullmatch(ZONED, first.strip())
    written = has_day_or_month_first(first)
    dates = period.detect_dates(_dates(table, period.column)) if written else None
    return replace(period, dates=dates, zoned=bool(zoned))


def _first_text(table: SqlRows, column: str) -> str:
    """Return the first text in a column; "" if there is none or if the column does not hold text."""
    if not is_text(table.types[column]):
        return ""
    name = quote_name(column)
    found = table.run(f"SELECT {name} FROM {table.rows} WHERE {name} IS NOT NULL LIMIT 1")
    first = str(found[0][0]) if found else ""
    if lacks_century(first):
        raise InputError(f"column {column!r} holds {first!r}; write it as 2024-10-20 12:34:56")
    return first


def _dates(table: SqlRows, column: str) -> list[str]:
    """Return the distinct dates in a column of dates or times that are text."""
    name = quote_name(column)
    dates = f"SELECT DISTINCT regexp_replace(trim({name}), '[ ,T].*$', '') FROM {table.rows}"
    return [text for (text,) in table.run(f"{dates} WHERE {name} IS NOT NULL LIMIT {_MOST_DATES}")]
