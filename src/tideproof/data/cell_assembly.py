"""Conversion of the groups of rows that an engine returns to cells: merged where necessary, and sorted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.data.central_moments import MomentSums, shift_reference
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.row_checks import check_arms
from tideproof.stats.cells import Cells, bernoulli_moments, sum_by_index


class RewardRange(NamedTuple):
    """The lowest and the highest reward of each group."""

    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Statistics of groups of rows, with one group or several for each arm and environment.

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
    """Convert groups to cells, and merge the groups of the same arm and environment.

    Several groups belong to one environment if it is a week, for example, and they are days.
    """
    arms, arm = index_labels(groups.arm, groups.ordered)
    if request.as_they_are and groups.environment:
        environments, at = index_tuples(list(zip(*groups.environment, strict=True)), groups.ordered)
    else:
        label = {key: request.label(key) for key in dict.fromkeys(groups.environment)}
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
    if tails is None and found.binary:
        tails = MomentSums(*bernoulli_moments(n, mean)[1:])
    if ends is not None:
        found = replace(found, low=ends.low, high=ends.high)
    return found if tails is None else replace(found, cubes=tails.cubes, fourths=tails.fourths)


def merge_ranges(cell: Ints, ends: RewardRange, cells: int) -> RewardRange:
    """Return the lowest and the highest reward of each cell from those of its groups.

    >>> groups = RewardRange(np.array([1.0, 5.0, 0.0]), np.array([2.0, 6.0, 1.0]))
    >>> merge_ranges(np.array([0, 1, 0]), groups, 2)
    RewardRange(low=array([0., 5.]), high=array([2., 6.]))
    """
    low, high = np.full(cells, np.inf), np.full(cells, -np.inf)
    np.minimum.at(low, cell, ends.low)
    np.maximum.at(high, cell, ends.high)
    return RewardRange(low, high)


class MergedGroups(NamedTuple):
    """Count, mean, sum of squared deviations and higher moments of each cell."""

    n: Floats
    mean: Floats
    squares: Floats
    tails: MomentSums | None


def merge_groups(
    cell: Ints, n: Floats, mean: Floats, squares: Floats, cells: int, tails: MomentSums | None = None
) -> MergedGroups:
    """Merge the groups of each cell; `cell` is the index of the cell of each group.

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
    """Return the distinct labels, sorted unless `ordered`, and the index of each entry among them."""
    if set(map(type, labels)) == {int} and (numbers := np.array(labels)).dtype == np.int64:
        found, of = _index_codes(numbers, ordered)  # the same as below, but fast for millions of labels
        return numbers[found].tolist(), of
    distinct = list(dict.fromkeys(labels))
    if not ordered:
        try:
            distinct.sort()
        except TypeError:  # labels of several types
            distinct.sort(key=lambda label: (type(label).__name__, str(label)))
    index = {label: i for i, label in enumerate(distinct)}
    return distinct, np.array([index[label] for label in labels], np.int64)


def index_tuples(columns: Sequence[Sequence[Any]], ordered: bool) -> tuple[list[Any], Ints]:
    """Return the distinct tuples of labels, and the index of each entry, as `index_labels` does.

    The tuples are given column by column, which is fast for millions of them.

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
    """Return the position of the first entry of each distinct number, and the index of each entry among them.

    The distinct numbers are sorted, or in the order of first appearance if `ordered`.
    """
    _, first, of = np.unique(code, return_index=True, return_inverse=True)
    if not ordered:
        return first, of
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    return first[order], rank[of]
