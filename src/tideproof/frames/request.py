"""What to read from a table: the names of its columns, and what a derived environment is."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from tideproof.errors import InputError, UnknownName, shown

Missing = Literal["refuse", "drop"]

_DERIVED = re.compile(r"(hour|day|week)\((.+)\)")
_COUNT = {3: "three", 5: "five"}


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
        n: str | None = None,
        variance: str | None = None,
        sd: str | None = None,
        missing: Missing = "refuse",
    ) -> Request:
        """Check what can be checked without the table."""
        if missing not in get_args(Missing):
            raise InputError(f"missing must be 'refuse' or 'drop', not {missing!r}")
        named = {"arm": arm, "environment": environment, "reward": reward}
        more = {"n": n, "the variance": variance, "sd": sd}
        for what, column in (named | {k: v for k, v in more.items() if v is not None}).items():
            if not isinstance(column, str) or not column:
                raise InputError(f"{what} must be the name of a column, not {shown(column)}")
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
            raise InputError(f"{what} must be {_COUNT[len(names)]} different columns, not {names}")
        return request

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read: arm, environment, reward, then those of aggregated rows."""
        names = (self.arm, self.environment, self.reward, self.n, self.variance, self.sd)
        return tuple(name for name in names if name)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Those of the columns that must hold numbers: the reward first."""
        return self.names[2:]

    def among(self, columns: Collection[str]) -> Request:
        """Return the request in terms of a table's `columns`, all of which it names.

        >>> resolved = Request.of("arm", "day(ts)", "sales").among(["arm", "ts", "sales"])
        >>> resolved.environment, resolved.every
        ('ts', 'day')
        """
        resolved = self
        derived = _DERIVED.fullmatch(self.environment)
        if derived and self.environment not in columns:
            resolved = replace(self, every=derived[1], environment=derived[2].strip())
        for name in resolved.names:
            if name not in columns:
                raise UnknownName.among("column", name, columns)
        if resolved.every and resolved.environment in (resolved.arm, resolved.reward):
            raise InputError(f"{self.environment!r} needs a timestamp column of its own")
        return resolved

    @property
    def truncation(self) -> str:
        """What an engine truncates timestamps to: weeks are put together from days."""
        return "day" if self.every == "week" else self.every

    @property
    def relabel(self) -> Callable[[Any], Any] | None:
        """How environments are labelled: `label` for those of timestamps, None for those that stay."""
        return self.label if self.every else None

    def label(self, timestamp: Any) -> Any:
        """Return the environment of a timestamp: the start of its hour, its date, or its week's Monday.

        >>> Request.of("a", "week(t)", "r").among("atr").label("2024-10-20")
        datetime.date(2024, 10, 14)
        """
        if isinstance(timestamp, str):
            timestamp = self._parsed(timestamp)
        if hasattr(timestamp, "to_pydatetime"):
            timestamp = timestamp.to_pydatetime()
        if isinstance(timestamp, dt.datetime):
            if timestamp.tzinfo is not None:
                timestamp = timestamp.astimezone(dt.UTC).replace(tzinfo=None)
            if self.every == "hour":
                return timestamp.replace(minute=0, second=0, microsecond=0)
            timestamp = timestamp.date()
        elif self.every == "hour" or not isinstance(timestamp, dt.date):
            raise self.not_a_timestamp(type(timestamp).__name__)
        return timestamp - dt.timedelta(days=timestamp.weekday()) if self.every == "week" else timestamp

    def _parsed(self, text: str) -> dt.datetime:
        try:
            return dt.datetime.fromisoformat(text)
        except ValueError:
            raise self.not_a_timestamp(repr(text)) from None

    def not_a_timestamp(self, what: object) -> InputError:
        """Build the error for a column that holds no timestamps."""
        return InputError(
            f"{self.every}({self.environment}) needs timestamps; column {self.environment!r} holds {what}"
        )


def column_behind(environment: str) -> str:
    """Return the column that an environment is read from.

    >>> column_behind("day(ts)"), column_behind("day")
    ('ts', 'day')
    """
    derived = _DERIVED.fullmatch(environment)
    return derived[2].strip() if derived else environment
