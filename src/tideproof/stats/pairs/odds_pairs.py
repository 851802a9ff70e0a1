"""Score tests of the odds ratio of two arms with 0/1 rewards, in a conditional logistic model.

The model is logit P(reward = 1) = lambda_environment + theta_arm.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import move_apart
from tideproof.stats.pairs.pair_tests import BinaryRewards, NullHypothesis, PairTests, RewardDistribution
from tideproof.stats.pairs.unit_pairs import by_unit
from tideproof.stats.scales.conditional_likelihood import (
    ConditionalFit,
    competing_cells,
    finite_effects,
    reported_effects,
    reported_gap,
)
from tideproof.stats.scales.odds_likelihood import (
    EnvironmentKinds,
    conditional_means,
    conditional_moments,
    count_ones_and_zeros,
    find_kinds,
    solve_levels,
)
from tideproof.stats.solve.adjusted_means import MeansAndShifts
from tideproof.stats.solve.least_squares import Solution, connected_components, invert_laplacian, meat
from tideproof.stats.variance.variance_models import Estimate, uniform_estimate, with_unit_freedom

_STEPS = 100  # Limit of Newton steps; about five are needed.
_CLOSE = 1e-10
_FAR = 30.0  # Log odds that are practically infinite.


class OddsPairScale:
    """Comparison of two arms by their odds ratio: score statistics from the conditional logistic model.

    The expected number of events of a cell is exact given the total of its environment, however few events it
    has. Test directions come from a theta with half an event and half a non-event added to each arm, which is
    finite even for an arm with only one kind of reward. Environments in which all rewards are equal carry no
    information. `start` holds effects at which the fit begins, such as those of almost the same data.
    """

    def __init__(self, cells: Cells, start: Floats | None = None) -> None:
        self.cells = cells
        self.sums, failures = count_ones_and_zeros(cells)
        only_counts = replace(cells, units=None, slope=None, logs=None, cubes=None, fourths=None)
        same_class = np.zeros(cells.K, np.int64)
        self._part, self._kept = competing_cells(only_counts, same_class, self.sums, failures)
        if not self._kept.size:
            raise InputError(
                "scale='odds' requires an environment in which some rewards are 0 and some are 1; there "
                "is none"
            )
        self._totals = self._part.by_environment(self.sums[self._kept])
        self.theta, self.information = self._steadied(np.zeros(cells.K) if start is None else start)
        between = -self.information
        np.fill_diagonal(between, 0.0)
        self.component = connected_components(between > 0.0)
        self.P = invert_laplacian(between, self.component)
        self._expected = self.sums.copy()
        kinds = self._kinds
        self._expected[self._kept] = conditional_means(kinds.part, kinds.totals, self.theta)[kinds.of_cell]
        self.fitted = self._expected / cells.n
        self._weight = cells.by_arm(cells.n * self.fitted * (1.0 - self.fitted))

    @cached_property
    def found(self) -> ConditionalFit:
        """Maximum conditional likelihood fit of the odds ratios of arms to the observed data, unsmoothed."""
        return self.cells.odds_fit

    @cached_property
    def reported(self) -> Floats:
        """Logarithms of the odds of the arms that are reported; see `reported_effects`."""
        return reported_effects(self.found, self.theta, self.component)

    def gap(self, i: int, k: int) -> float:
        """Return the reported estimate of the log odds ratio of two arms; it may be infinite."""
        return reported_gap(self.found, self.reported, i, k)

    def null(self, i: int, k: int, gap: float) -> NullHypothesis:
        """Return the conditional score statistic for testing that the odds ratio of two arms is exp(gap)."""
        c = self.cells
        expected = self._expected_if_apart(i, k, gap)
        mean = expected / c.n
        w = (self.P[:, i] - self.P[:, k])[c.arm]
        spread = np.maximum(c.n * mean * (1.0 - mean), 1e-300)
        direction = c.weighted(spread).centred(w)
        return NullHypothesis(float(np.sum(w * (self.sums - expected))), direction, mean)

    def slope(self, mean: Floats) -> Floats:
        """Return mean (1 - mean) for each cell: how much a rate changes with its log odds."""
        return mean * (1.0 - mean)

    def met(self, i: int, k: int, gap: float) -> tuple[Floats, Floats]:
        """Return two arms' probabilities of a reward of 1 in each environment for a log odds ratio `gap`."""
        theta = move_apart(self.theta, i, k, gap, self._weight)
        level = self.levels(theta)
        with np.errstate(over="ignore"):
            return 1.0 / (1.0 + np.exp(-level - theta[i])), 1.0 / (1.0 + np.exp(-level - theta[k]))

    def grid(self, law: RewardDistribution) -> None:
        """Return None, because odds ratios of arms can only be tested one pair at a time.

        The expected events of all arms change with each pair.
        """

    def levels(self, theta: Floats) -> Floats:
        """Return the baseline log odds of each environment, to which the arm effects `theta` are added.

        They are the lambda of the model, (J,). They are infinite where all rewards are equal.
        """
        c = self.cells
        rate = c.by_environment(self.sums) / np.maximum(c.sizes, 1.0)
        with np.errstate(divide="ignore"):
            found = np.log(rate / (1.0 - rate))
        environment = np.zeros(self._part.J, np.int64)
        environment[self._part.environment] = c.environment[self._kept]
        found[environment] = solve_levels(self._part, self._totals, theta)
        return found

    def _expected_if_apart(self, i: int, k: int, gap: float) -> Floats:
        """Return the expected number of ones of each cell if the log odds of arms i and k differed by `gap`.

        They are given the totals of the environments, and change only in environments with one of the arms.
        """
        kinds, theta = self._kinds, move_apart(self.theta, i, k, gap, self._weight)
        part, near = kinds.part, np.zeros(kinds.part.J, bool)
        near[part.environment[(part.arm == i) | (part.arm == k)]] = True
        cells = np.flatnonzero(near[part.environment])
        of_kinds = np.empty(part.n.size)
        of_kinds[kinds.of_cell] = self._expected[self._kept]
        of_kinds[cells] = conditional_means(part.select(cells), kinds.totals[near], theta)
        expected = self._expected.copy()
        expected[self._kept] = of_kinds[kinds.of_cell]
        return expected

    @cached_property
    def _kinds(self) -> EnvironmentKinds:
        """Groups of identical environments; expected event counts are computed once for each group."""
        return find_kinds(self._part, self._totals)

    def _steadied(self, theta: Floats) -> tuple[Floats, Floats]:
        """Fit the arm effects after adding half a reward of 1 and half a reward of 0 to each arm.

        Return the effects and their information matrix. The iteration begins at `theta`.
        """
        part, own = self._part, self.sums[self._kept]
        for _ in range(_STEPS):
            expected, between = conditional_moments(part, self._totals, theta)
            half = 1.0 / (1.0 + np.exp(-theta))
            score = part.by_arm(own - expected) + 0.5 - half
            information = np.diag(between.sum(axis=1) + half * (1.0 - half)) - between
            step = np.linalg.solve(information, score)
            if float(np.abs(step).max()) < _CLOSE:
                break
            theta = theta + np.clip(step, -1.0, 1.0)
        return theta, information


