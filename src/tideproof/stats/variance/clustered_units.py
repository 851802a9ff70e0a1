"""Covariance of arm effects if rewards of one unit, such as a visitor, depend on each other.

The covariance combines two estimates for each pool of units, those of one arm. The first assumes that rewards
of a unit are equally correlated. The second is the cluster-robust sandwich, which assumes nothing but is
unreliable with few units. Its weight is the share of its deviations from the first that its sampling error
does not explain. So a small arm whose few units happen to be alike does not seem to be free of noise.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import pair_variances, root_between
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.variance.cell_variances import variance_between
from tideproof.stats.variance.unit_scores import UnitParts, UnitScores, UnitsOfArms, units_of_arms

_MISFIT = 0.01  # Least assumed variance of the relative errors of the model of equal correlations.
_LARGEST = 0.999  # Correlations and leverages above are rounding.
_TINY = 1e-300


class UnitModel(NamedTuple):
    """Correlation of rewards of one unit, and what units contribute to the variances of arm effects.

    Attributes
    ----------
    correlation : of two rewards of one unit.
    expected : (units,) expected size of the score of each unit.
    kept : (units,) share of it that is left around the fitted means.
    """

    correlation: float
    expected: Floats
    kept: Floats


class ClusteredCovariance:
    """Covariance of the arm effects, clustered by unit, with degrees of freedom for each pair of arms.

    `variance` is the variance of a reward in each cell, and `rows` the degrees of freedom with which it was
    estimated; infinity if it is known. `P` and the weights of the cells are those of the fit.
    """

    def __init__(self, c: Cells, P: Floats, fitted: Floats, variance: Floats, rows: float) -> None:
        if c.units is None:
            raise InputError("variance='by-unit' needs a column of units: name it by unit= (--unit)")
        c.check_one_way("variance='by-unit'")
        self._cells, self._P, self._variance, self._rows = c, P, variance, rows
        self._parts = UnitParts.of(c, c.units, fitted)
        self._scores = UnitScores.of(c, P, self._parts, variance)
        self.model = fit_correlation(self._scores)
        self._pool()
        self._combine()

    def _pool(self) -> None:
        """Compare the sizes of units' contributions with their expectations, in each pool of units."""
        s, model, pools = self._scores, self.model, self._parts.pools
        pool = self._parts.pool
        left = model.expected * model.kept
        of_pool = sum_by_index(pool, left, pools)
        seen = of_pool > _TINY
        ratio, self._freedom = np.ones(pools), np.zeros(pools)
        ratio[seen] = sum_by_index(pool, s.observed, pools)[seen] / of_pool[seen]
        squares = sum_by_index(pool, model.expected * left, pools)
        self._freedom[seen] = of_pool[seen] ** 2 / squares[seen]
        with np.errstate(divide="ignore", invalid="ignore"):
            relative = (s.observed / (left * ratio[pool]))[left > _TINY]
        noise = max(2.0, float(np.mean(relative**2)) - 1.0) if relative.size else 2.0
        error = np.full(pools, np.inf)
        error[seen] = noise / self._freedom[seen]
        between = max(variance_between(ratio[seen] - 1.0, error[seen]), _MISFIT)
        self._trust = between / (between + error)
        self._factor = 1.0 + self._trust * (ratio - 1.0)
        total = sum_by_index(pool, model.expected, pools)
        self._restored = np.ones(pools)
        self._restored[seen] = total[seen] / of_pool[seen]

    def _combine(self) -> None:
        """Combine two estimates of the arms' covariance matrix, and find degrees of freedom for each pair."""
        s, rho, P = self._scores, self.model.correlation, self._P
        own = self._trust[:, None, None]
        modelled = (1.0 - own) * ((1.0 - rho) * s.separate_sums + rho * s.joint_sums)
        robust = own * self._restored[:, None, None] * s.observed_sums
        self.covariance = P @ (modelled + robust).sum(axis=0) @ P
        total = pair_variances(self.covariance)
        slope = pair_variances(P @ ((1.0 - own) * (s.joint_sums - s.separate_sums)).sum(axis=0) @ P)
        from_model = pair_variances(P @ modelled.sum(axis=0) @ P)
        left = self.model.kept
        x = (s.joint - s.separate) / np.maximum(self.model.expected, _TINY)
        information, level = float(np.sum(x * x * left)), float(np.sum(x * left))
        with np.errstate(divide="ignore", invalid="ignore"):
            slope, from_model = slope / total, from_model / total
            error = np.zeros_like(total)
            if information > 0.0:
                error += slope**2 / information
                from_model = from_model - slope * level / information
            error += from_model**2 / self._row_freedom()
            for pool in np.flatnonzero(self._freedom > 0.0):
                error += (pair_variances(P @ robust[pool] @ P) / total) ** 2 / self._freedom[pool]
            most = max(float(left.sum()), 0.0)
            self.freedom = np.where(total > 0.0, np.minimum(1.0 / error, most), 0.0)

    def _row_freedom(self) -> float:
        """Return the degrees of freedom of the variance of rewards, which are fewer if rewards depend."""
        n = sum_by_index(self._parts.unit, self._parts.n, self._parts.units)
        squares = float(np.sum(n * (1.0 + self.model.correlation**2 * (n - 1.0))))
        return self._rows * float(n.sum()) / squares if squares else self._rows

    @cached_property
    def _members(self) -> UnitsOfArms:
        """Rewards of each unit in each of its arms."""
        c, p = self._cells, self._parts
        return units_of_arms(p.unit, c.arm[p.cell], p.n, c.K)

    @cached_property
    def effective_units(self) -> Floats:
        """Effective number of units of each arm: as many equal units would vary as much: (K,)."""
        own, rho = self._members, self.model.correlation
        weight = own.n * (1.0 + rho * (own.n - 1.0))
        total, squares = (sum_by_index(own.arm, x, self._cells.K) for x in (weight, weight**2))
        return np.asarray(total**2 / np.maximum(squares, _TINY))

    @cached_property
    def third(self) -> Floats:
        """Third central moment of a reward in each cell, as it counts in sums over units: (C,)."""
        c, p, own = self._cells, self._parts, self._members
        n, variance = own.n, self._variance[p.cell]
        deviation = p.residual / np.sqrt(np.where(variance > 0.0, variance, np.inf))
        pool = p.pool[p.unit]
        sums = sum_by_index(own.at, deviation / np.sqrt(self._factor[pool]), n.size)
        scale = np.sqrt(n * (1.0 + self.model.correlation * (n - 1.0)))
        alone, shared = fit_skewness(n, scale, sums)
        power = (variance * self._factor[pool]) ** 1.5
        total = sum_by_index(p.cell, p.n * power * (alone + shared * n[own.at] ** 2), c.n.size)
        return np.asarray(total / c.n)


