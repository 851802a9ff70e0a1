"""Hours, days and weeks of a timestamp column, used as environments.

Engines only truncate times: to days or hours or, with a time zone, to quarters of an hour, because the UTC
offset of every zone is a multiple of these. This file assigns the truncated times to environments.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from tideproof.data.date_order import DateOrder, detect_date_order, parse_moment, split_date_order
from tideproof.errors import InputError

_DERIVED = re.compile(r"(hour|day|week)\((.+)\)")
UNITS = (1e11, 1e14, 1e17)  # bounds of numbers read as seconds, milliseconds and microseconds since 1970
ZONED = "^.*:.*(Z|[+-][0-9:]+)$"  # pattern of a time with a zone
FIRST = 1e8  # seconds; smaller numbers, before March 1973, are not read as times


@dataclass(frozen=True)
class Period:
    """Hour, day or week of a timestamp column, used as environment.

    Attributes
    ----------
    every : "hour", "day" or "week".
    column : name of the timestamp column.
    time_zone : time zone of hours, days and weeks; "" is UTC. With it, times without a zone are in UTC.
    dates : order of day and month in times that are text; None to detect it.
    zoned : whether the times have a zone, or are seconds since 1970, so that they can be converted to UTC.
    """

    every: str
    column: str
    time_zone: str = ""
    dates: DateOrder | None = None
    zoned: bool = False

    @property
    def in_utc(self) -> bool:
        """Whether the times were converted to UTC, because no other time zone was requested."""
        return self.zoned and not self.time_zone

    @property
    def step(self) -> int:
        """Interval in seconds to which a database rounds times down before they are grouped into periods."""
        if self.time_zone:
            return 900
        return 3600 if self.every == "hour" else 86400

    def with_times(self, values: Iterable[Any]) -> Period:
        """Return the period with the date order and the time zones that its column of times shows."""
        values = set(values)
        texts = [value for value in values if isinstance(value, str)]
        return replace(
            self,
            dates=self.detect_dates(texts) if texts else self.dates,
            zoned=self.zoned or any(map(_is_zoned, values)),
        )

    def detect_dates(self, texts: Collection[str]) -> DateOrder | None:
        """Return whether dates that are text have the day or the month first; None if the year is first."""
        return detect_date_order(texts, self.dates, self.column, f"{self.every}({self.column}, dayfirst)")

    def label(self, moment: Any) -> dt.date:
        """Return the start of the hour, the date, or the Monday of the week that contains a time.

        With a time zone, hours have their UTC offset, because one hour occurs twice when the clocks go back.

        >>> Period("week", "t").label("2024-10-20"), Period("day", "t").label(1729468800)
        (datetime.date(2024, 10, 14), datetime.date(2024, 10, 21))
        >>> Period("day", "t", "Europe/Berlin").label("2024-10-20T23:30:00Z")
        datetime.date(2024, 10, 21)
        """
        if isinstance(moment, str):
            moment = self._parsed(moment)
        elif hasattr(moment, "to_pydatetime"):
            moment = moment.to_pydatetime()
        elif hasattr(moment, "__float__"):
            moment = self._since_1970(moment)
        if isinstance(moment, dt.datetime):
            here = self._here(moment)
            if self.every == "hour":
                return here.replace(minute=0, second=0, microsecond=0)
            moment = here.date()
        elif self.every == "hour" or not isinstance(moment, dt.date):
            raise self.not_a_timestamp(type(moment).__name__)
        date: dt.date = moment
        return date - dt.timedelta(days=date.weekday()) if self.every == "week" else date

    def not_a_timestamp(self, what: object) -> InputError:
        """Return the error for a column that must hold timestamps and does not."""
        return InputError(
            f"{self.every}({self.column}) needs timestamps; column {self.column!r} holds {what}"
        )

    def _here(self, moment: dt.datetime) -> dt.datetime:
        """Return a time converted to the time zone whose hours, days or weeks are the environments."""
        if self._zone is not None:
            here = moment.replace(tzinfo=moment.tzinfo or dt.UTC).astimezone(self._zone)
            return here.replace(tzinfo=dt.timezone(here.utcoffset() or dt.timedelta()))
        return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)

    @cached_property
    def _zone(self) -> ZoneInfo | None:
        """Time zone whose hours, days or weeks are the environments; None is UTC."""
        return ZoneInfo(self.time_zone) if self.time_zone else None

    def _parsed(self, text: str) -> dt.datetime:
        """Parse the text of a date and time, or raise an error."""
        try:
            return parse_moment(text, self.dates)
        except ValueError:
            raise self.not_a_timestamp(f"{text!r}; write it as 2024-10-20 12:34:56") from None

    def _since_1970(self, number: Any) -> dt.datetime:
        """Convert a number of seconds, milli-, micro- or nanoseconds since 1970 to a time."""
        seconds = float(number)
        if not math.isfinite(seconds) or abs(seconds) >= 1000.0 * UNITS[-1]:
            raise self.not_a_timestamp(f"{number}")
        seconds /= 1000.0 ** sum(abs(seconds) >= limit for limit in UNITS)
        if seconds < FIRST:
            raise self.not_a_timestamp(
                "numbers that are too small for seconds or milliseconds since 1970 (times before March 1973 "
                "are not supported)"
            )
        return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=math.floor(seconds))


def period_of(text: str, time_zone: str = "") -> Period | None:
    """Parse `hour(ts)`, `day(ts)` or `week(ts)` for a column `ts`; return None for any other text.

    >>> period_of("day(when, dayfirst)").dates, period_of("day")
    ('dayfirst', None)
    """
    derived = _DERIVED.fullmatch(text.strip())
    if derived is None:
        return None
    column, dates = split_date_order(derived[2].strip())
    return Period(derived[1], column, time_zone, dates)


def _is_zoned(moment: Any) -> bool:
    """Return whether a time has a time zone, or is a number such as seconds since 1970.

    >>> _is_zoned("2024-10-20T23:30:00Z"), _is_zoned("2024-10-20 23:30"), _is_zoned(1729468800)
    (True, False, True)
    """
    if isinstance(moment, str):
        return re.fullmatch(ZONED, moment.strip()) is not None
    return getattr(moment, "tzinfo", None) is not None or hasattr(moment, "__float__")


def check_zone(name: str) -> str:
    """Return the name of a time zone, or raise an error if it is unknown.

    >>> check_zone("Mars")
    Traceback (most recent call last):
    tideproof.errors.InputError: unknown time zone 'Mars'; give one such as 'Europe/Berlin' or 'UTC'
    """
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(f"unknown time zone {name!r}; give one such as 'Europe/Berlin' or 'UTC'") from None
    return name


def seconds_since_1970_sql(number: str) -> str:
    """Return SQL that converts seconds, milli-, micro- or nanoseconds since 1970 to seconds since 1970."""
    x = f"CAST({number} AS DOUBLE PRECISION)"
    cases = " ".join(f"WHEN abs({x}) < {limit!r} THEN {x} / 1e{3 * i}" for i, limit in enumerate(UNITS))
    return f"CASE {cases} WHEN abs({x}) < {1000.0 * UNITS[-1]!r} THEN {x} / 1e9 END"