def estimate_odds(cells: Cells, solution: Solution) -> Estimate:
    """Estimate the effects of arms and environments on the odds of a reward of 1.

    `solution` is the least-squares fit. The adjusted mean of an arm is its event probability averaged over
    all environments in proportion to traffic. The shift of an environment is a factor of the odds, 1 at the
    odds of the overall rate. Variances come from the delta method, at the theta with half events added.
    """
    scale = OddsPairScale(cells)
    law = BinaryRewards(cells)
    variance = law.moments(scale.fitted).variance
    shared = cells.weighted(np.maximum(cells.n * variance, 1e-300))
    if cells.dependent:
        pairs: PairTests = by_unit(scale, shared.weight, scale.fitted, None, solution.freedom)
        C = pairs.covariance
    else:
        C = scale.P @ meat(shared, cells.n * variance) @ scale.P
        pairs = PairTests(scale, law, C)
    traffic, level = cells.sizes / cells.sizes.sum(), scale.levels(scale.theta)

    def chances(theta: Floats, level: Floats) -> Floats:
        """Return the modelled probability of a reward of 1 for each arm in each environment: (J, K)."""
        with np.errstate(invalid="ignore", over="ignore"):
            chance = 1.0 / (1.0 + np.exp(-(level[:, None] + theta)))
        # All rewards there are equal, for every arm.
        return np.where(np.isinf(level)[:, None], level[:, None] > 0.0, chance)

    p = chances(scale.theta, level)
    slope = traffic[:, None] * p * (1.0 - p)
    lean = np.diag(slope.sum(axis=0)) - slope.T @ shared.dense_shares()
    steady = traffic @ p
    noise = (slope**2).T @ (1.0 / np.maximum(cells.by_environment(cells.n * variance), 1e-300))
    finite = np.isfinite(level)
    overall = float(cells.by_arm(scale.sums).sum() / cells.n.sum())
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        shift = np.exp(level - np.log(overall / (1.0 - overall)))
        b = shared.dense_shares()
        spread = 1.0 / cells.by_environment(cells.n * variance) + np.sum(b @ C * b, axis=1)
        shift_variance = np.where(finite, shift**2 * spread, np.nan)
        shift[cells.sizes == 0.0] = np.nan
    reported = scale.reported
    mean = traffic @ chances(reported, scale.levels(np.clip(reported, -_FAR, _FAR)))
    mean_variance = np.sum(lean @ C * lean, axis=1) + noise
    means_and_shifts = MeansAndShifts(mean, mean_variance, shift, shift_variance, steady)
    freedom = float(solution.freedom)
    mu = finite_effects(reported, scale.theta, scale.component)
    found = uniform_estimate(mu, C, means_and_shifts, freedom, pairs, scale.component)
    return with_unit_freedom(found, cells)