def fit_skewness(n: Floats, scale: Floats, sums: Floats) -> tuple[float, float]:
    """Fit the third moments of sums of n rewards of a unit: `alone` n + `shared` n^3.

    `shared` is the third moment of the part of the deviation that all rewards of a unit share. `sums` are in
    standard deviations of a reward, and have the standard deviations `scale`.
    """
    if not n.size:
        return 0.0, 0.0
    cubes = (sums / scale) ** 3
    x, y = n / scale**3, (n / scale) ** 3
    xx, xy, yy = float(x @ x), float(x @ y), float(y @ y)
    single = float(x @ cubes) / xx
    determinant = xx * yy - xy * xy
    if determinant <= 1e-9 * xx * yy:
        return single, 0.0
    alone = (yy * float(x @ cubes) - xy * float(y @ cubes)) / determinant
    shared = (xx * float(y @ cubes) - xy * float(x @ cubes)) / determinant
    return (alone, shared) if alone * shared >= 0.0 else (single, 0.0)


def fit_correlation(s: UnitScores) -> UnitModel:
    """Estimate the correlation of rewards of the same unit, such as a visitor, by the method of moments."""

    def model(rho: float) -> UnitModel:
        """Return the expected sizes of units' contributions to arm comparisons, given a correlation."""
        expected = (1.0 - rho) * s.separate + rho * s.joint
        lost = np.minimum(s.leverage, _LARGEST)
        design = float(expected.sum()) / max(float(s.separate.sum()), _TINY)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = 1.0 - 2.0 * lost + lost * design * s.separate / expected
        kept = np.where(expected > _TINY, np.maximum(kept, (1.0 - lost) ** 2), 0.0)
        return UnitModel(rho, expected, kept)

    def excess(rho: float) -> float:
        """Return a function of the correlation that increases, and is 0 at the estimated correlation."""
        at = model(rho)
        used = at.expected > _TINY
        slope = (s.joint - s.separate)[used] / at.expected[used]
        return -float(np.sum(slope * (s.observed[used] / at.expected[used] - at.kept[used])))

    return model(root_between(0.0, _LARGEST, excess))
