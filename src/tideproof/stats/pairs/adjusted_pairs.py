"""Score tests of the difference between two arms, in logs with covariates or with two environment factors.

The statistic is the least-squares contrast minus the gap, a linear function of single rewards whose
coefficients `ArmEstimators` knows. Its variance and its skewness follow from the noise of each cell, as in a
plain log. So the noise may differ between arms and between levels of the environment factors, and the
variance of a covariate's slope is included.

A skewed arm with a variance of its own makes the statistic U and the estimate V of its variance dependent. To
first order U/sqrt(V) then has the mean -Cov/(2 V^(3/2)), and the third moment is that of U less 3 Cov, over
V^(3/2).

References
----------
Johnson (1978), Modified t tests and confidence intervals for asymmetrical populations.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import deviate, normal_from_student
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import shrunk_effects
from tideproof.stats.pairs.pair_tests import CellMoments, NullHypothesis, PairTests, RewardDistribution
from tideproof.stats.pairs.vectorised_pair_tests import PairGrid
from tideproof.stats.solve.arm_estimators import ArmEstimators
from tideproof.stats.solve.least_squares import Solution, cell_residuals
from tideproof.stats.variance.adjusted_variances import AdjustedVariances, measure_adjusted_variances
from tideproof.stats.variance.expected_squares import residual_shares

_MORE_EVENTS = 0.5  # Events that are added to an arm's own before its rate is trusted.


class AdjustedPairScale:
    """Comparison of two arms by the difference of their means, adjusted for covariates or for two factors.

    For 0/1 rewards the variances follow from the rates before the adjustment. Under a hypothesis these are
    the least-squares rates among those with that gap, m - U g / sum g^2; so an arm without events is as
    variable as the arm it is compared with.
    """

    def __init__(self, cells: Cells, solution: Solution) -> None:
        self.cells, self.P = cells, solution.P
        self.estimators = ArmEstimators(cells, solution)
        self.coefficients = lru_cache(maxsize=8)(self.estimators.contrast)  # A bound needs them many times.
        self._mu = self.steady = solution.mu
        raw = cells if cells.slope is None else cells.slope.unadjusted
        self._raw_mu = raw.solution.mu
        self._rates: Floats | None = None
        self.fitted = cells.mean - cell_residuals(solution, cells)
        if raw.binary:
            self._rates = raw.mean - cell_residuals(raw.solution, raw)
            self.fitted = _shrunk_rates(raw, self._rates)
            self.steady = shrunk_effects(raw, raw.solution) if cells.slope is None else solution.mu

    def gap(self, i: int, k: int) -> float:
        """Return the least-squares estimate of the difference of two arm means, mu_i - mu_k."""
        return float(self._mu[i] - self._mu[k])

    def null(self, i: int, k: int, gap: float) -> NullHypothesis:
        """Return the score statistic of the null hypothesis that the means of two arms differ by `gap`.

        It comes with its direction and with the expected mean of each cell under the hypothesis.
        """
        mean = self.fitted
        if self._rates is not None:
            between = np.zeros(self.cells.K)
            between[i], between[k] = 1.0, -1.0
            g = self.estimators.design.coefficients(between)
            square = float(np.sum(self.cells.n * g**2))
            above = float(self._raw_mu[i] - self._raw_mu[k]) - gap
            mean = np.clip(self._rates - (above / square if square else 0.0) * g, 0.0, 1.0)
        return NullHypothesis(self.gap(i, k) - gap, self.coefficients(i, k).mean, mean)

    def slope(self, mean: Floats) -> Floats:
        """Return the derivative of each cell's mean by its arm effect: 1, as effects are added."""
        return np.ones(mean.size)

    def grid(self, _: RewardDistribution) -> PairGrid | None:
        """Return None, because pairs of arms are tested one by one."""
        return None


class MeasuredNoise:
    """Distribution of rewards whose variance and skewness were measured and do not depend on their means."""

    def __init__(self, found: AdjustedVariances) -> None:
        self._found = found

    def moments(self, _: Floats) -> CellMoments:
        """Return the measured variance and third central moment of a reward in each cell."""
        return CellMoments.from_third(self._found.variance, self._found.third)


