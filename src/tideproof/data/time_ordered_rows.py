"""Sort the rows of logs without environments by time; rewards of an arm at the same time are merged.

Times are seconds since 1970, or plain numbers if the column does not hold times. If a log has too many rows,
times are rounded down to bins of equal length, by the database engine if there is one.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.data.cell_assembly import (
    check_arms,
    check_finite,
    check_missing,
    check_rows,
    index_labels,
    is_missing,
    merge_groups,
    too_many_arms_error,
)
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.column_values import check_lengths, index_column, to_numbers
from tideproof.data.date_order import DateOrder, detect_time_order, parse_moment
from tideproof.data.time_periods import FIRST, UNITS, Period
from tideproof.errors import InputError

MOST_TIDE_ARMS = 50  # largest number of arms with a hidden tide
MOST_SINGLE = 2_000_000  # largest number of single rewards that are fetched from an engine


class TimedRewards(NamedTuple):
    """Individual rewards in any order, each with its arm and its time."""

    arm: Ints
    time: Floats
    reward: Floats


class TimeOrderedRows(NamedTuple):
    """Rewards ordered by time; rewards of an arm at the same time are merged into one row.

    Attributes
    ----------
    arms : names of the arms, in the order of first appearance or, from an engine, sorted.
    arm, time, n, mean, squares : (N,) index of the arm, time, number of rewards, their mean and sum of
        squared deviations.
    clock : whether times are seconds since 1970; if not, they are the numbers of the column.
    dropped : number of rows that were skipped because a value was missing.
    bin : length of the bins to which times were rounded; 0 without bins.
    column : name of the column of times.
    singles : the single rewards with unrounded times; None if there are too many.
    """

    arms: list[Any]
    arm: Ints
    time: Floats
    n: Floats
    mean: Floats
    squares: Floats
    clock: bool
    dropped: int
    bin: float
    column: str
    singles: TimedRewards | None = None


class RowSurvey(NamedTuple):
    """Survey of a log before sorting: counts of rows, missing values and infinite rewards, and the time span.

    Attributes
    ----------
    rows : number of all rows.
    missing : number of rows that lack arm, time and reward.
    infinite : number of infinite rewards.
    first, last : the earliest and the latest time, in units of the column.
    """

    rows: int
    missing: Sequence[int]
    infinite: int
    first: float
    last: float


def order_columns(data: Mapping[str, Iterable[Any]], request: ColumnSpec, most: int) -> TimeOrderedRows:
    """Return the rows of a log in memory, ordered by time.

    The environment column of `request` holds the times.
    """
    request = request.among(data)
    arms, time, reward = check_time_columns(request)
    found = [index_column(data[name], name) for name in arms]
    check_lengths(arms, [at.size for _, at in found])
    absent = np.any([np.isin(at, [i for i, x in enumerate(each) if is_missing(x)]) for each, at in found], 0)
    names, index = found[0]
    if len(found) > 1:
        parts = [[each[i] for i in at.tolist()] for each, at in found]
        names, index = index_column(request.split_labels(parts).arms, request.arm)
    moment, known = parse_times(data[time], time, request.dates)
    rewards = to_numbers(data[reward], reward, request.decimal)
    check_lengths(request.names, (index.size, moment.size, rewards.size))
    missing = [absent, np.isnan(moment), np.isnan(rewards)]
    kept = ~np.any(missing, axis=0)
    finite = moment[np.isfinite(moment)]
    ends = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    infinite = int(np.isinf(rewards).sum())
    survey = RowSurvey(rewards.size, [int(each.sum()) for each in missing], infinite, *ends)
    clock, factor = check_survey(survey, request, known)
    step = bin_length(int(kept.sum()), survey, factor, most, len(names))
    left, of = np.unique(index[kept], return_inverse=True)
    shown = [names[i] for i in left.tolist()]
    singles = TimedRewards(of, moment[kept] * factor, rewards[kept])
    return order_rewards(shown, singles, clock, int(rewards.size - kept.sum()), step, time)


def check_time_columns(request: ColumnSpec) -> tuple[tuple[str, ...], str, str]:
    """Return the column names of arms, time and reward; raise an error if further columns are requested."""
    more = request.wide or request.n or request.extra or len(request.parts) != 1
    if more or isinstance(request.parts[0], Period):
        raise InputError(
            f"time must name one column of times or numbers, not {request.environment!r}, and the table must "
            f"have one row for each reward"
        )
    return request.arm_columns, request.columns[0], request.reward


def check_survey(survey: RowSurvey, request: ColumnSpec, known: bool) -> tuple[bool, float]:
    """Return the kind and the unit of a log's times; raise an error if the log cannot be sorted by time.

    The results are whether the times are timestamps, and their unit in seconds.
    """
    check_rows(survey.rows)
    if request.missing == "refuse":
        check_missing((request.arm, *request.columns, request.reward), survey.missing, survey.rows)
    check_finite(request.reward, survey.infinite, survey.rows)
    if not (math.isfinite(survey.first) and math.isfinite(survey.last)):
        raise InputError(f"times in {request.environment!r} must be finite")
    if known or survey.first < FIRST or survey.last >= 1000.0 * UNITS[-1]:
        return known, 1.0
    return True, 1000.0 ** -sum(survey.first >= limit for limit in UNITS)


def bin_length(rows: int, survey: RowSurvey, factor: float, most: int, arms: int) -> float:
    """Return the length of time bins that reduce a log to at most `most` rows; 0 if no bins are needed."""
    if rows <= most:
        return 0.0
    return (survey.last - survey.first) * factor * max(arms, 1) / most


def order_rewards(
    arms: list[Any], singles: TimedRewards, clock: bool, dropped: int, step: float, column: str
) -> TimeOrderedRows:
    """Sort individual rewards by time; times are rounded down to multiples of `step`, unless `step` is 0."""
    arm, time, reward = singles
    if step:
        time = np.floor(time / step) * step
    one, none = np.ones(arm.size), np.zeros(arm.size)
    found = order_rows(arms, arm, time, one, reward, none, clock, dropped, step, column)
    return found._replace(singles=singles)


def order_rows(
    arms: list[Any],
    arm: Ints,
    time: Floats,
    n: Floats,
    mean: Floats,
    squares: Floats,
    clock: bool,
    dropped: int,
    step: float,
    column: str,
) -> TimeOrderedRows:
    """Sort rows by time, then by arm, and merge rows with the same time and arm."""
    check_arms(arms)
    if len(arms) > MOST_TIDE_ARMS:
        if len(arms) > 10 * MOST_TIDE_ARMS:
            raise too_many_arms_error(f"{len(arms):,}", arms[:3])
        raise InputError(
            f"a hidden tide can be estimated for up to {MOST_TIDE_ARMS} arms, not {len(arms)}; name a column "
            f"of environments"
        )
    order = np.lexsort((arm, time))
    arm, time = arm[order], time[order]
    n, mean, squares = n[order], mean[order], squares[order]
    new = np.ones(arm.size, bool)
    new[1:] = (np.diff(time) != 0.0) | (np.diff(arm) != 0)
    if not new.all():
        cell = np.cumsum(new) - 1
        n, mean, squares, _ = merge_groups(cell, n, mean, squares, int(cell[-1]) + 1, None)
        arm, time = arm[new], time[new]
    return TimeOrderedRows(arms, arm.astype(np.int64), time, n, mean, squares, clock, dropped, step, column)


def parse_times(values: Iterable[Any], name: str, dates: DateOrder | None = None) -> tuple[Floats, bool]:
    """Return times as numbers, NaN if missing, and whether these numbers are seconds since 1970.

    >>> parse_times(["2024-05-03 14:00", "1970-01-01T00:01Z"], "ts")
    (array([1.7147448e+09, 6.0000000e+01]), True)
    >>> parse_times([3, 1], "visit")
    (array([3., 1.]), False)
    >>> parse_times(["1.2.1970", "13.1.1970"], "when")[0] / 86400
    array([31., 12.])
    """
    array = np.asarray(values if hasattr(values, "__len__") else list(values))
    if array.dtype.kind == "M":
        whole = array.astype("datetime64[us]")
        return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6), True
    if array.dtype.kind in "iuf":
        return array.astype(np.float64), False
    entries = array.tolist()
    known = [entry for entry in entries if not is_missing(entry)]
    if known and all(isinstance(entry, (int, float)) and not isinstance(entry, bool) for entry in known):
        return np.array([math.nan if is_missing(x) else float(x) for x in entries]), False
    order = detect_time_order({entry for entry in known if isinstance(entry, str)}, dates, name)
    return np.array([math.nan if is_missing(x) else _seconds(x, name, order) for x in entries]), True


def _seconds(value: Any, name: str, dates: DateOrder | None) -> float:
    """Return a time as seconds since 1970; a time without a zone is in UTC."""
    moment = value
    if isinstance(value, str):
        try:
            moment = parse_moment(value, dates)
        except ValueError:
            raise _not_a_time_error(name, repr(value)) from None
    if isinstance(moment, dt.datetime):
        return moment.replace(tzinfo=moment.tzinfo or dt.UTC).timestamp()
    if isinstance(moment, dt.date):
        return dt.datetime(moment.year, moment.month, moment.day, tzinfo=dt.UTC).timestamp()
    raise _not_a_time_error(name, type(value).__name__)


def _not_a_time_error(name: str, what: str) -> InputError:
    """Return the error for a column that holds neither times nor numbers."""
    return InputError(
        f"time needs a column of times or numbers; column {name!r} holds {what}; write times as "
        f"2024-10-20 12:34:56"
    )


def order_lists(
    lists: Sequence[Sequence[Any]], clock: bool, dropped: int, step: float, column: str
) -> TimeOrderedRows:
    """Sort by time the rows that a database engine returned as columns: arms, times and rewards.

    For single rewards the columns are arms, times and rewards.
    """
    names, arm = index_labels(lists[0], False)
    if len(lists) == len(TimedRewards._fields):
        singles = TimedRewards(arm, *(np.array(values, np.float64) for values in lists[1:]))
        return order_rewards(names, singles, clock, dropped, step, column)
    time, n, mean, squares = (np.array(values, np.float64) for values in lists[1:])
    squares = np.maximum(np.nan_to_num(squares), 0.0)  # the variance of a single row is NULL
    return order_rows(names, arm, time, n, mean, squares, clock, dropped, step, column)
