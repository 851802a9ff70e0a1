"""Specification of the columns to read from a table, and of how they form the environment."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from tideproof.data.date_order import DateOrder
from tideproof.data.time_periods import Period, check_zone, period_of
from tideproof.errors import InputError, UnknownName, describe_value
from tideproof.text import join_names

Missing = Literal["refuse", "drop"]
Decimal = Literal[".", ","]

ALL = "all"  # the environment of every row where none is named
ARM, REWARD = "its arm", "its reward"  # columns of a wide table after it was split into one row per arm

_COUNT = {2: "two", 3: "three", 4: "four", 5: "five"}


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """Specification of the columns to read from a table, such as arm and reward, and of how to read them.

    Attributes
    ----------
    arm, environment, reward : names of columns; arm and environment may combine several (`arms`, `parts`).
    n, variance, sd : columns of aggregated rows; `n` is "" if a row is one observation, and may be a sum of
        columns (`counts`).
    successes : whether `reward` is the number of rewards that were 1 in an aggregated row.
    missing : whether rows that lack a value raise an error ("refuse") or are skipped ("drop").
    time_zone : time zone of hours, days and weeks; "" is UTC.
    decimal : decimal separator of rewards that are text; "" to detect it.
    wide : columns of rewards, one per arm, if a row holds one reward of each; `arm` and `reward` are then "".
    dates : order of day and month in a column of times that replaces the environment; None to detect it.
    arms : columns whose values together name the arm (known after `among`).
    counts : columns whose sum is the number of rewards of an aggregated row (known after `among`).
    parts : columns, and periods of timestamp columns, that together define the environment (known after
        `among`), followed by those of `extra`; empty if there is only one environment.
    extra : further columns or periods to group by, such as segments or units. The label of an environment is
        then a tuple that begins with its own label.
    unit : the column of units in `extra`, which are never shown; "" if there is none.
    mix : for a reward that is a weighted sum of columns: the weights and the columns.
    winsorize_at : winsorizing threshold: rewards above it are replaced by it.
    logarithm : whether to read the logarithm of the reward, which is missing if the reward is not above 0.
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
    dates: DateOrder | None = None
    arms: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    parts: tuple[str | Period, ...] = ()
    extra: tuple[str, ...] = ()
    unit: str = ""
    mix: tuple[tuple[float, str], ...] = ()
    winsorize_at: float = math.inf
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
    ) -> ColumnSpec:
        """Check column options as far as possible without the table, and return the column specification."""
        if missing not in get_args(Missing):
            raise InputError(f"missing must be 'refuse' or 'drop', not {missing!r}")
        named = {"arm": arm, "environment": environment, "reward": reward, "successes": successes}
        more = {"n": n, "sample_variance": variance, "sd": sd}
        for what, column in (named | more).items():
            if column is not None and (not isinstance(column, str) or not column):
                pairs = what == "environment" and isinstance(column, list | tuple) and bool(column)
                how = f"; for a combination write {':'.join(map(str, column))!r}" if pairs else ""
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
            parts=(*((environment,) if environment else ()), *extra),
            extra=tuple(extra),
        )
        _check_different(request.names)
        return request

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns from which the environment is read."""
        return tuple(part.column if isinstance(part, Period) else part for part in self.parts)

    @property
    def periods(self) -> tuple[Period, ...]:
        """The periods of columns of times that are parts of the environment."""
        return tuple(part for part in self.parts if isinstance(part, Period))

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of labels to read from a table: those of the arm, then those of the environment."""
        return (*self.arm_columns, *self.columns)

    @property
    def arm_columns(self) -> tuple[str, ...]:
        """The columns whose values together name the arm; none in a wide table."""
        return self.arms or ((self.arm,) if self.arm else ())

    @property
    def label_columns(self) -> tuple[str, ...]:
        """The columns whose values are shown as labels, without columns of times and of units."""
        shown = (part for part in self.parts if isinstance(part, str) and part != self.unit)
        return (*self.arm_columns, *shown)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Columns of a table that must hold numbers: the reward, then others such as counts."""
        counts = self.counts or (self.n,)
        names = tuple(name for _, name in self.mix) or (self.reward, *counts, self.variance, self.sd)
        return self.wide or tuple(name for name in names if name)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns to read from a table: first columns of labels, then columns of numbers."""
        return self.labels + self.numbers

    def among(self, columns: Collection[str]) -> ColumnSpec:
        """Return the column specification with combinations, such as "rep:day(ts)", split into their parts.

        Raise an error if a column does not exist.

        >>> spec = ColumnSpec.of("size:color", "rep:week", "y").among(["size", "color", "rep", "week", "y"])
        >>> spec.arms, spec.parts
        (('size', 'color'), ('rep', 'week'))
        """
        parts = [self.environment] if self.environment else []
        if self.environment not in columns and not period_of(self.environment):
            parts = [part.strip() for part in self.environment.split(":")] if self.environment else []
        resolved = replace(
            self,
            arms=_split_combination(self.arm, ":", columns),
            counts=_split_combination(self.n, "+", columns),
            parts=tuple(self._part(part, columns) for part in (*parts, *self.extra)),
        )
        for name in resolved.names:
            if name not in columns:
                raise UnknownName.with_suggestion("column", name, columns)
        names = list(resolved.names)
        if len(resolved.counts) > 1 and resolved.successes:  # the sum includes the successes
            names.remove(resolved.reward)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(
                f"column {twice!r} is used twice; reward, segments, units and each part of the arm "
                f"{self.arm!r} and of the environment {self.environment!r} must be different columns"
            )
        return resolved

    def long(self, arm: str, reward: str) -> ColumnSpec:
        """Return the column specification for a wide table after its rows were split into one row per arm."""
        return replace(self, arm=arm, reward=reward, wide=(), arms=())

    def unpivoted(self, arm: str, reward: str) -> ColumnSpec:
        """Return the column specification of a wide table that is now in long form, with transformed rewards.

        The rewards are winsorized, or replaced by their logarithms, before the split.
        """
        return replace(self.long(arm, reward), winsorize_at=math.inf, logarithm=False)

    @property
    def as_they_are(self) -> bool:
        """Whether labels of environments are tuples of column values as read, not periods or joined texts."""
        return not self.periods and bool(self.extra) and len(self.parts) == len(self.extra) + 1

    def label(self, key: tuple[Any, ...]) -> Any:
        """Return the label of an environment, made of the values of its parts, such as block and day.

        >>> two = ColumnSpec.of("a", "rep:block", "r").among(["a", "rep", "block", "r"])
        >>> two.label((1, "north")), ColumnSpec.of("a", None, "r").label(())
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
        return (_join_labels(labels[:own]), *labels[own:]) if self.extra else _join_labels(labels)

    def split_labels(self, columns: Sequence[Sequence[Any]]) -> SplitLabels:
        """Split columns of labels into the labels of arms and the columns of the environment.

        >>> spec = ColumnSpec.of("size:color", None, "sales").among(["size", "color", "sales"])
        >>> spec.split_labels([[1, 2], ["red", "a:b"]])
        SplitLabels(arms=['1:red', "2:'a:b'"], environment=[])
        """
        own = len(self.arm_columns)
        arms = columns[0] if own == 1 else [_join_labels(parts) for parts in zip(*columns[:own], strict=True)]
        return SplitLabels(arms, columns[own:])

    def environment_labels(self, keys: Iterable[tuple[Any, ...]]) -> EnvironmentLabels:
        """Return the labels of environments by their keys, and which periods are in UTC.

        The order of day and month in dates that are text is decided from all keys.
        """
        keys, spec, utc = list(keys), self, ""
        for at, part in enumerate(self.parts):
            if isinstance(part, Period):
                read = part.with_times(key[at] for key in keys)
                spec = replace(spec, parts=(*spec.parts[:at], read, *spec.parts[at + 1 :]))
                utc = f"{part.every}s" if read.in_utc else utc
        return EnvironmentLabels({key: spec.label(key) for key in keys}, utc)

    def _part(self, name: str, columns: Collection[str]) -> str | Period:
        """Parse one part of the environment: a column such as "rep", or a period such as "day(ts)"."""
        return name if name in columns else period_of(name, self.time_zone) or name


class SplitLabels(NamedTuple):
    """Labels of arms, and the columns from which labels of environments are made."""

    arms: Sequence[Any]
    environment: Sequence[Sequence[Any]]


class EnvironmentLabels(NamedTuple):
    """Labels of environments by the values of their parts, and which periods are in UTC.

    `utc` is "days", for example, if days are those of UTC because times have another time zone; else "".
    """

    by_key: dict[tuple[Any, ...], Any]
    utc: str


def _split_combination(name: str, sign: str, columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns that a name such as "a:b" combines; none if the name is that of one column."""
    parts = tuple(part.strip() for part in name.split(sign))
    return () if name in columns or len(parts) == 1 or not all(parts) else parts