class AdjustedBinaryRewards:
    """Distribution of 0/1 rewards after an adjustment; variance and skewness follow from the rates.

    `left` is the share of the variance that covariates leave, times the correction N/(N - J) for N rewards
    and J parameters of environments.
    """

    def __init__(self, left: float) -> None:
        self._left = left

    def moments(self, mean: Floats) -> CellMoments:
        """Return the variance and third central moment of adjusted 0/1 rewards with the given rates."""
        m = np.clip(mean, 0.0, 1.0)
        variance = m * (1.0 - m)
        return CellMoments.from_third(self._left * variance, self._left**1.5 * variance * (1.0 - 2.0 * m))


class AdjustedPairTests(PairTests):
    """Score tests and confidence bounds for two arms, for statistics that weight single rewards differently.

    `noise` holds the measured variances of the cells; None for 0/1 rewards, whose rates determine them.
    """

    def __init__(
        self, scale: AdjustedPairScale, law: RewardDistribution, noise: AdjustedVariances | None
    ) -> None:
        super().__init__(scale, law, scale.estimators.covariance(law.moments(scale.fitted).variance))
        self.adjusted, self._noise = scale, noise

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the effects of two arms differ by `gap`; NaN if unknown."""
        null, inside = self.adjusted.null(i, k, gap), self.adjusted.coefficients(i, k).inside
        moments, n, g = self.law.moments(null.mean), self.adjusted.cells.n, null.direction
        parts = (n * g**2 + inside) * moments.variance
        variance, third = float(parts.sum()), float(np.dot((n * g**2 + 3.0 * inside) * g, moments.third))
        if self._noise is None:
            return deviate(null.statistic, variance, third)
        freedom = self._noise.freedom_of(parts)
        if not freedom:
            return np.nan
        both = self._noise.covariance_with(parts, n * g)
        z = deviate(null.statistic + 0.5 * both / variance, variance, third - 3.0 * both)
        return normal_from_student(z, freedom)


def adjusted_pairs(cells: Cells, solution: Solution) -> AdjustedPairTests:
    """Return tests of the difference of two arms in a log with covariates or two environment factors."""
    scale = AdjustedPairScale(cells, solution)
    raw = cells if cells.slope is None else cells.slope.unadjusted
    if raw.binary:
        return AdjustedPairTests(scale, AdjustedBinaryRewards(_share_left(solution, raw.solution)), None)
    shares = residual_shares(cells, solution, scale.estimators.design)
    noise = measure_adjusted_variances(cells, cells.mean - scale.fitted, shares, _levels(cells))
    return AdjustedPairTests(scale, MeasuredNoise(noise), noise)


def _levels(c: Cells) -> tuple[Ints, ...]:
    """Return the level of each cell in each environment factor."""
    if c.factors is None:
        return (c.environment,)
    return tuple(factor[c.environment] for factor in c.factors)


def _share_left(adjusted: Solution, raw: Solution) -> float:
    """Return the share of the variance of 0/1 rewards that covariates leave, corrected for shifts."""
    correction = raw.told / max(raw.told - raw.environments, 1)
    if not (adjusted.freedom and raw.freedom and raw.rss > 0.0):
        return correction
    return correction * (adjusted.rss / adjusted.freedom) / (raw.rss / raw.freedom)


def _shrunk_rates(c: Cells, rates: Floats) -> Floats:
    """Return expected rates; an arm with few expected events is shrunk towards its environments."""
    alone = replace(c, arms=[0], arm=np.zeros_like(c.arm), slope=None)
    same = np.clip(alone.mean - cell_residuals(alone.solution, alone), 0.0, 1.0)
    expected = c.by_arm(c.n * same)[c.arm]
    share = expected / (expected + _MORE_EVENTS)
    return np.asarray(np.clip(share * rates + (1.0 - share) * same, 0.0, 1.0))
