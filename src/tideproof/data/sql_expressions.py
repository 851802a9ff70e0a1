"""SQL expressions for names, strings, numbers, types and timestamps, for DuckDB and PostgreSQL."""

from __future__ import annotations

from tideproof.data.date_order import DateOrder, rewritten_date_sql
from tideproof.data.time_periods import ZONED, Period, seconds_since_1970_sql
from tideproof.errors import InputError

_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NUMBERS = {*_INTEGERS, *(f"U{name}" for name in _INTEGERS), "FLOAT", "REAL", "DOUBLE", "DECIMAL", "NUMERIC"}
_WITH_NAN = {"FLOAT", "REAL", "DOUBLE", "NUMERIC"}  # DECIMAL, as DuckDB calls it, has no NaN
_TEXT = {"VARCHAR", "TEXT", "CHARACTER"}


def quote_name(name: str) -> str:
    """Return the name of a column as a quoted SQL identifier.

    >>> print(quote_name('5" nail'))
    "5"" nail"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Return a string as an SQL literal.

    >>> print(quote_text("Bob's"))
    'Bob''s'
    """
    return "'" + text.replace("'", "''") + "'"


def number_literal(number: float) -> str:
    """Return a number as an SQL expression without loss of digits.

    >>> number_literal(0.1)
    "CAST('0.1' AS DOUBLE PRECISION)"
    """
    return f"CAST('{float(number)!r}' AS DOUBLE PRECISION)"


def base_type(sql_type: str) -> str:
    """Return an SQL type without its size: "VARCHAR(20)" becomes "VARCHAR".

    >>> base_type("DECIMAL(18,3)"), base_type("DOUBLE PRECISION")
    ('DECIMAL', 'DOUBLE')
    """
    return sql_type.split("(")[0].split(" ")[0]


def is_number(sql_type: str) -> bool:
    """Return whether an SQL type holds numbers.

    >>> is_number("DECIMAL(18,3)"), is_number("UBIGINT"), is_number("BOOLEAN")
    (True, True, False)
    """
    return base_type(sql_type) in _NUMBERS


def can_be_reward(sql_type: str) -> bool:
    """Return whether an SQL type can hold rewards: numbers, or truth values as 0 and 1."""
    return is_number(sql_type) or base_type(sql_type) == "BOOLEAN"


def is_text(sql_type: str) -> bool:
    """Return whether an SQL type holds text."""
    return base_type(sql_type) in _TEXT


def can_be_nan(sql_type: str) -> bool:
    """Return whether an SQL type can hold NaN."""
    return base_type(sql_type) in _WITH_NAN


def is_timestamp(sql_type: str) -> bool:
    """Return whether an SQL type is a date or a timestamp."""
    return sql_type.startswith(("TIMESTAMP", "DATE"))


def label_sql(column: str, sql_type: str) -> str:
    """Return SQL for a column of labels; timestamps with a time zone become UTC timestamps without a zone."""
    return f"({column} AT TIME ZONE 'UTC')" if "WITH TIME ZONE" in sql_type else column


def truncated_time_sql(column: str, sql_type: str, period: Period) -> str:
    """Return SQL that truncates a time to its hour or day, in UTC if it has a zone.

    For numbers, such as seconds since 1970, the result is in seconds; for a date, which has no zone, it is
    the date.
    """
    if is_number(sql_type):
        return f"CAST(floor(({seconds_since_1970_sql(column)}) / {period.step}) * {period.step} AS BIGINT)"
    if sql_type == "DATE" and period.every != "hour":
        return column
    if is_text(sql_type):
        timestamp = timestamp_sql(column, period.dates)
    elif not is_timestamp(sql_type) or sql_type == "DATE":
        raise period.not_a_timestamp(sql_type)
    else:
        timestamp = f"CAST({label_sql(column, sql_type)} AS TIMESTAMP)"
    unit = {86400: "day"}.get(period.step, "hour")
    start = f"date_trunc('{unit}', {timestamp})"
    if period.step >= 3600:
        return start
    return f"{start} + floor(extract(minute FROM {timestamp}) / 15) * INTERVAL '15 minutes'"


def moment_sql(column: str, sql_type: str, dates: DateOrder | None = None) -> str:
    """Return SQL for a time as a number: seconds since 1970, or the number itself in a numeric column.

    `dates` is the order of day and month in a time that is text; None if its year is first.
    """
    if is_number(sql_type):
        return f"CAST({column} AS DOUBLE PRECISION)"
    if not is_timestamp(sql_type) and not is_text(sql_type):
        raise InputError(f"time needs a column of times or numbers; column {column} holds {sql_type}")
    timestamp = f"CAST({label_sql(column, sql_type)} AS TIMESTAMP)"
    if is_text(sql_type):
        timestamp = timestamp_sql(column, dates)
    return f"CAST(extract(epoch FROM {timestamp}) AS DOUBLE PRECISION)"


def timestamp_sql(text: str, dates: DateOrder | None = None) -> str:
    """Return SQL that reads text as a timestamp, and converts a time with a zone such as Z or +01:00 to UTC.

    A cast alone would ignore the zone. `dates` is the order of day and month; None if the year is first.
    """
    if dates:
        return _clock_sql(text, dates)
    zoned = f"CAST({text} AS TIMESTAMP WITH TIME ZONE) AT TIME ZONE 'UTC'"
    return f"CASE WHEN {text} ~ '{ZONED}' THEN {zoned} ELSE CAST({text} AS TIMESTAMP) END"


def _clock_sql(text: str, dates: DateOrder) -> str:
    """Return SQL that converts text such as 31.12.2024 or 12/31/2024 9:30 PM to a timestamp."""
    day = rewritten_date_sql(text, dates)
    half = "[Mm][.]?$"  # of the day
    timestamp = timestamp_sql(f"regexp_replace({day}, ' *[AaPp][.]?{half}', '')")
    hour, is_am, is_pm = (
        f"extract(hour FROM {timestamp})",
        f"trim({text}) ~ '^.*[Aa][.]?{half}'",
        f"trim({text}) ~ '^.*[Pp][.]?{half}'",
    )
    return (
        f"({timestamp} + CASE WHEN {is_pm} AND {hour} < 12 THEN INTERVAL '12 hours' "
        f"WHEN {is_am} AND {hour} = 12 THEN INTERVAL '-12 hours' ELSE INTERVAL '0 hours' END)"
    )
