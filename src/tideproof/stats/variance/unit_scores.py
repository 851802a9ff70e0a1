"""Contributions (scores) of units, such as visitors, to comparisons of arms: their sizes and products.

The score of a unit adds up (reward - expected reward) g over its rewards, with g = e_arm - b_j and b_j the
shares of the arms in the environment; the estimated arm effects are P times the sum of all scores. If rewards
of a unit have variance v and correlation rho, the covariance of its score is (1 - rho) A + rho B, with A the
sum of v g g' over its rewards and B = G G', where G is the sum of sqrt(v) g. Sizes of units are measured in
the metric of the contrasts: trace(P A) and G'P G.

With covariates, the estimated slopes have errors, too: the effects of the arms change with the slopes by
their imbalance, P A_x for A_x = sum of g x. So a reward with covariate residuals x has the coefficients
g - A_x R^-1 x in place of g, with R the sums of squares and products of these residuals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import BLOCK_NUMBERS, Cells, UnitCovariates, UnitRewards, sum_by_index
from tideproof.stats.solve.least_squares import meat

_MANY = 64  # With more arms, all units share one pool: a pool for each arm would take K^3 numbers.
_TINY = 1e-300


class UnitParts(NamedTuple):
    """Rewards by unit and cell in environments with two arms or more, ordered by unit and environment.

    Attributes
    ----------
    cell, n : (parts,) cell and number of rewards.
    residual : (parts,) sum of the deviations of the rewards from their expected mean.
    unit : (parts,) index of the unit, 0, 1, ...
    pool : (units,) index of the arm of a unit; K for a unit with several arms. 0 with many arms.
    pools : number of pools.
    covariates : covariates of the rewards; None without covariates.
    """

    cell: Ints
    n: Floats
    residual: Floats
    unit: Ints
    pool: Ints
    pools: int
    covariates: UnitCovariates | None = None

    @classmethod
    def of(cls, c: Cells, u: UnitRewards, fitted: Floats) -> UnitParts:
        """Select and order the rewards of units (such as visitors) that can contribute to arm comparisons."""
        used = np.flatnonzero(c.compares[c.environment[u.cell]])
        used = used[np.lexsort((c.environment[u.cell[used]], u.unit[used]))]
        unit = np.cumsum(np.diff(u.unit[used], prepend=-1) > 0) - 1
        cell, n = u.cell[used], u.n[used]
        first = np.flatnonzero(np.diff(unit, prepend=-1))
        arm = c.arm[cell]
        pool = arm[first]
        if first.size:
            same = np.minimum.reduceat(arm, first) == np.maximum.reduceat(arm, first)
            pool = np.where(same, pool, c.K)
        many = c.K > _MANY
        pool = np.zeros_like(pool) if many else pool
        residual = n * (u.mean[used] - fitted[cell])
        x = None if u.covariates is None or c.slope is None else u.covariates.of(used)
        return cls(cell, n, residual, unit, pool, 1 if many else c.K + 1, x)

    @property
    def units(self) -> int:
        """Number of units."""
        return self.pool.size


class UnitsOfArms(NamedTuple):
    """Pairs of a unit (such as a visitor) and an arm from which it has rewards.

    Attributes
    ----------
    arm, n : (pairs,) arm, and number of rewards of the unit with this arm.
    at : (parts,) index of the pair to which each of the given rewards belongs.
    """

    arm: Ints
    n: Floats
    at: Ints


def units_of_arms(unit: Ints, arm: Ints, n: Floats, arms: int) -> UnitsOfArms:
    """Return the pairs of a unit and an arm that have rewards; `n` counts the rewards of each entry."""
    key, at = np.unique(unit * arms + arm, return_inverse=True)
    return UnitsOfArms(key % arms, sum_by_index(at, n, key.size), at)


@dataclass(frozen=True, eq=False)
class UnitScores:
    """Sizes and products of units' contributions (scores) to arm comparisons, summed by pool of units.

    Attributes
    ----------
    observed : (units,) z'P z, with z the score of a unit at the fitted means.
    separate, joint : (units,) its expected values if the true means were known, for rewards of the unit that
        are independent (rho = 0) and equal (rho = 1).
    leverage : (units,) share of the unit in the fit of its own expected mean.
    observed_sums, separate_sums, joint_sums : (pools, K, K) sums of z z', A and B.
    """

    observed: Floats
    separate: Floats
    joint: Floats
    leverage: Floats
    observed_sums: Floats
    separate_sums: Floats
    joint_sums: Floats

    @classmethod
    def of(cls, c: Cells, P: Floats, parts: UnitParts, variance: Floats) -> UnitScores:
        """Compute units' contributions (scores) to arm comparisons, given each cell's reward variance."""
        b, units = c.dense_shares(), parts.units
        sizes = np.zeros((4, units))
        sums = np.zeros((3, parts.pools, c.K, c.K))
        root, weight = np.sqrt(variance), c.weight / c.n
        slopes = None if parts.covariates is None else _SlopeErrors.of(c, parts.covariates)
        for here in _blocks(parts.unit, c.K):
            cell = parts.cell[here]
            environment, unit = c.environment[cell], parts.unit[here]
            g = -b[environment]
            g[np.arange(cell.size), c.arm[cell]] += 1.0
            n = parts.n[here]
            own = n * np.sum((g @ P) * g, axis=1)
            leverage = own * weight[cell]
            products = parts.residual[here, None] * g
            if slopes is not None:
                g = g - slopes.shifts(here)
                own = n * np.sum((g @ P) * g, axis=1)
                leverage += slopes.leverage(here, n)
                products = parts.residual[here, None] * g - slopes.cross(here)
            first = np.flatnonzero(np.diff(unit, prepend=-1))
            visits = np.flatnonzero((np.diff(unit, prepend=-1) > 0) | (np.diff(environment, prepend=-1) != 0))
            z = np.add.reduceat(products, first, axis=0)
            G = np.add.reduceat((n * root[cell])[:, None] * g, first, axis=0)
            inside = np.add.reduceat((n * root[cell] * np.sqrt(weight[cell]))[:, None] * g, visits, axis=0)
            lost = np.sum((inside @ P) * inside, axis=1) / c.totals[environment[visits]]
            at = unit[first]
            sizes[0, at] = np.sum((z @ P) * z, axis=1)
            sizes[1, at] = np.add.reduceat(own * variance[cell], first)
            sizes[2, at] = np.sum((G @ P) * G, axis=1)
            relative = np.add.reduceat(lost, np.searchsorted(visits, first)) / np.maximum(
                sizes[1, at], 1e-300
            )
            sizes[3, at] = relative + np.add.reduceat(leverage, first)
            for pool in np.unique(parts.pool[at]):
                mine = parts.pool[at] == pool
                sums[0, pool] += z[mine].T @ z[mine]
                sums[2, pool] += G[mine].T @ G[mine]
                if slopes is not None:
                    rows = np.flatnonzero(parts.pool[unit] == pool)
                    sums[1, pool] += (g[rows] * (n * variance[cell])[rows, None]).T @ g[rows]
                    sums[1, pool] += slopes.inside(rows + here.start, variance[cell[rows]])
        for pool in range(parts.pools if slopes is None else 0):
            mine = parts.pool[parts.unit] == pool
            count = sum_by_index(parts.cell[mine], parts.n[mine], c.n.size)
            sums[1, pool] = meat(c, count * variance)
        return cls(*sizes, *sums)


class _SlopeErrors(NamedTuple):
    """Correction of units' contributions to arm comparisons for errors of estimated covariate slopes.

    Attributes
    ----------
    covariates : covariates of the rewards of each unit and cell.
    inverse : (p, p) R^-1.
    tilts : (K, p) A_x R^-1.
    """

    covariates: UnitCovariates
    inverse: Floats
    tilts: Floats

    @classmethod
    def of(cls, c: Cells, x: UnitCovariates) -> _SlopeErrors:
        """Compute how the contributions of units to arm comparisons change with their covariates."""
        assert c.slope is not None
        return cls(x, c.slope.inverse, meat(c, c.weight) @ c.slope.imbalance @ c.slope.inverse)

    def shifts(self, here: slice) -> Floats:
        """Return the change of rewards' coefficients in the arm effects due to covariates: (parts, K)."""
        return np.asarray((self.tilts @ self.covariates.residual[:, here]).T)

    def cross(self, here: slice) -> Floats:
        """Return the change of units' scores because covariates and rewards vary together inside cells."""
        return np.asarray((self.tilts @ self.covariates.cross[:, here]).T)

    def leverage(self, here: slice, n: Floats) -> Floats:
        """Return each part's share in the fit of its own mean that is due to covariate slopes."""
        x = self.covariates.residual[:, here]
        return np.asarray(n * np.sum((self.inverse @ x) * x, axis=0))

    def inside(self, parts: Ints, variance: Floats) -> Floats:
        """Return the sum of products of coefficients due to covariates that vary inside units and cells."""
        middle = self.covariates.products[:, :, parts] @ variance
        return np.asarray(self.tilts @ middle @ self.tilts.T)


def _blocks(unit: Ints, arms: int) -> Iterator[slice]:
    """Yield slices of rows that hold whole units; `unit` is sorted."""
    step, start = max(1, BLOCK_NUMBERS // arms), 0
    while start < unit.size:
        last = unit[min(start + step, unit.size) - 1]
        stop = int(np.searchsorted(unit, last, side="right"))
        yield slice(start, stop)
        start = stop
