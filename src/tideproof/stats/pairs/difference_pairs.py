"""Least-squares tests of the difference between two arms' mean rewards, with additive environment shifts.

The model is reward = mu_arm + s_environment + noise. `additive_pairs` returns score tests with variances
from the cells. `WaldPairs` holds tests from estimates and standard errors alone, which are exact for normal
noise.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.best.student_inference import normal_from_student, pair_variances, student_from_normal
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_grid import DifferenceGrid
from tideproof.stats.pairs.pair_tests import (
    BinaryRewards,
    MeasuredRewards,
    NullHypothesis,
    PairTests,
    RewardDistribution,
)
from tideproof.stats.pairs.vectorised_pair_tests import PairGrid
from tideproof.stats.solve.least_squares import Solution, meat, sandwich
from tideproof.stats.variance.cell_variances import measure_variances

_TAIL = 1.96  # z-score at which a widened normal distribution and Student's t have the same tail


class DifferencePairScale:
    """Comparison of two arms by the difference of their means: score statistics from a least-squares fit.

    The test direction of a pair is w_arm minus the mean of w over the environment's rewards, with w = P(e_i -
    e_k): then U is the least-squares contrast minus the gap. Expected means of 0/1 rewards are rates and are
    clipped to [0, 1]. For `fitted`, arms with few events are shrunk towards the others, because otherwise
    they would seem to have no noise.
    """

    def __init__(self, cells: Cells, solution: Solution) -> None:
        self.cells, self.solution, self.P = cells, solution, solution.P
        self.steady = shrunk_effects(cells, solution) if cells.binary else solution.mu
        self.fitted = self._expected(self.steady)

    def gap(self, i: int, k: int) -> float:
        """Return the least-squares estimate of the difference of two arm means, mu_i - mu_k."""
        return float(self.solution.mu[i] - self.solution.mu[k])

    def null(self, i: int, k: int, gap: float) -> NullHypothesis:
        """Return the score statistic of the null hypothesis that the means of two arms differ by `gap`.

        It comes with its direction and with the expected mean of each cell under the hypothesis.
        """
        c, s = self.cells, self.solution
        direction = c.centred((s.P[:, i] - s.P[:, k])[c.arm])
        expected = self._expected(move_apart(s.mu, i, k, gap, c.counts))
        return NullHypothesis(self.gap(i, k) - gap, direction, expected)

    def slope(self, mean: Floats) -> Floats:
        """Return the derivative of each cell's mean by its arm effect: 1, as effects are added."""
        return np.ones(mean.size)

    def met(self, i: int, k: int, gap: float) -> tuple[Floats, Floats]:
        """Return what the means of arms i and k would be in each environment if they differed by `gap`.

        The two results are (J,) each.
        """
        c = self.cells
        mu = move_apart(self.solution.mu, i, k, gap, c.counts)
        level = c.by_environment(c.n * (c.mean - mu[c.arm])) / np.maximum(c.sizes, 1.0)
        return level + mu[i], level + mu[k]

    def grid(self, law: RewardDistribution) -> PairGrid | None:
        """Return precomputed arrays for testing many pairs of arms at once.

        The result is None for 0/1 rewards.
        """
        return (
            DifferenceGrid(self.cells, self.solution.mu, self.P, law.spreads)
            if isinstance(law, MeasuredRewards)
            else None
        )

    def _expected(self, mu: Floats) -> Floats:
        """Return the expected mean of each arm-by-environment cell, given the effects of the arms."""
        c = self.cells
        mean = c.mean - c.centred(c.mean - mu[c.arm])
        return clip_rates(c, mean) if c.binary else mean


def shrunk_effects(c: Cells, s: Solution) -> Floats:
    """Return arm effects shrunk towards the mean of comparable arms.

    Arms with few rewards of 1 shrink more.

    An arm keeps the share E/(E + 1/2) of its distance from that mean, with E its expected number of events:
    as if it had half an event more.
    """
    events = c.by_environment(c.n * c.mean) / np.maximum(c.sizes, 1.0)
    expected = c.by_arm(c.n * events[c.environment])
    share = expected / (expected + 0.5)
    weight = np.where(s.component[:, None] == s.component, c.counts, 0.0)
    centre = weight @ s.mu / np.maximum(weight.sum(axis=1), 1.0)
    return np.asarray(centre + share * (s.mu - centre))