def _join_labels(labels: Sequence[Any]) -> Any:
    """Join the labels of the parts of an arm or environment, such as block and day, into one label."""
    if len(labels) == 1:
        return labels[0]
    if not labels:
        return ALL
    said = map(str, labels)
    return ":".join(
        repr(text) if ":" in text else text for text in said
    )  # quotes keep different combinations apart


def columns_behind(environment: str) -> tuple[str, ...]:
    """Return the columns that an environment such as "rep:week(ts)" may refer to: here "rep" and "ts".

    >>> columns_behind("day(ts)"), columns_behind("day"), columns_behind("rep:week(ts)")
    (('ts',), ('day',), ('rep', 'ts'))
    """
    found = period_of(environment)
    parts = [found.column] if found else environment.split(":")
    return tuple(inner.column if (inner := period_of(part)) else part.strip() for part in parts)


def shorter_environments(environment: str, time: str | None, columns: Collection[str]) -> list[str]:
    """Return the periods, such as days and hours, that are shorter than the given environment, longest first.

    >>> shorter_environments("week(ts)", None, ["ts"]), shorter_environments("shift", "ts", ["shift", "ts"])
    (['day(ts)', 'hour(ts)'], ['shift:day(ts)', 'shift:hour(ts)'])
    """
    period = None if environment in columns else period_of(environment)
    if period is not None:
        after = {"week": ("day", "hour"), "day": ("hour",)}.get(period.every, ())
        column = f"{period.column}, {period.dates}" if period.dates else period.column
        return [f"{each}({column})" for each in after]
    if time is None or environment not in columns:
        return []
    return [f"{environment}:day({time})", f"{environment}:hour({time})"]


