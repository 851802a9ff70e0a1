"""What to read from a table: the names of its columns, and what an environment is made of."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from tideproof.data.time_periods import Period, check_zone, period_of
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.text import join_names

Missing = Literal["refuse", "drop"]
Decimal = Literal[".", ","]

ALL = "all"  # the environment of every row where none is named
ARM, REWARD = "its arm", "its reward"  # columns of a wide table that was made long

_COUNT = {2: "two", 3: "three", 4: "four", 5: "five"}


@dataclass(frozen=True, slots=True)
class Request:
    """Which columns hold what.

    Attributes
    ----------
    arm, environment, reward : names of columns; the environment may be made of several (`parts`).
    n, variance, sd : columns of aggregated rows; `n` is "" where a row is one observation.
    successes : whether the reward of aggregated rows is how many of the n were 1, the others 0.
    missing : what to do with rows that lack a value.
    time_zone : whose hours, days and weeks; "" is UTC.
    decimal : what stands before the decimals of rewards that are text; "" to find out.
    wide : the columns of rewards, one an arm, where a row holds one of each; `arm` and `reward` are "".
    parts : columns and periods of timestamp columns that together are the environment, once a table
        is known (`among`), then those of `extra`; none if there is but one.
    extra : what rows are also grouped by, such as segments or units: columns or periods. The label of an
        environment is then a tuple, its own label first.
    mix : where a reward is a sum of columns, each times a number: those numbers and columns.
    cap : rewards above it count as this much.
    logarithm : whether the logarithm is read instead of the reward, which is none where it is not above 0.
    """

    arm: str
    environment: str
    reward: str
    n: str = ""
    variance: str = ""
    sd: str = ""
    successes: bool = False
    missing: Missing = "refuse"
    time_zone: str = ""
    decimal: str = ""
    wide: tuple[str, ...] = ()
    parts: tuple[str | Period, ...] = ()
    extra: tuple[str, ...] = ()
    mix: tuple[tuple[float, str], ...] = ()
    cap: float = math.inf
    logarithm: bool = False

    @classmethod
    def of(
        cls,
        arm: str | None,
        environment: str | None,
        reward: str | None,
        *,
        n: str | None = None,
        variance: str | None = None,
        sd: str | None = None,
        successes: str | None = None,
        missing: Missing = "refuse",
        time_zone: str | None = None,
        decimal: Decimal | None = None,
        wide: Sequence[str] | None = None,
        extra: Sequence[str] = (),
    ) -> Request:
        """Check what can be checked without the table."""
        if missing not in get_args(Missing):
            raise InputError(f"missing must be 'refuse' or 'drop', not {missing!r}")
        named = {"arm": arm, "environment": environment, "reward": reward, "successes": successes}
        more = {"n": n, "the variance": variance, "sd": sd}
        for what, column in (named | more).items():
            if column is not None and (not isinstance(column, str) or not column):
                pairs = what == "environment" and isinstance(column, list | tuple) and bool(column)
                how = f"; for pairs write {':'.join(map(str, column))!r}" if pairs else ""
                raise InputError(f"{what} must be the name of a column, not {describe_value(column)}{how}")
        if decimal is not None and decimal not in get_args(Decimal):
            raise InputError(f"decimal must be '.' or ',', not {decimal!r}")
        if wide is None:
            _check_long(arm, reward, n, variance, sd, successes)
        else:
            _check_wide(wide, {"arm": arm, "reward": reward, "n": n, "successes": successes})
        request = cls(
            arm or "",
            environment or "",
            reward or successes or "",
            n or "",
            variance or "",
            sd or "",
            successes is not None,
            missing,
            "" if time_zone is None else check_zone(time_zone),
            decimal or "",
            tuple(wide or ()),
            (*((environment,) if environment else ()), *extra),
            tuple(extra),
        )
        _check_different(request.names)
        return request

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the environment is read from."""
        return tuple(part.column if isinstance(part, Period) else part for part in self.parts)

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of labels: the arm first."""
        return tuple(name for name in (self.arm, *self.columns) if name)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that must hold numbers: the reward first."""
        names = tuple(name for _, name in self.mix) or (self.reward, self.n, self.variance, self.sd)
        return self.wide or tuple(name for name in names if name)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns to read: those of labels, then those of numbers."""
        return self.labels + self.numbers

    def among(self, columns: Collection[str]) -> Request:
        """Return the request in terms of a table's `columns`, all of which it names.

        >>> Request.of("arm", "rep:day(ts)", "sales").among(["arm", "ts", "sales", "rep"]).parts
        ('rep', Period(every='day', column='ts', time_zone=''))
        """
        parts = [self.environment] if self.environment else []
        if self.environment not in columns and not period_of(self.environment):
            parts = [part.strip() for part in self.environment.split(":")] if self.environment else []
        resolved = replace(self, parts=tuple(self._part(part, columns) for part in (*parts, *self.extra)))
        for name in resolved.names:
            if name not in columns:
                raise UnknownName.with_suggestion("column", name, columns)
        if len(set(resolved.names)) < len(resolved.names):
            raise InputError(f"{self.environment!r} needs a column of its own")
        return resolved

    def long(self, arm: str, reward: str) -> Request:
        """Return the request for a wide table's rows, once each has become one an arm."""
        return replace(self, arm=arm, reward=reward, wide=())

    @property
    def as_they_are(self) -> bool:
        """Whether labels are the values of the parts themselves: one of the environment, and more."""
        plain = not any(isinstance(part, Period) for part in self.parts)
        return plain and bool(self.extra) and len(self.parts) == len(self.extra) + 1

    def label(self, key: tuple[Any, ...]) -> Any:
        """Return the environment's label from the values of its parts.

        >>> two = Request.of("a", "rep:block", "r").among(["a", "rep", "block", "r"])
        >>> two.label((1, "north")), Request.of("a", None, "r").label(())
        ('1:north', 'all')
        """
        if len(key) == 1 and not self.extra and not isinstance(self.parts[0], Period):
            return key[0]
        if self.as_they_are:
            return key
        labels = [
            part.label(value) if isinstance(part, Period) else value
            for part, value in zip(self.parts, key, strict=True)
        ]
        own = len(labels) - len(self.extra)
        return (_joined(labels[:own]), *labels[own:]) if self.extra else _joined(labels)

    def _part(self, name: str, columns: Collection[str]) -> str | Period:
        return name if name in columns else period_of(name, self.time_zone) or name


