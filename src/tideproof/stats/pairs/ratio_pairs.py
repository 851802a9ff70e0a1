"""Conditional score tests of the ratio of two arms' mean rewards, with shifts that multiply rewards.

The model is E reward = lambda_environment exp(theta_arm).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import move_apart
from tideproof.stats.pairs.pair_tests import (
    BinaryRewards,
    MeasuredRewards,
    NullHypothesis,
    PairTests,
    RewardDistribution,
)
from tideproof.stats.pairs.unit_pairs import by_unit
from tideproof.stats.pairs.vectorised_pair_tests import PairGrid, RatioGrid, is_dense
from tideproof.stats.scales.conditional_likelihood import (
    ConditionalFit,
    cell_sums,
    finite_effects,
    reported_effects,
    reported_gap,
    solve_ratio,
)
from tideproof.stats.solve.adjusted_means import MeansAndShifts, quadratic_forms
from tideproof.stats.solve.least_squares import Solution, meat, sandwich
from tideproof.stats.variance.cell_variances import measure_variances
from tideproof.stats.variance.variance_models import Estimate, uniform_estimate, with_unit_freedom

_FAR = 300.0  # exp(300) is practically infinite and does not overflow.
_NOTHING = 1e-300  # Weight of an environment without an event: it has shares but no influence.


class RatioPairScale:
    """Comparison of two arms by the ratio of their means, with score statistics of a Poisson-type model.

    Directions and expectations come from `theta`, a fit with half an event more for each arm, distributed as
    if all arms were equal. It is finite for an arm without an event, and there it follows the arms it is
    compared with. The test direction of a pair is w_arm minus its mean over the expected events of the
    environment, with w = P(e_i - e_k), so that U = sum g S has mean 0 whatever the tide.
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.sums = cell_sums(cells)
        steady = _fit_with_half_events(cells, self.sums)
        self.theta, self.P, self.component = steady.theta, steady.P, steady.component
        self.short = steady.short
        self.totals = cells.by_environment(self.sums)
        self._weight = cells.by_arm(cells.n * steady.fitted)

    @cached_property
    def found(self) -> ConditionalFit:
        """Maximum likelihood fit of the ratios between arms to the observed data, unsmoothed."""
        return self.cells.ratio_fit

    @cached_property
    def reported(self) -> Floats:
        """Logarithms of the factors of the arms that are reported; see `reported_effects`."""
        return reported_effects(self.found, self.theta, self.component)

    def gap(self, i: int, k: int) -> float:
        """Return the reported estimate of the log ratio of two arm means; it may be infinite."""
        return reported_gap(self.found, self.reported, i, k)

    def null(self, i: int, k: int, gap: float) -> NullHypothesis:
        """Return the score statistic for testing that the ratio of two arm means is exp(gap)."""
        c = self.cells
        exposure, rate = self.rates(move_apart(self.theta, i, k, gap, self._weight))
        w = (self.P[:, i] - self.P[:, k])[c.arm]
        inside = c.by_environment(exposure)
        direction = w - c.by_environment(exposure * w)[c.environment] / inside[c.environment]
        return NullHypothesis(float(np.sum(direction * self.sums)), direction, rate)

    def slope(self, mean: Floats) -> Floats:
        """Return the expected mean of each cell, because effects are logarithms of factors of the mean."""
        return mean

    def met(self, i: int, k: int, gap: float) -> tuple[Floats, Floats]:
        """Return what the means of arms i and k would be in each environment if their log ratio were `gap`.

        The two results are (J,) each.
        """
        theta = move_apart(self.theta, i, k, gap, self._weight)
        exposure, _ = self.rates(theta)
        rate = self.totals / np.maximum(self.cells.by_environment(exposure), _NOTHING)
        factor = np.exp(np.clip(theta, -_FAR, _FAR))
        return rate * factor[i], rate * factor[k]

    def grid(self, law: RewardDistribution) -> PairGrid | None:
        """Return precomputed matrices for testing many pairs of arms at once; None for sparse data."""
        if not is_dense(self.cells):
            return None
        spreads = law.spreads if isinstance(law, MeasuredRewards) else None
        return RatioGrid(self.cells, self.theta, self.P, self._weight, self.totals, spreads)

    @cached_property
    def fitted(self) -> Floats:
        """Expected mean reward of each arm-by-environment cell, given each environment's total reward.

        The shape is (C,).
        """
        return self.rates(self.theta)[1]

    def rates(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the Poisson exposure and the expected mean reward of each arm-by-environment cell.

        The exposure is n exp(theta), the number of rewards times the factor of the arm.
        """
        c = self.cells
        factor = np.exp(np.clip(theta, -_FAR, _FAR))[c.arm]
        exposure = c.n * factor
        rate = self.totals / np.maximum(c.by_environment(exposure), _NOTHING)
        return exposure, rate[c.environment] * factor


def ratio_pairs(cells: Cells, freedom: int) -> PairTests:
    """Return tests of the ratio of mean rewards for every pair of arms.

    `freedom` is the number of residual degrees of freedom.
    """
    scale = RatioPairScale(cells)
    if cells.dependent:
        weight = np.maximum(cells.n * scale.fitted, _NOTHING)
        return by_unit(scale, weight, scale.fitted, scale.fitted, freedom)
    law: RewardDistribution = BinaryRewards(cells)
    if not cells.binary:
        law = MeasuredRewards(measure_variances(cells, scale.fitted, scale.fitted, freedom), scale.fitted)
    variance = law.moments(scale.fitted).variance
    shared = cells.weighted(np.maximum(cells.n * scale.fitted, _NOTHING))
    return PairTests(scale, law, sandwich(scale.P, meat(shared, cells.n * variance), scale.short))


def estimate_ratio(cells: Cells, solution: Solution) -> Estimate:
    """Estimate the effects of arms and environments as factors of the mean reward.

    `solution` is the least-squares fit. The adjusted mean of an arm is its mean over all environments of
    its group in proportion to traffic. The shift of an environment is a factor, 1 on average over that
    traffic. Variances come from the delta method, at the rates with half events added.
    """
    pairs = ratio_pairs(cells, solution.freedom)
    scale: Any = pairs.scale
    means_and_shifts = factor_means_and_shifts(pairs, scale.theta, scale.reported, pairs.covariance)
    mu = finite_effects(scale.reported, scale.theta, scale.component)
    found = uniform_estimate(
        mu, pairs.covariance, means_and_shifts, float(solution.freedom), pairs, scale.component
    )
    return with_unit_freedom(found, cells)


def factor_means_and_shifts(pairs: PairTests, theta: Floats, shown: Floats, C: Floats) -> MeansAndShifts:
    """Return the adjusted mean of each arm and the shift of each environment, given the arms' factors.

    The factor of an arm, which multiplies means, is exp(theta); C is the covariance of theta. `pairs` are
    tests on the scale of ratios, and `shown` holds the logarithms of the factors that are reported.
    """
    scale: Any = pairs.scale
    cells, component = scale.cells, scale.component
    at = np.zeros(cells.J, np.int64)
    at[cells.environment] = component[cells.arm]
    belongs = np.zeros((int(component.max()) + 1, cells.J))
    belongs[at, np.arange(cells.J)] = 1.0
    traffic = belongs @ cells.sizes

    def levels(factors: Floats) -> tuple[Floats, Floats]:
        """Return the baseline mean reward of each environment.

        The second result is the average of these means for each group of comparable arms.

        The baseline is the mean of an arm with factor 1.
        """
        exposure, fitted = scale.rates(factors)
        rate = cells.by_environment(cells.n * fitted) / np.maximum(cells.by_environment(exposure), _NOTHING)
        return rate, belongs @ (cells.sizes * rate) / traffic

    rate, level = levels(theta)
    shown_rate, shown_level = levels(shown)
    variance = pairs.variance
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(rate > 0.0, cells.by_environment(cells.n * variance) / scale.totals**2, 0.0)
        share = belongs * cells.sizes * rate / (traffic * level)[:, None]
        shift = shown_rate / shown_level[at]
    p = cells.weighted(scale.rates(theta)[0]).dense_shares()
    steady = np.exp(theta) * level[component]
    relative = quadratic_forms(C, share @ p, component) + (share**2 @ noise)[component]
    return MeansAndShifts(
        np.exp(shown) * shown_level[component],
        steady**2 * relative,
        shift,
        shift**2 * (noise + np.sum(p @ C * p, axis=1)),
        steady,
    )


def _fit_with_half_events(cells: Cells, own: Floats) -> ConditionalFit:
    """Fit the ratios between arms after adding half a typical reward to each arm, so that all are finite.

    The half event is spread over the cells of the arm in proportion to the events expected if all arms were
    equal. The size of an event is about the mean square over the mean of the rewards in its environment: 1
    for rewards of 0 or 1, and about the reward itself if no reward is 0.
    """
    overall = float(own.sum() / cells.n.sum())
    if overall == 0.0:
        raise InputError("scale='ratio' needs a reward above 0; all are 0")
    total = cells.by_environment(own)
    rate = (total + overall) / (cells.sizes + 1.0)  # Positive even without an event.
    squares = cells.squares + cells.n * cells.mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(total > 0.0, cells.by_environment(squares) / total, squares.sum() / own.sum())
    size = size[cells.environment]
    events = cells.n * rate[cells.environment] / size  # Expected events if all arms are equal.
    extra = 0.5 * size * events / cells.by_arm(events)[cells.arm]
    return solve_ratio(replace(cells, mean=(own + extra) / cells.n))
