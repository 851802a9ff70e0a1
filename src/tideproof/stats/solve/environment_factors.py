"""Least squares with environment shifts that are sums of the effects of two factors.

The model is reward = mu_arm + s_first + t_second + noise. An example: a cow that gives more milk, and a
month in which all cows give more. The factor with more levels is profiled out, as shifts are in
`least_squares`; the remaining system has the size of the arms plus the other factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import NotComparable
from tideproof.stats.cells import BLOCK_NUMBERS, Cells, sum_by_index
from tideproof.text import join_groups

_RANK = 1e-10  # Eigenvalues below this share of the largest count as 0.


class TwoWayFit(NamedTuple):
    """Least-squares fit of the effects of the arms and of two environment factors.

    The larger factor, the one with more levels, is profiled out.

    Attributes
    ----------
    large, small : (C,) level of each cell in the larger and in the smaller factor.
    levels : number of levels of the larger factor.
    weight : (levels,) total weight of each level of the larger factor.
    inverse : (K + L, K + L) generalised inverse of the normal equations: covariance divided by sigma^2.
    theta : (K + L,) effects of the arms and of the levels of the smaller factor, up to constants.
    residual : (C,) mean of each cell minus its expected value.
    rank : number of parameters that the data determine, including those of the larger factor.
    """

    large: Ints
    small: Ints
    levels: int
    weight: Floats
    inverse: Floats
    theta: Floats
    residual: Floats
    rank: int


def fit_two_way(c: Cells) -> TwoWayFit:
    """Fit the effects of the arms and of both environment factors by least squares.

    Takes O(C + levels (K + L)^2 + (K + L)^3) with L the number of levels of the smaller factor.

    Raises
    ------
    NotComparable If the data do not determine the differences of all arms.
    """
    assert c.factors is not None
    first, second = (_renumber(factor[c.environment]) for factor in c.factors)
    large, small = (first, second) if first.max() >= second.max() else (second, first)
    levels = int(large.max()) + 1
    weight = sum_by_index(large, c.weight, levels)
    inverse, rank, component = _generalised_inverse(_normal_equations(c, large, small, levels), c.K)
    if component.any():
        groups = [[c.arms[i] for i in np.flatnonzero(component == g)] for g in range(component.max() + 1)]
        raise NotComparable(
            "the two columns of environments do not connect all arms. Only arms of the same group can be "
            f"compared: {join_groups(groups)}"
        )
    columns = c.K + int(small.max()) + 1
    theta, residual = np.zeros(columns), centre_by_level(c.mean, c.weight, large, weight)
    for _ in range(2):  # The second step refines the solution.
        right = sum_by_index(c.arm, c.weight * residual, columns) + sum_by_index(
            c.K + small, c.weight * residual, columns
        )
        theta += inverse @ right
        expected = theta[c.arm] + theta[c.K + small]
        residual = centre_by_level(
            centre_by_level(c.mean, c.weight, large, weight) - expected, c.weight, large, weight
        )
    return TwoWayFit(large, small, levels, weight, inverse, theta, residual, levels + rank)


def residual_variance(c: Cells, found: TwoWayFit) -> Floats:
    """Return the variance of the residual of each arm-by-environment cell.

    In units of sigma^2 the variances, (C,), are 1/w - 1/W - g'Ag, with w the weight of the cell and W that
    of its level of the larger factor. g of a cell is its row of the design minus the mean row of its level
    of the larger factor, and A is the generalised inverse of the normal equations.
    """
    variance = 1.0 / c.weight - 1.0 / found.weight[found.large]
    for cells, g in level_designs(c, found):
        variance[cells] -= np.sum(g @ found.inverse * g, axis=1)
    return np.maximum(variance, 0.0)


def two_way_shifts(c: Cells) -> tuple[Floats, Floats]:
    """Return the shift of each environment, a sum of two factor effects, and its variance.

    The variance is divided by sigma^2. A shift is relative to the average over all rewards. Let e be the
    column of the environment's level of the smaller factor, zbar the mean row of its level of the larger
    one, q the shares of the arms in all rewards, and h = e - zbar + q. The shift is the mean of that level
    minus the overall mean plus h'theta, and its variance is 1/W - 1/N + h'Ah.
    """
    found = fit_two_way(c)
    total = float(np.sum(c.weight))
    centre = float(np.sum(c.weight * c.mean)) / total
    level = sum_by_index(found.large, c.weight * (c.mean - centre), found.levels) / found.weight
    shift, variance = np.full(c.J, np.nan), np.full(c.J, np.nan)
    for cells, h in shift_designs(c, found):
        j, at = c.environment[cells], found.large[cells]
        shift[j] = level[at] + h @ found.theta
        variance[j] = 1.0 / found.weight[at] - 1.0 / total + np.sum(h @ found.inverse * h, axis=1)
    return shift, np.maximum(variance, 0.0)


def shift_designs(c: Cells, found: TwoWayFit) -> Iterator[tuple[Ints, Floats]]:
    """Yield the coefficients of the fitted parameters in the environments' shifts, in blocks of cells."""
    share = np.zeros(found.theta.size)
    share[: c.K] = c.by_arm(c.weight) / float(np.sum(c.weight))
    for cells, row, rows in _level_rows(c, found):
        h = share - rows[row]
        h[np.arange(cells.size), c.K + found.small[cells]] += 1.0
        yield cells, h


