"""What to read from a table: the names of its columns, and what a derived environment is."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, get_args

from tideproof.errors import InputError, UnknownName
from tideproof.frames.groups import Missing

_DERIVED = re.compile(r"(hour|day|week)\((.+)\)")


@dataclass(frozen=True, slots=True)
class Request:
    """Which columns hold what.

    Attributes
    ----------
    arm, environment, reward : names of columns.
    every : "hour", "day" or "week" if the environment is that of a timestamp column, else "".
    n, variance, sd : columns of aggregated rows; `n` is "" where a row is one observation.
    missing : what to do with rows that lack a value.
    """

    arm: str
    environment: str
    reward: str
    every: str
    n: str
    variance: str
    sd: str
    missing: Missing

    @classmethod
    def of(
        cls,
        arm: str,
        environment: str,
        reward: str,
        n: str | None,
        variance: str | None,
        sd: str | None,
        missing: Missing,
    ) -> Request:
        """Check what can be checked without the table."""
        if missing not in get_args(Missing):
            raise InputError(f"missing must be 'refuse' or 'drop', not {missing!r}")
        if n is None and (variance is not None or sd is not None):
            raise InputError(
                "a column of variances (or sd) needs n, the column of counts: rows are aggregated"
            )
        if n is not None and (variance is None) == (sd is None):
            raise InputError(
                "aggregated rows (n, --n) need exactly one of: their variance (sample_variance, "
                "--sample-variance), their standard deviation (sd, --sd)"
            )
        request = cls(arm, environment, reward, "", n or "", variance or "", sd or "", missing)
        names = request.names
        if len(set(names)) < len(names):
            what = "arm, environment and reward" if n is None else "the columns"
            raise InputError(f"{what} must be {_count(len(names))} different columns, not {names}")
        return request

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read."""
        every = (self.arm, self.environment, self.reward, self.n, self.variance, self.sd)
        return tuple(name for name in every if name)

    def among(self, known: Collection[str]) -> Request:
        """Return the request in terms of the `known` columns, all of which it names."""
        found = self
        derived = _DERIVED.fullmatch(self.environment)
        if derived and self.environment not in known:
            found = replace(self, every=derived[1], environment=derived[2].strip())
        for name in found.names:
            if name not in known:
                raise UnknownName.among("column", name, known)
        if found.every and found.environment in (found.arm, found.reward):
            raise InputError(f"{self.environment!r} needs a timestamp column of its own")
        return found

    @property
    def step(self) -> str:
        """What an engine truncates timestamps to: weeks are put together from days."""
        return "day" if self.every == "week" else self.every

    def label(self, moment: Any) -> Any:
        """Return the environment of a moment: the start of its hour, its date, or its week's Monday.

        >>> Request.of("a", "week(t)", "r", None, None, None, "refuse").among("atr").label("2024-10-20")
        datetime.date(2024, 10, 14)
        """
        if isinstance(moment, str):
            moment = self._parsed(moment)
        if hasattr(moment, "to_pydatetime"):
            moment = moment.to_pydatetime()
        if isinstance(moment, dt.datetime):
            if moment.tzinfo is not None:
                moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
            if self.every == "hour":
                return moment.replace(minute=0, second=0, microsecond=0)
            moment = moment.date()
        elif self.every == "hour" or not isinstance(moment, dt.date):
            raise self.no_moment(type(moment).__name__)
        return moment - dt.timedelta(days=moment.weekday()) if self.every == "week" else moment

    def _parsed(self, text: str) -> dt.datetime:
        try:
            return dt.datetime.fromisoformat(text)
        except ValueError:
            raise self.no_moment(repr(text)) from None

    def no_moment(self, found: object) -> InputError:
        """Build the error for a column that holds no timestamps."""
        return InputError(
            f"{self.every}({self.environment}) needs timestamps; column {self.environment!r} holds {found}"
        )


def source_of(environment: str) -> str:
    """Return the column behind an environment.

    >>> source_of("day(ts)"), source_of("day")
    ('ts', 'day')
    """
    derived = _DERIVED.fullmatch(environment)
    return derived[2].strip() if derived else environment


def _count(n: int) -> str:
    return {3: "three", 5: "five"}[n]
