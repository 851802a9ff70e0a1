"""Arm effects as linear functions of single rewards, with covariates and with one or two environment factors.

The estimated effect of arm i is the sum over rewards of a_ir r. Within a cell a_ir has the mean
mean g'A, to which covariates add (imbalance_i)' V (x - fitted x),
with V the inverse of the sums of squares of the covariates' residuals. From these coefficients follow the
sandwich covariance and the variance of every contrast, for any noise that differs between cells.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import Cells
from tideproof.stats.solve.environment_factors import TwoWayFit, centre_by_level, fit_two_way, level_designs
from tideproof.stats.solve.least_squares import Solution, meat, sandwich


class RewardCoefficients(NamedTuple):
    """Coefficients of the rewards in a contrast of arms, summarised by cell.

    Attributes
    ----------
    mean : (C,) average coefficient of a reward in the cell.
    inside : (C,) sum of squared deviations of the coefficients in the cell from that average.
    """

    mean: Floats
    inside: Floats


class Design(Protocol):
    """Protocol for the design of a log: arms with one or with two environment factors.

    The residual of the mean of a cell has the leverage 1/W + g'Ag, with W the weight of the cell's level, A
    the generalised inverse of the normal equations, and g the cell's row of the design minus its level's
    mean row.

    Attributes
    ----------
    level : (C,) level of each cell in the factor that is profiled out.
    total : (levels,) weight of each level.
    inverse : (D, D) A; the first K rows belong to the arms.
    """

    level: Ints
    total: Floats
    inverse: Floats

    def blocks(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield rows of the design matrix for blocks of cells, (cells, D)."""

    def coefficients(self, contrast: Floats) -> Floats:
        """Return the coefficient of a reward of each cell in a contrast of arms: (C,)."""

    def sandwich(self, q: Floats) -> Floats:
        """Return the covariance matrix of the arm effects; q is the variance of each cell's total reward."""


class OneFactorDesign:
    """Design of arms and environments, whose shifts have no structure."""

    def __init__(self, cells: Cells, solution: Solution) -> None:
        self._cells, self._solution = cells, solution
        self.level, self.total, self.inverse = cells.environment, cells.totals, solution.P

    def blocks(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield rows of the arms' design matrix, (cells, K), in blocks of environments."""
        c = self._cells
        for rows, cells, (b,) in c.blocks(c.shares):
            g = -b[c.environment[cells] - rows.start]
            g[np.arange(cells.size), c.arm[cells]] += 1.0
            yield cells, g

    def coefficients(self, contrast: Floats) -> Floats:
        """Return the coefficient of a reward of each cell in a contrast of arms: (C,)."""
        return self._cells.centred((self._solution.P @ contrast)[self._cells.arm])

    def sandwich(self, q: Floats) -> Floats:
        """Return the covariance matrix of the arm effects; q is the variance of each cell's total reward."""
        return sandwich(self._solution.P, meat(self._cells, q), self._solution.short)


class TwoFactorDesign:
    """Design of arms and environments whose shifts are sums of two factors."""

    def __init__(self, cells: Cells, found: TwoWayFit) -> None:
        self._cells, self.found = cells, found
        self.level, self.total, self.inverse = found.large, found.weight, found.inverse

    def blocks(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield rows of the design matrix, (cells, K + L), in blocks of levels of the larger factor."""
        return level_designs(self._cells, self.found)

    def coefficients(self, contrast: Floats) -> Floats:
        """Return the coefficient of a reward of each cell in a contrast of arms: (C,)."""
        c, found = self._cells, self.found
        along = found.inverse[:, : c.K] @ contrast
        return centre_by_level(along[c.arm] + along[c.K + found.small], c.weight, found.large, found.weight)

    def sandwich(self, q: Floats) -> Floats:
        """Return the covariance matrix of the arm effects; q is the variance of each cell's total reward."""
        total, outer = np.zeros_like(self.inverse), self.inverse[: self._cells.K]
        for here, g in self.blocks():
            total += (g.T * q[here]) @ g
        return np.asarray(outer @ total @ outer.T)


class ArmEstimators:
    """Least-squares estimators of the effects of all arms, as linear functions of the rewards."""

    def __init__(self, cells: Cells, solution: Solution) -> None:
        self.cells = cells
        self.design: Design
        if cells.factors is None:
            self.design = OneFactorDesign(cells, solution)
        else:
            self.design = TwoFactorDesign(cells, fit_two_way(cells))

    def contrast(self, i: int, k: int) -> RewardCoefficients:
        """Return the coefficients of the rewards in the estimated effect of arm i minus that of arm k."""
        c = self.cells
        between = np.zeros(c.K)
        between[i], between[k] = 1.0, -1.0
        mean, slope = self.design.coefficients(between), c.slope
        if slope is None:
            return RewardCoefficients(mean, np.zeros(mean.size))
        along = slope.inverse @ (between @ slope.imbalance)
        inside = np.einsum("i,ijc,j->c", along, slope.products, along)
        return RewardCoefficients(mean - along @ slope.residual, np.maximum(inside, 0.0))

    def covariance(self, variance: Floats) -> Floats:
        """Return the covariance of the arm effects, (K, K), given the variance of a reward in each cell."""
        c, slope = self.cells, self.cells.slope
        total = self.design.sandwich(c.n * variance)
        if slope is None:
            return total
        spread = np.einsum("ijc,c->ij", slope.products, variance)
        spread += (slope.residual * c.n * variance) @ slope.residual.T
        cross = self._effects(slope.residual * c.n * variance) @ slope.inverse @ slope.imbalance.T
        turn = slope.imbalance @ slope.inverse
        return np.asarray(total - cross - cross.T + turn @ spread @ turn.T)

    def overlap(self, variance: Floats) -> Floats:
        """Return the covariance of each arm's effect with the sum of all rewards: (K,).

        `variance` is that of a reward in each cell.
        """
        c, slope = self.cells, self.cells.slope
        q = c.n * variance
        found = self._effects(q[None])[:, 0]
        if slope is None:
            return found
        return np.asarray(found - slope.imbalance @ slope.inverse @ (slope.residual @ q))

    def _effects(self, sums: Floats) -> Floats:
        """Return least-squares arm effects, (K, p), from p columns of the cells' reward sums, (p, C)."""
        design = self.design
        total = np.zeros((len(design.inverse), len(sums)))
        for here, g in design.blocks():
            total += g.T @ sums[:, here].T
        return design.inverse[: self.cells.K] @ total