def _joined(labels: list[Any]) -> Any:
    """Return one label for those of the parts of an environment."""
    if len(labels) == 1:
        return labels[0]
    if not labels:
        return ALL
    said = map(str, labels)
    return ":".join(repr(text) if ":" in text else text for text in said)  # no two pairs read alike


def columns_behind(environment: str) -> tuple[str, ...]:
    """Return the columns that an environment may be read from.

    >>> columns_behind("day(ts)"), columns_behind("day"), columns_behind("rep:week(ts)")
    (('ts',), ('day',), ('rep', 'ts'))
    """
    found = period_of(environment)
    parts = [found.column] if found else environment.split(":")
    return tuple(inner.column if (inner := period_of(part)) else part.strip() for part in parts)


def _check_long(
    arm: str | None,
    reward: str | None,
    n: str | None,
    variance: str | None,
    sd: str | None,
    successes: str | None,
) -> None:
    """Refuse what does not belong together in rows that are one observation, or aggregated."""
    if arm is None:
        raise InputError("say which column holds the arms (arm), or which columns they are (wide)")
    if successes is not None:
        if n is None:
            raise InputError("successes need n, the column of how many were tried")
        given = {"reward": reward, "sample_variance": variance, "sd": sd}
        if more := [name for name, value in given.items() if value is not None]:
            raise InputError(f"successes and n say all there is: leave out {join_names(more)}")
        return
    if reward is None:
        raise InputError("say which column holds the rewards (reward), or successes and n")
    if n is None and (variance is not None or sd is not None):
        raise InputError("a column of variances (or sd) needs n, the column of counts: rows are aggregated")
    if n is not None and (variance is None) == (sd is None):
        raise InputError(
            "aggregated rows (n, --n) need exactly one of: their variance (sample_variance, "
            "--sample-variance), their standard deviation (sd, --sd); of 0s and 1s give the number of "
            "ones (successes, --successes) instead of the reward"
        )


def _check_wide(wide: Sequence[str], others: dict[str, str | None]) -> None:
    if isinstance(wide, str) or len(wide) < 2 or not all(isinstance(name, str) for name in wide):
        raise InputError(f"wide must be two columns or more, one an arm, such as ['A', 'B'], not {wide!r}")
    if given := [name for name, value in others.items() if value is not None]:
        raise InputError(f"in a wide table each column is an arm: leave out {join_names(given)}")


def _check_different(names: tuple[str, ...]) -> None:
    if len(set(names)) < len(names):
        what = "arm, environment and reward" if len(names) == 3 else "the columns"
        raise InputError(f"{what} must be {_COUNT.get(len(names), 'all')} different columns, not {names}")