def _renumber(level: Ints) -> Ints:
    """Renumber the levels of a factor as 0, 1, ..., without the levels that do not occur."""
    return np.asarray(np.unique(level, return_inverse=True)[1])


def centre_by_level(values: Floats, weight: Floats, level: Ints, total: Floats) -> Floats:
    """Subtract from each value the weighted mean of all values with the same factor level."""
    return np.asarray(values - (sum_by_index(level, weight * values, total.size) / total)[level])


def _blocks(
    c: Cells, large: Ints, small: Ints, levels: int, columns: int
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield the weighted design matrix, summed by level of a factor, in blocks of levels.

    Each item holds the cells of the block, the row of the matrix for each cell, and the matrix. Its columns
    are the arms, then the levels of the smaller factor.
    """
    order = np.argsort(large, kind="stable")
    step = max(1, BLOCK_NUMBERS // columns)
    for start in range(0, levels, step):
        first, last = np.searchsorted(large, [start, start + step], sorter=order)
        cells = order[first:last]
        row = large[cells] - start
        rows = np.zeros((min(step, levels - start), columns))
        np.add.at(rows, (row, c.arm[cells]), c.weight[cells])
        np.add.at(rows, (row, c.K + small[cells]), c.weight[cells])
        yield cells, row, rows


def _level_rows(c: Cells, found: TwoWayFit) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Yield the mean design row of each level of a factor, in blocks of levels.

    Each item holds the cells of the block, the row of the matrix for each cell, and the matrix.
    """
    for cells, row, rows in _blocks(c, found.large, found.small, found.levels, found.theta.size):
        yield cells, row, rows / rows[:, : c.K].sum(axis=1)[:, None]


def level_designs(c: Cells, found: TwoWayFit) -> Iterator[tuple[Ints, Floats]]:
    """Yield the cells' rows of the design matrix, centred by level of the larger factor, in blocks.

    g of a cell is its row of the design (its arm and its level of the smaller factor) minus the mean row of
    its level of the larger factor.
    """
    for cells, row, rows in _level_rows(c, found):
        g = -rows[row]
        g[np.arange(cells.size), c.arm[cells]] += 1.0
        g[np.arange(cells.size), c.K + found.small[cells]] += 1.0
        yield cells, g


def _normal_equations(c: Cells, large: Ints, small: Ints, levels: int) -> Floats:
    """Return the normal-equation matrix of the arms and one factor, after eliminating the other factor."""
    columns = c.K + int(small.max()) + 1
    total = np.zeros((columns, columns))
    np.add.at(total, (c.arm, c.K + small), c.weight)
    total += total.T
    total += np.diag(sum_by_index(c.arm, c.weight, columns) + sum_by_index(c.K + small, c.weight, columns))
    for _, _, rows in _blocks(c, large, small, levels, columns):
        total -= (rows / rows[:, : c.K].sum(axis=1)[:, None]).T @ rows
    return total


def _generalised_inverse(A: Floats, K: int) -> tuple[Floats, int, Ints]:
    """Return a generalised inverse of the normal-equation matrix.

    The other results are its rank and the groups of comparable arms.

    The first K columns belong to the arms. Two arms are comparable if their rows of the null space of A are
    equal: then their difference is estimable.
    """
    value, axes = np.linalg.eigh(A)
    seen = value > _RANK * max(float(value[-1]), 0.0)
    X = axes[:, seen] / np.sqrt(value[seen])
    unseen = axes[:K, ~seen]
    alike = np.all(np.abs(unseen[:, None] - unseen) < 1e-6, axis=2)
    return X @ X.T, int(np.count_nonzero(seen)), np.unique(alike.argmax(axis=1), return_inverse=True)[1]
