"""Merge groups of rows from any data source into statistics of the rewards by arm and environment.

Checks and their error messages are shared by all sources. Sums of third and fourth powers of deviations are
converted between two reference points: about a point that is `off` below the mean, the deviations of n
rewards are d + off, where d are those from their mean. The sums of their powers are

    sum (d + off)^3 = cubes + 3 off squares + n off^3
    sum (d + off)^4 = fourths + 4 off cubes + 6 off^2 squares + n off^4.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.date_order import detect_date_order, has_day_or_month_first, rewrite_date
from tideproof.errors import InputError, describe_value
from tideproof.stats.cells import Cells, UnitRewards, bernoulli_moments, sum_by_index
from tideproof.text import format_count

MOST_ARMS = 5_000  # their covariance matrix takes 200 MB
MOST_CELLS = 2**23  # largest number of groups or aggregated rows that are fetched from an engine

# Rounding errors of a fourth power, in squared variances:
WORTH_ANOTHER_LOOK = 1e-8
USELESS = 1e-3
_BLUR = 1e-11  # acceptable rounding error of the squared deviations of an arm, relative to them
_UNIT = 8.0 * float(np.finfo(np.float64).eps)  # relative rounding error of a few products and sums

_NUMBER = re.compile(r"\s*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\s*")

_SWAPPED = "perhaps the column of arms was swapped with that of environments or of rewards"


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or the NA of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # the NA of pandas has no truth value
        return True


def check_rows(rows: int) -> None:
    """Raise an error for a table without rows."""
    if rows == 0:
        raise InputError("the data has no rows; a fit needs at least two arms")


def check_missing(names: Sequence[str], counts: Sequence[int], rows: int) -> None:
    """Raise an error that counts the missing values in each column, if there are any."""
    lacking = [
        f"{name!r} is missing in {count:,} of {format_count(rows, 'row')}"
        for name, count in zip(names, counts, strict=True)
        if count
    ]
    if lacking:
        raise InputError(
            f"missing values are not allowed: {', '.join(lacking)}; "
            f"missing='drop' (--drop-missing) skips these rows"
        )


def check_finite(name: str, infinite: int, rows: int) -> None:
    """Raise an error if there are infinite rewards."""
    if infinite:
        raise InputError(f"rewards must be finite; {infinite} of {rows} in {name!r} are infinite")


def check_arms(arms: Sequence[Any]) -> None:
    """Raise an error if a log has fewer than two arms, or more than can be compared."""
    if not arms:
        raise InputError(
            "no row is complete (a complete row has a value in every column that is used); a fit needs at "
            "least two arms"
        )
    if len(arms) < 2:
        raise InputError(
            f"a comparison needs at least two arms; the only one here is {describe_value(arms[0])}"
        )
    if len(arms) > MOST_ARMS:
        raise too_many_arms_error(f"{len(arms):,}", arms[:3])


def check_fetched(fetched: int, what: str) -> None:
    """Raise an error if a query returned more rows than are allowed.

    The query asks for one row more than that, so that an excess is noticed.
    """
    if fetched > MOST_CELLS:
        raise InputError(f"there are more than {MOST_CELLS:,} {what}; {_SWAPPED}")


def too_many_arms_error(count: str, examples: Sequence[Any]) -> InputError:
    """Return the error for a column of arms with too many distinct labels."""
    listed = ", ".join(repr(label) for label in examples)
    return InputError(
        f"the log has {count} different arms ({listed}, …), but at most {MOST_ARMS:,} can be compared; "
        f"{_SWAPPED}"
    )


def not_numeric_error(name: str, what: object) -> InputError:
    """Return the error for a column that must hold numbers, such as the reward, but does not."""
    return InputError(f"column {name!r} must be numeric; it holds {what}")


class MomentSums(NamedTuple):
    """Sums of third and fourth powers of deviations from the mean, for each group of rows."""

    cubes: Floats
    fourths: Floats


def has_lost_digits(arm: Ints, n: Floats, mean: Floats, squares: Floats) -> bool:
    """Return whether rounding errors make the sum of squared deviations of some arm too inaccurate.

    That happens if they are computed as the difference of two large sums.

    >>> has_lost_digits(np.array([0, 1]), np.array([5.0, 5.0]), np.array([1.0, 1e4]), np.array([5.0, 5.0]))
    True
    """
    lost = np.bincount(arm, np.where(squares > 0.0, n * mean**2, 0.0))
    return bool(np.any(_UNIT * lost > _BLUR * np.bincount(arm, squares)))


def shift_reference(n: Floats, squares: Floats, tails: MomentSums, off: Floats) -> MomentSums:
    """Convert third and fourth moments about the mean to moments about another point, mean - `off`.

    The moments are sums of powers of deviations from the point.
    """
    cubes, fourths = tails
    return MomentSums(
        cubes + off * (3.0 * squares + n * off**2),
        fourths + off * (4.0 * cubes + off * (6.0 * squares + n * off**2)),
    )


def from_power_sums(
    n: Floats, squares: Floats, powers: MomentSums, off: Floats, most: float = USELESS
) -> MomentSums | None:
    """Convert third and fourth moments about another point, mean - `off`, to moments about the mean.

    The moments are sums of powers of deviations from the point. Return None if that point is too far away: if
    rounding adds more than `most` to the fourth power, relative to the squared variance of all groups that
    vary. For groups with a smaller variance, or none, the sums are clipped to values that are mathematically
    possible.

    >>> one = np.array([1.0, 2.0, 6.0])
    >>> about_zero = MomentSums(np.array([sum(one**3)]), np.array([sum(one**4)]))
    >>> from_power_sums(np.array([3.0]), np.array([14.0]), about_zero, np.array([3.0]))
    MomentSums(cubes=array([18.]), fourths=array([98.]))
    """
    with np.errstate(over="ignore", invalid="ignore"):
        cubes = powers.cubes - off * (3.0 * squares + n * off**2)
        fourths = powers.fourths - off * (4.0 * cubes + off * (6.0 * squares + n * off**2))
        varies = squares > 0.0
        rounding = _UNIT * np.max(off[varies] ** 4, initial=0.0)
        variance = np.sum(squares) / max(float(np.sum(n[varies])), 1.0)
        if not np.all(np.isfinite(fourths)) or 0.0 < most * variance**2 < rounding:
            return None
        fourths = np.clip(fourths, squares**2 / n, squares**2)
    limit = np.sqrt(squares * fourths)  # by the Cauchy-Schwarz inequality
    return MomentSums(np.clip(cubes, -limit, limit), fourths)


class RewardRange(NamedTuple):
    """The lowest and the highest reward of each group of rows."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Statistics of the rewards in groups of rows; a group belongs to one arm in one environment.

    Several groups may belong to the same arm and environment.

    Attributes
    ----------
    arm : (G,) arm of each group.
    environment : (G,) values of the columns that define the environment.
    n, mean, squares : (G,) number of rows, mean reward and sum of squared deviations from it.
    ordered : whether groups are in the order of first appearance.
    dropped : number of rows that were skipped because a value was missing.
    tails : sums of third and fourth powers of the deviations; None if they are unknown.
    ends : the lowest and the highest reward; None if they are unknown.
    """

    arm: Sequence[Any]
    environment: Sequence[tuple[Any, ...]]
    n: Floats
    mean: Floats
    squares: Floats
    ordered: bool
    dropped: int
    tails: MomentSums | None = None
    ends: RewardRange | None = None


def assemble_cells(groups: Groups, request: ColumnSpec) -> Cells:
    """Merge the statistics of groups of rows that belong to the same arm and environment.

    Several groups belong to one environment if it is a week, for example, and they are days.
    """
    arms, arm = index_labels(groups.arm, groups.ordered)
    utc = ""
    if request.as_they_are and groups.environment:
        environments, at = index_tuples(list(zip(*groups.environment, strict=True)), groups.ordered)
    else:
        label, utc = request.environment_labels(dict.fromkeys(groups.environment))
        environments, at = index_labels([label[key] for key in groups.environment], groups.ordered)
    check_arms(arms)
    pair, cell = np.unique(at * len(arms) + arm, return_inverse=True)
    if pair.size == arm.size:  # nothing to merge, so every digit can be kept
        by = np.argsort(cell)
        n, mean, squares = groups.n[by], groups.mean[by], groups.squares[by]
        tails = groups.tails and MomentSums(*(values[by] for values in groups.tails))
        ends = groups.ends and RewardRange(*(values[by] for values in groups.ends))
    else:
        n, mean, squares, tails = merge_groups(
            cell, groups.n, groups.mean, groups.squares, pair.size, groups.tails
        )
        ends = groups.ends and merge_ranges(cell, groups.ends, pair.size)
    found = Cells(arms, environments, pair % len(arms), pair // len(arms), n, mean, squares, groups.dropped)
    if utc:
        found = replace(found, utc=utc)
    if request.n:
        found = replace(found, units=aggregated_row_units(groups, cell))
    if tails is None and found.binary:
        tails = MomentSums(*bernoulli_moments(n, mean)[1:])
    if ends is not None:  # rounding may lead a mean out of the range, such as below 0
        found = replace(found, mean=np.clip(found.mean, *ends), low=ends.low, high=ends.high)
    if tails is None or not np.all(np.isfinite(tails)):  # Powers of rewards above 1e75 may overflow.
        return found
    return replace(found, cubes=tails.cubes, fourths=tails.fourths)


def aggregated_row_units(groups: Groups, cell: Ints) -> UnitRewards | None:
    """Return each aggregated row as a unit if several rows have the same arm and the same environment.

    Such rows show whether rewards of one row are more alike than those of different rows. Rows of shorter
    periods than the environment, such as the days of a week, are no units: what makes days differ is common
    to all arms. `cell` is the cell of each row.
    """
    merged = len(set(zip(cell.tolist(), groups.environment, strict=True)))
    if merged == cell.size or merged > np.unique(cell).size or np.all(groups.n == 1.0):
        return None
    return UnitRewards(np.arange(cell.size), cell, groups.n, groups.mean, rows=True)


def merge_ranges(cell: Ints, ends: RewardRange, cells: int) -> RewardRange:
    """Merge the lowest and highest rewards of groups of rows that belong to the same arm and environment.

    >>> groups = RewardRange(np.array([1.0, 5.0, 0.0]), np.array([2.0, 6.0, 1.0]))
    >>> merge_ranges(np.array([0, 1, 0]), groups, 2)
    RewardRange(low=array([0., 5.]), high=array([2., 6.]))
    """
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(low, cell, ends.low)
    np.maximum.at(high, cell, ends.high)
    return RewardRange(low, high)


class MergedGroups(NamedTuple):
    """Count, mean, sum of squared deviations and higher moments of the rewards, by arm and environment."""

    n: Floats
    mean: Floats
    squares: Floats
    tails: MomentSums | None


def merge_groups(
    cell: Ints, n: Floats, mean: Floats, squares: Floats, cells: int, tails: MomentSums | None = None
) -> MergedGroups:
    """Merge counts, means and moments of groups of rows; groups with the same number in `cell` become one.

    The squared deviations are those inside the groups plus those of their means, n (mean - merged mean)^2.

    >>> one, two = (2, 3.0, 0.5), (1, 9.0, 0.0)
    >>> merge_groups(np.array([0, 0]), *map(np.array, zip(one, two)), 1)[:3]
    (array([3.]), array([5.]), array([24.5]))
    """
    total = sum_by_index(cell, n, cells)
    centre = sum_by_index(cell, n * mean, cells) / total
    centre += (
        sum_by_index(cell, n * (mean - centre[cell]), cells) / total
    )  # corrects the rounding error of a long sum
    off = mean - centre[cell]
    if tails is not None:
        tails = MomentSums(
            *(sum_by_index(cell, values, cells) for values in shift_reference(n, squares, tails, off))
        )
    return MergedGroups(total, centre, sum_by_index(cell, squares + n * off**2, cells), tails)


def index_labels(labels: Sequence[Any], ordered: bool) -> tuple[list[Any], Ints]:
    """Return the distinct labels, sorted or in order of appearance, and the index of each label among them.

    They are in the order of first appearance if `ordered`.
    """
    if set(map(type, labels)) == {int} and (numbers := np.array(labels)).dtype == np.int64:
        found, of = _index_codes(numbers, ordered)  # the same as below, but fast for millions of labels
        return numbers[found].tolist(), of
    distinct = list(dict.fromkeys(labels))
    if not ordered:
        distinct = sort_labels(distinct)
    index = {label: i for i, label in enumerate(distinct)}
    return distinct, np.array([index[label] for label in labels], np.int64)


def sort_labels(labels: list[Any]) -> list[Any]:
    """Return labels in order: numbers by size, dates by time, and other text by its characters.

    >>> sort_labels(["10", "9", "09"]), sort_labels(["b", "a", "10"]), sort_labels([2, "x", 1])
    (['09', '9', '10'], ['10', 'a', 'b'], [1, 2, 'x'])
    >>> sort_labels(["1.12.2024", "31.1.2024"])
    ['31.1.2024', '1.12.2024']
    """
    try:
        found = sorted(labels)
    except TypeError:  # labels of several types
        return sorted(labels, key=lambda label: (type(label).__name__, str(label)))
    if not found or not isinstance(found[0], str):
        return found
    if all(map(_NUMBER.fullmatch, found)):
        return sorted(found, key=float)
    if not (found[0].strip()[:1].isdigit() and has_day_or_month_first(found[0])):
        return found
    try:
        order = detect_date_order(found, None, "", "")
    except InputError:  # dates of several forms, or an order that only the user knows
        return found
    return sorted(found, key=lambda text: rewrite_date(text, order)) if order else found


def index_tuples(columns: Sequence[Sequence[Any]], ordered: bool) -> tuple[list[Any], Ints]:
    """Return the distinct tuples of labels, sorted or in order of appearance, and the index of each tuple.

    The distinct tuples are in the order of first appearance if `ordered`. The tuples are given column by
    column, which is fast for millions of them.

    >>> index_tuples([["b", "a", "b"], [1, 2, 1]], ordered=False)
    ([('a', 2), ('b', 1)], array([1, 0, 1]))
    """
    parts = [index_labels(column, ordered) for column in columns]
    code = np.zeros(len(columns[0]), np.int64)
    for distinct, at in parts:
        code = code * len(distinct) + at
    found, of = _index_codes(code, ordered)
    labels = ([distinct[i] for i in at[found].tolist()] for distinct, at in parts)
    return list(zip(*labels, strict=True)), of


def _index_codes(code: Ints, ordered: bool) -> tuple[Ints, Ints]:
    """Find the distinct numbers in an array, like `numpy.unique`, but optionally in order of appearance.

    Return the index in `code` at which each distinct number first occurs and, for each entry of `code`, the
    rank of its number among the distinct ones. The distinct numbers are sorted, or in the order of first
    appearance if `ordered`.
    """
    _, first, of = np.unique(code, return_index=True, return_inverse=True)
    if not ordered:
        return first, of
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[of]


def wants_logs(cells: Cells, logs: bool) -> bool:
    """Return whether to read the logarithms of rewards: they are requested, and all rewards are above 0."""
    return logs and cells.positive
