"""Dates written with the day or the month first, such as 31.12.2024 and 12/31/2024.

The order of day and month is decided from all dates of a column. If both orders fit, the user must choose
one: `day(when, dayfirst)` or `day(when, monthfirst)`. Two-digit years, after points and slashes only, are
those from 1969 to 2068.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection
from typing import Literal, NamedTuple, get_args

from tideproof.errors import InputError

DateOrder = Literal["dayfirst", "monthfirst"]

_CHOSEN = re.compile(rf"(.+?)\s*,\s*({'|'.join(get_args(DateOrder))})", re.DOTALL)
_DATE = r"([0-9]{1,2})(?:[./-]([0-9]{1,2})[./-]([0-9]{4})|[./]([0-9]{1,2})[./]([0-9]{2}))"
_DATE_AND_TIME = re.compile(rf"{_DATE}(?:(?:,\s*|\s+|T)(\S.*))?")
_TIME = re.compile(r"([0-9]{1,2})((?::[0-9]{2})?(?::[0-9]{2})?(?:\.[0-9]+)?)\s*(?:([AaPp])\.?[Mm]\.?)?(.*)")
_PIVOT = 69  # the first two-digit year of the twentieth century


class _Numbers(NamedTuple):
    """Numbers of a date: the first and second are its day and month, in either order; its time is text."""

    first: int
    second: int
    year: int
    time: str


def split_date_order(text: str) -> tuple[str, DateOrder | None]:
    """Split a column option such as "when, dayfirst" into the column and its order of day and month.

    >>> split_date_order("when, dayfirst"), split_date_order("when")
    (('when', 'dayfirst'), ('when', None))
    """
    found = _CHOSEN.fullmatch(text.strip())
    if found is None:
        return text, None
    return found[1], "dayfirst" if found[2] == "dayfirst" else "monthfirst"


def is_year_first(text: str) -> bool:
    """Return whether the text of a date begins with a year of four digits.

    >>> is_year_first("2024-12-31"), is_year_first("31.12.2024")
    (True, False)
    """
    return re.match(r"\s*[0-9]{4}", text) is not None


def lacks_century(text: str) -> bool:
    """Return whether a text may be a date whose two-digit year could stand at any position.

    >>> lacks_century("24-12-31"), lacks_century("31.12.24")
    (True, False)
    """
    return re.match(r"\s*[0-9]{1,2}[./-]", text) is not None and not has_day_or_month_first(text)


def has_day_or_month_first(text: str) -> bool:
    """Return whether a text is a date, perhaps with a time, whose day or month is first.

    >>> has_day_or_month_first("1/2/24 9:30 PM"), has_day_or_month_first("2024-12-31")
    (True, False)
    """
    return _read(text) is not None


def detect_date_order(
    texts: Collection[str], asked: DateOrder | None, column: str, choice: str
) -> DateOrder | None:
    """Return whether dates have the day or the month first; None if their year is first.

    Parameters
    ----------
    texts
        The distinct dates of a column, perhaps with times.
    asked
        The order that the user chose; None to detect it.
    column
        Name of the column, for errors.
    choice
        How the user can choose "dayfirst", for an error.

    >>> detect_date_order(["31.12.2024", "1.2.2024"], None, "when", "")
    'dayfirst'
    """
    read = {text: numbers for text in texts if (numbers := _read(text)) is not None}
    if not read:
        return None
    other = next((text for text in texts if text not in read), None)
    if other is not None:
        raise InputError(f"column {column!r} holds dates of two forms: {next(iter(read))!r} and {other!r}")
    too_large = {  # the first date that does not fit each order
        "dayfirst": next((text for text, numbers in read.items() if numbers.second > 12), None),
        "monthfirst": next((text for text, numbers in read.items() if numbers.first > 12), None),
    }
    fits = [order for order, text in too_large.items() if text is None]
    if asked:
        if asked not in fits:
            raise InputError(f"column {column!r} holds {too_large[asked]!r}, which does not fit {asked}")
        return asked
    if not fits:
        raise InputError(
            f"column {column!r} holds dates with the day first, such as {too_large['monthfirst']!r}, and "
            f"others with the month first, such as {too_large['dayfirst']!r}"
        )
    unlike = min((text for text, numbers in read.items() if numbers.first != numbers.second), default=None)
    if len(fits) > 1 and unlike is not None:
        raise InputError(
            f"in all dates of column {column!r}, such as {unlike!r}, the day or the month can be first: "
            f"write {choice} or {choice.replace('dayfirst', 'monthfirst')}"
        )
    return "dayfirst" if fits[0] == "dayfirst" else "monthfirst"


def detect_time_order(texts: Collection[str], asked: DateOrder | None, column: str) -> DateOrder | None:
    """Return whether dates in a column of times that replaces environments have the day or month first."""
    choice = repr(f"{column}, dayfirst")
    return detect_date_order(texts, asked, column, f"time={choice} (--time {choice})")


def parse_moment(text: str, order: DateOrder | None) -> dt.datetime:
    """Parse the text of a date, perhaps with a time, or raise a ValueError.

    >>> parse_moment("31.12.2024 9:30", "dayfirst"), parse_moment("2024/12/31", None)
    (datetime.datetime(2024, 12, 31, 9, 30), datetime.datetime(2024, 12, 31, 0, 0))
    """
    written = rewrite_date(text, order) if order else text
    return dt.datetime.fromisoformat(written.strip().replace("/", "-"))


def rewrite_date(text: str, order: DateOrder) -> str:
    """Return a date, perhaps with a time, as year-month-day; other text is returned unchanged.

    >>> rewrite_date("31.12.2024", "dayfirst"), rewrite_date("12/31/99, 9:05 PM", "monthfirst")
    ('2024-12-31', '1999-12-31 21:05')
    """
    read = _read(text)
    if read is None:
        return text
    day, month = (read.first, read.second) if order == "dayfirst" else (read.second, read.first)
    return f"{read.year:04}-{month:02}-{day:02}" + (read.time and f" {read.time}")


def rewritten_date_sql(text: str, order: DateOrder) -> str:
    """Return SQL that writes a date, perhaps with a time, as year-month-day, for DuckDB and PostgreSQL."""
    day, month = (1, 2) if order == "dayfirst" else (2, 1)
    number = "([0-9]{1,2})"
    years = (("/-", "([0-9]{4})", ""), ("/", "(69|[7-9][0-9])", "19"), ("/", "([0-5][0-9]|6[0-8])", "20"))
    sql = f"trim({text})"
    for signs, year, century in years:
        sign = f"[.{signs}]"
        date = rf"{century}\3-\{month}-\{day}\4"
        sql = f"regexp_replace({sql}, '^{number}{sign}{number}{sign}{year}([^0-9].*)?$', '{date}')"
    return rf"regexp_replace({sql}, '^([0-9]+-[0-9]+-[0-9]+)(, *|T| +)', '\1 ')"


def _read(text: str) -> _Numbers | None:
    """Return the numbers of a date whose day or month is first; None for any other text."""
    found = _DATE_AND_TIME.fullmatch(text.strip())
    if found is None:
        return None
    first, second, year = int(found[1]), int(found[2] or found[4]), int(found[3] or found[5])
    if found[5]:
        year += 1900 if year >= _PIVOT else 2000
    possible = 1 <= min(first, second) <= 12 and max(first, second) <= 31
    return _Numbers(first, second, year, _read_time(found[6] or "")) if possible else None


def _read_time(text: str) -> str:
    """Return a time of day with hours from 00 to 23; any other text is returned unchanged.

    >>> _read_time("9:05 PM"), _read_time("12:05 am"), _read_time("9:05+01:00")
    ('21:05', '00:05', '09:05+01:00')
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return text
    hour = int(found[1])
    if found[3]:
        hour = hour % 12 + (12 if found[3] in "Pp" else 0)
    return f"{hour:02}{found[2]}{found[4]}"
