"""Score tests of two arms if rewards of one unit, such as a visitor, depend on each other.

The variance of the score under a hypothesis is that of independent rewards times the design effect of the
pair: the ratio of both variances at the fitted means. Its skewness is that of sums over units. Events are
counted by unit: many events of one unit are hardly more than one event.

References
----------
Kish (1965), Survey sampling; Rao, Scott (1992), A simple method for the analysis of clustered binary data.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import deviate, normal_from_student, pair_variances
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.pairs.difference_pairs import DifferencePairScale
from tideproof.stats.pairs.pair_tests import (
    BinaryRewards,
    CellMoments,
    Events,
    MeasuredRewards,
    PairScale,
    PairTests,
    RewardDistribution,
    count_events,
)
from tideproof.stats.solve.least_squares import Solution, cell_residuals, meat
from tideproof.stats.variance.cell_variances import CellVariances
from tideproof.stats.variance.clustered_units import ClusteredCovariance
from tideproof.stats.variance.unit_scores import units_of_arms

MOST_ARMS_BY_UNIT = 100  # With more arms, faster Student-t tests replace score tests.
LARGEST_SKEWNESS = 1.0  # With a more skewed score, a few units decide.
FEWEST_UNITS = 2.0  # Effective number of units of an arm needed to exclude an arm.


class UnitRewardMoments:
    """Moments of rewards, with third moments from sums of each unit's (such as a visitor's) rewards."""

    def __init__(self, rows: RewardDistribution, fitted: Floats, third: Floats) -> None:
        self._rows, self._third = rows, third
        self._variance = rows.moments(fitted).variance

    def moments(self, mean: Floats) -> CellMoments:
        """Return the variance and third central moment of a reward in each arm-by-environment cell."""
        variance, _, spreads = self._rows.moments(mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(self._variance > 0.0, variance / self._variance, 0.0)
        return CellMoments.from_third(variance, self._third * more**1.5, spreads)


class UnitPairTests(PairTests):
    """Score tests and confidence bounds for the effect of one arm minus that of another, by unit.

    `rows` is the covariance of the arm effects for independent rewards.
    """

    def __init__(
        self, scale: PairScale, law: RewardDistribution, rows: Floats, clustered: ClusteredCovariance
    ) -> None:
        super().__init__(scale, UnitRewardMoments(law, scale.fitted, clustered.third), clustered.covariance)
        with np.errstate(divide="ignore", invalid="ignore"):
            effect = pair_variances(clustered.covariance) / pair_variances(rows)
        self.clustered = clustered
        self.design_effect = np.where(np.isfinite(effect), effect, 1.0)
        self.freedom = clustered.freedom
        self.units = clustered.effective_units
        self._unit_events = count_unit_events(scale.cells)

    @property
    def quick(self) -> bool:
        """Always False, because pairs of arms are tested one by one."""
        return False

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the effects of two arms differ by `gap`; NaN if unknown."""
        statistic, variance, skewness = self._moments(i, k, gap)
        skewness = min(max(skewness, -LARGEST_SKEWNESS), LARGEST_SKEWNESS)
        z = deviate(statistic / math.sqrt(variance) if variance > 0.0 else 0.0, 1.0, skewness)
        freedom = float(self.freedom[i, k])
        return normal_from_student(z, freedom) if freedom else np.nan

    def _moments(self, i: int, k: int, gap: float) -> tuple[float, float, float]:
        """Return the score statistic for testing that two arms differ by `gap`, its variance and skewness."""
        null = self.scale.null(i, k, gap)
        moments, direction = self.law.moments(null.mean), null.direction
        weight = self.scale.cells.n * direction * direction
        variance = float(np.dot(weight, moments.variance)) * float(self.design_effect[i, k])
        third = float(np.dot(weight * direction, moments.third))
        deviation = math.sqrt(max(variance, 0.0))
        skewness = third / deviation / deviation / deviation if deviation > 0.0 else 0.0
        return null.statistic, variance, skewness

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough events and units to conclude that one is not the best."""
        return self.enough_units(i, k) and self._unit_events.enough(i, k)

    def enough_units(self, i: int, k: int) -> bool:
        """Return whether each of two arms has enough units to measure its variance."""
        if min(self.units[i], self.units[k]) < FEWEST_UNITS:
            return False
        return abs(self._moments(i, k, 0.0)[2]) <= LARGEST_SKEWNESS


def by_unit(
    scale: PairScale, weight: Floats, fitted: Floats, base: Floats | None, rows: int
) -> UnitPairTests:
    """Return tests of every pair of arms by unit, on a scale of comparison such as differences.

    `weight` holds the weights of the cells in the fit, and `fitted` their expected means. The variance of a
    reward is that of 0/1 rewards, or else proportional to `base`, by default the same for all. It is then
    estimated with `rows` degrees of freedom.
    """
    c = replace(scale.cells, other_weight=weight)
    law, freedom = _independent_rewards(c, scale.fitted, base, rows)
    variance = law.moments(scale.fitted).variance
    independent = scale.P @ meat(c, c.n * variance) @ scale.P
    return UnitPairTests(scale, law, independent, ClusteredCovariance(c, scale.P, fitted, variance, freedom))


def _independent_rewards(
    c: Cells, fitted: Floats, base: Floats | None, rows: int
) -> tuple[RewardDistribution, float]:
    """Return a distribution of rewards with one variance for all, and the degrees of freedom of the variance.

    The variance is relative to `base`, and known for 0/1 rewards.
    """
    if c.binary:
        return BinaryRewards(c), np.inf
    shape = np.ones(c.n.size) if base is None else base
    used = shape > 0.0
    squares = (c.squares + c.n * (c.mean - fitted) ** 2)[used] / shape[used]
    variance = shape * (float(squares.sum()) / rows if rows else np.nan)
    arms, environments = np.zeros(c.K), np.zeros(c.J)
    spreads = CellVariances(
        variance, np.zeros(c.n.size), float(rows), arms, environments, arms, environments, np.ones(c.J)
    )
    return MeasuredRewards(spreads, None if base is None else fitted), float(rows)


def additive_unit_pairs(c: Cells, s: Solution) -> UnitPairTests:
    """Return tests of the difference in mean reward for every pair of arms, by unit."""
    fitted = c.mean - cell_residuals(s, c)
    return by_unit(DifferencePairScale(c, s), c.weight, fitted, None, s.freedom)


def count_unit_events(c: Cells) -> Events:
    """Return how many events each arm has, where several events of one unit count less.

    The effective number of events is (sum r)^2 / sum r^2, with r the sum of the rewards of a unit.
    """
    rows = count_events(c)
    assert c.units is not None
    u = c.units
    used = np.flatnonzero(c.compares[c.environment[u.cell]])
    own = units_of_arms(u.unit[used], c.arm[u.cell[used]], u.n[used], c.K)
    total = sum_by_index(own.at, u.n[used] * u.mean[used], own.n.size)
    if rows.kinds is not None:
        found = [_effective_number(own.arm, r, c.K) for r in (total, own.n - total)]
        return Events(kinds=np.column_stack(found))
    if rows.amounts is None:
        return rows
    columns = (np.ones(total.size), total, total**2)
    return Events(amounts=np.column_stack([sum_by_index(own.arm, x, c.K) for x in columns]))


def _effective_number(arm: Ints, r: Floats, arms: int) -> Floats:
    """Return the effective number of units in each arm, (sum r)^2 / sum r^2 for amounts r of its units."""
    squares = sum_by_index(arm, r**2, arms)
    return np.round(sum_by_index(arm, r, arms) ** 2 / np.where(squares > 0.0, squares, 1.0), 6)
