"""Means and sums of products of several numbers of the same rows, in each cell.

Products are computed from squares: the squares of u + v are those of u, those of v and twice the product. So
every engine that can group one column can group several, without further SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.data.cell_assembly import RewardRange, index_labels, index_tuples, merge_groups, merge_ranges
from tideproof.data.central_moments import MomentSums
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import Dataset
from tideproof.data.group_by_sql import Progress
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, sum_by_index


class JointMoments(NamedTuple):
    """Cells of the reward, with means and products of other numbers of the same rows.

    Attributes
    ----------
    cells : cells of the reward; the label of an environment is a tuple of its own label and the extra labels.
    mean : (V, C) mean of each number in each cell, the reward first.
    products : (V, V, C) sums of products of deviations from the cell means.
    """

    cells: Cells
    mean: Floats
    products: Floats

    def select(self, cells: Ints) -> JointMoments:
        """Return the statistics of the cells whose indices are given."""
        return JointMoments(self.cells.select(cells), self.mean[:, cells], self.products[:, :, cells])

    def of(self, key: int) -> dict[Any, JointMoments]:
        """Return the statistics for each value at position `key` of the label tuples, by first appearance."""
        c = self.cells
        labels, of = index_labels([label[key] for label in c.environments], ordered=True)
        return {label: self.select(np.flatnonzero(of[c.environment] == i)) for i, label in enumerate(labels)}


def group_jointly(
    rows: Dataset, request: ColumnSpec, others: Sequence[str], progress: Progress | None = None
) -> JointMoments:
    """Group rows, and return means and products of the reward and the columns `others` in each cell.

    Rows that lack any of these numbers are refused, or skipped for all of them.
    """
    names = (request.reward, *others)
    if len(set(names)) < len(names):
        raise InputError(f"reward, divisor and covariates must be different columns, not {names}")
    if others and (request.n or request.wide):
        raise InputError(
            "a ratio of two columns as reward, and covariates, need a table with one row for each reward, "
            "not an aggregated or wide table"
        )
    every = request.missing == "drop"

    def group(factors: Sequence[float]) -> Cells:
        """Return the cells of a weighted sum of the columns."""
        used = [(factor, name) for factor, name in zip(factors, names, strict=True) if factor or every]
        if len(used) == 1 and used[0][1] == request.reward:
            return rows.group(request, progress)
        if len(used) == 1:
            return rows.group(replace(request, reward=used[0][1], cap=np.inf), progress)
        return rows.group(replace(request, mix=tuple(used)), progress)

    unit = np.eye(len(names))
    single = [group(row.tolist()) for row in unit]
    scale = np.array([_standard_deviation(cells) for cells in single])
    squares = np.array([cells.squares for cells in single]) / scale[:, None] ** 2
    products = np.zeros((len(names), len(names), squares.shape[1]))
    for i in range(len(names)):
        products[i, i] = single[i].squares
        for k in range(i):
            both = group((unit[i] / scale[i] + unit[k] / scale[k]).tolist())
            mixed = 0.5 * scale[i] * scale[k] * (both.squares - squares[i] - squares[k])
            products[i, k] = products[k, i] = mixed
    first = single[0]
    if not request.extra:
        first = replace(first, environments=[(label,) for label in first.environments])
    return JointMoments(first, np.array([cells.mean for cells in single]), products)


def merge_cells(j: JointMoments, kept: int) -> tuple[JointMoments, Ints]:
    """Merge the cells that agree in the first `kept` labels; also return the merged cell of each cell."""
    c = j.cells
    environments, of = index_tuples(list(zip(*c.environments, strict=True))[:kept], ordered=True)
    pair, cell = np.unique(of[c.environment] * c.K + c.arm, return_inverse=True)
    size = pair.size
    tails = None if c.cubes is None or c.fourths is None else MomentSums(c.cubes, c.fourths)
    n, mean, squares, tails = merge_groups(cell, c.n, c.mean, c.squares, size, tails)
    means = np.array([merge_groups(cell, c.n, value, np.zeros(c.n.size), size).mean for value in j.mean])
    off = j.mean - means[:, cell]
    V = len(means)
    products = np.array(
        [
            [sum_by_index(cell, j.products[i, k] + c.n * off[i] * off[k], size) for k in range(V)]
            for i in range(V)
        ]
    )
    ends = None if c.low is None or c.high is None else merge_ranges(cell, RewardRange(c.low, c.high), size)
    made = Cells(c.arms, environments, pair % c.K, pair // c.K, n, mean, squares, c.dropped)
    if tails is not None:
        made = replace(made, cubes=tails.cubes, fourths=tails.fourths)
    if ends is not None:
        made = replace(made, low=ends.low, high=ends.high)
    return JointMoments(made, means, products), cell


def _standard_deviation(cells: Cells) -> float:
    """Return the standard deviation of all rewards around their overall mean, or 1 if it is 0."""
    centre = np.sum(cells.n * cells.mean) / np.sum(cells.n)
    squares = float(np.sum(cells.squares + cells.n * (cells.mean - centre) ** 2))
    return float(np.sqrt(squares / np.sum(cells.n))) or 1.0