def additive_pairs(cells: Cells, solution: Solution, *, adaptive: bool = False) -> PairTests:
    """Return tests of the difference in mean reward for every pair of arms.

    Variances are those of the rewards in the arm-by-environment cells. `adaptive` means that a policy chose
    pulls by rewards.
    """
    scale = DifferencePairScale(cells, solution)
    law: RewardDistribution
    if cells.binary:
        law = BinaryRewards(cells)
    else:
        one = np.ones(cells.n.size)
        spreads = measure_variances(cells, scale.fitted, one, solution.freedom, adaptive=adaptive)
        law = MeasuredRewards(spreads, None)
    variance = law.moments(scale.fitted).variance
    middle = meat(cells, cells.n * variance)
    return PairTests(scale, law, sandwich(solution.P, middle, solution.short))


def posterior_covariance(pairs: PairTests, solution: Solution) -> Floats:
    """Return the covariance of arm effects, with the variances of arms widened to the tails of Student's t.

    The noise of an arm with f degrees of freedom counts (t_f/z)^2 times, with t_f the point of Student's t
    distribution that has the tail probability of the normal point z = 1.96. The variances of 0/1 rewards
    follow from their means, and are not widened.
    """
    law, cells = pairs.law, pairs.scale.cells
    if not isinstance(law, MeasuredRewards) or not np.all(law.spreads.arm_freedom > 0.0):
        return pairs.covariance
    wider = np.array([student_from_normal(_TAIL, nu) / _TAIL for nu in law.spreads.arm_freedom.tolist()]) ** 2
    middle = meat(cells, cells.n * pairs.variance * wider[cells.arm])
    return sandwich(solution.P, middle, solution.short)


def clip_rates(c: Cells, mean: Floats) -> Floats:
    """Clip event probabilities to [0, 1], but keep the expected number of events of each environment."""
    rate = np.clip(mean, 0.0, 1.0)
    events, expected = c.by_environment(c.n * c.mean), c.by_environment(c.n * rate)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(expected > 0.0, events / expected, 0.0)
    return np.asarray(np.minimum(rate * scale[c.environment], 1.0))


def move_apart(theta: Floats, i: int, k: int, gap: float, weight: Floats) -> Floats:
    """Return the effects of all arms, with arms i and k moved so that their effects differ by `gap`.

    The arm with less weight moves more.
    """
    moved = theta.copy()
    share = weight[i] / total if (total := weight[i] + weight[k]) > 0.0 else 0.5
    middle = share * (theta[i] - gap) + (1.0 - share) * theta[k]
    moved[i], moved[k] = middle + gap, middle
    return moved


class WaldPairs(Pairs):
    """Student-t tests and confidence bounds for the difference of two arm means, mu_i - mu_k.

    `least` are the smallest standard errors of the differences, (K, K), if they are bounded.
    """

    def __init__(self, mu: Floats, covariance: Floats, freedom: Floats, least: Floats | None = None) -> None:
        self.mu, self._freedom = mu, freedom
        self._se = np.sqrt(np.maximum(pair_variances(covariance), 0.0))
        if least is not None:
            self._se = np.maximum(self._se, least)

    @property
    def quick(self) -> bool:
        """Always True, because testing a pair of arms takes few operations."""
        return True

    def gap(self, i: int, k: int) -> float:
        """Return the estimated difference of two arm means, mu_i - mu_k."""
        return float(self.mu[i] - self.mu[k])

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that two arm means differ by `gap`; NaN for 0 degrees of freedom."""
        above, freedom = self.gap(i, k) - gap, float(self._freedom[i, k])
        with np.errstate(divide="ignore", invalid="ignore"):
            t = float(np.divide(above, self._se[i, k])) if above else 0.0
        return normal_from_student(t, freedom) if freedom else np.nan

    def enough(self, i: int, k: int) -> bool:
        """Return True, because this test of two arms needs no minimum number of rewards other than 0."""
        return True

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of the difference of two arm means, at the normal quantile `z`.

        It is the difference with z-score -z.
        """
        freedom = float(self._freedom[i, k])
        return self.gap(i, k) + student_from_normal(z, freedom) * float(self._se[i, k]) if freedom else np.nan