def _check_long(
    arm: str | None,
    reward: str | None,
    n: str | None,
    variance: str | None,
    sd: str | None,
    successes: str | None,
) -> None:
    """Raise an error for missing or contradictory column options of a table with one arm per row."""
    if arm is None:
        raise InputError("give the column of the arms (arm), or the columns that are arms (wide)")
    if successes is not None:
        if n is None:
            raise InputError(
                "successes needs n, the column of the number of trials, or their sum, such as 'won + lost'"
            )
        given = {"reward": reward, "sample_variance": variance, "sd": sd}
        if more := [name for name, value in given.items() if value is not None]:
            given_names = join_names(more)
            raise InputError(
                f"successes and n cannot be combined with {given_names}: leave out {given_names}"
            )
        return
    if reward is None:
        raise InputError("give the column of the rewards (reward), or successes and n")
    if n is None and (variance is not None or sd is not None):
        raise InputError("sample_variance and sd are for aggregated rows: give n, the column of counts, too")
    if n is not None and (variance is None) == (sd is None):
        raise InputError(
            "aggregated rows (n, --n) need exactly one of: their variance (sample_variance, "
            "--sample-variance), their standard deviation (sd, --sd); for 0/1 rewards give the number of "
            "ones (successes, --successes) instead of the reward"
        )


def _check_wide(wide: Sequence[str], others: dict[str, str | None]) -> None:
    """Raise an error for invalid columns of a wide table (one column per arm), or conflicting options."""
    if isinstance(wide, str) or len(wide) < 2 or not all(isinstance(name, str) for name in wide):
        raise InputError(f"wide must be at least two columns, one per arm, such as ['A', 'B'], not {wide!r}")
    if given := [name for name, value in others.items() if value is not None]:
        raise InputError(f"in a wide table each column is an arm: leave out {join_names(given)}")


def _check_different(names: tuple[str, ...]) -> None:
    """Raise an error if one column is used twice, for example as arm and environment."""
    if len(set(names)) < len(names):
        what = "arm, environment and reward" if len(names) == 3 else "the columns"
        raise InputError(f"{what} must be {_COUNT.get(len(names), 'all')} different columns, not {names}")
