"""The scale of ratios: E r = lambda_environment exp(theta_arm); pairs of arms by the conditional score."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import apart
from tideproof.stats.pairs.pair_tests import Chances, MeasuredRewards, Null, PairTests, RewardLaw
from tideproof.stats.pairs.pair_tests_batch import Grid, OfRatios
from tideproof.stats.scales.conditional_likelihood import ConditionalFit
from tideproof.stats.scales.ratio_likelihood import solve_ratio, sums_of
from tideproof.stats.solve.adjusted_means import Readout, quadratic
from tideproof.stats.solve.laplacian import sandwich
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.cell_variances import measure
from tideproof.stats.variance.sandwich import meat
from tideproof.stats.variance.variance_models import Estimate, uniform

_FAR = 300.0  # exp of it is still a number, and as good as infinite
_NOTHING = 1e-300  # the weight of an environment without an event: it has shares, and no say


class Multiplying:
    """Rates that multiply, as a scale on which pairs of arms are tested.

    Directions and expectations come from `theta`, the same fit with half an event more for each arm, spread
    as if all arms were equal: it is finite for an arm without an event, and says of it what its rivals say.
    The direction of a pair is w_arm minus its mean over the expected events of the environment, with
    w = P(e_i - e_k), so that U = sum g S is 0 on average whatever the tide.
    """

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.sums = sums_of(cells)
        steady = _steady(cells, self.sums)
        self.theta, self.P, self.component = steady.theta, steady.P, steady.component
        self.short = steady.short
        self.totals = cells.by_environment(self.sums)
        self._weight = cells.by_arm(cells.n * steady.fitted)

    @cached_property
    def found(self) -> ConditionalFit:
        """The maximum of the likelihood, without that half of an event."""
        return solve_ratio(self.cells)

    def gap(self, i: int, k: int) -> float:
        """Return the maximum of the likelihood: infinite where only one of them had an event."""
        return self.found.gap(i, k)

    def null(self, i: int, k: int, gap: float) -> Null:
        """Return the score of the hypothesis that rates of i and k are exp(gap) : 1."""
        c = self.cells
        exposure, rate = self.rates(apart(self.theta, i, k, gap, self._weight))
        w = (self.P[:, i] - self.P[:, k])[c.arm]
        inside = c.by_environment(exposure)
        direction = w - c.by_environment(exposure * w)[c.environment] / inside[c.environment]
        return Null(float(np.sum(direction * self.sums)), direction, rate)

    def met(self, i: int, k: int, gap: float) -> tuple[Floats, Floats]:
        """Return what arms i and k would have had in each environment, (J,) each, if the gap were true."""
        theta = apart(self.theta, i, k, gap, self._weight)
        exposure, _ = self.rates(theta)
        rate = self.totals / np.maximum(self.cells.by_environment(exposure), _NOTHING)
        factor = np.exp(np.clip(theta, -_FAR, _FAR))
        return rate * factor[i], rate * factor[k]

    def grid(self, law: RewardLaw) -> Grid:
        """Return what tests many pairs at once."""
        spreads = law.spreads if isinstance(law, MeasuredRewards) else None
        return OfRatios(self.cells, self.theta, self._weight, self.totals, spreads)

    @cached_property
    def fitted(self) -> Floats:
        """(C,) the expected mean of each cell, the totals of the environments given."""
        return self.rates(self.theta)[1]

    def rates(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return n exp(theta) and the expected mean of each cell."""
        c = self.cells
        factor = np.exp(np.clip(theta, -_FAR, _FAR))[c.arm]
        exposure = c.n * factor
        rate = self.totals / np.maximum(c.by_environment(exposure), _NOTHING)
        return exposure, rate[c.environment] * factor


def multiplying_pairs(cells: Cells, freedom: int) -> PairTests:
    """Return tests of all pairs of arms on the scale of ratios; `freedom` is that of all residuals."""
    scale = Multiplying(cells)
    law: RewardLaw = Chances(cells)
    if not cells.binary:
        law = MeasuredRewards(measure(cells, scale.fitted, scale.fitted, freedom), scale.fitted)
    variance = law.moments(scale.fitted).variance
    shared = cells.weighted(np.maximum(cells.n * scale.fitted, _NOTHING))
    return PairTests(scale, law, sandwich(scale.P, meat(shared, cells.n * variance), scale.short))


def estimate_ratio(cells: Cells, solution: Solution) -> Estimate:
    """Estimate arms and environments where the tide multiplies; `solution` is that of least squares.

    Adjusted means are what each arm would have had in every environment of its group in proportion to
    traffic; an environment's shift is its factor, 1 on average over that traffic. Variances by the delta
    method, at the steady rates.
    """
    pairs = multiplying_pairs(cells, solution.freedom)
    scale: Any = pairs.scale
    readout = read_factors(pairs, scale.theta, _shown(scale), pairs.covariance)
    return uniform(scale.theta, pairs.covariance, readout, float(solution.freedom), pairs, scale.component)


def read_factors(pairs: PairTests, theta: Floats, shown: Floats, C: Floats) -> Readout:
    """Return adjusted means and shifts where arms have the factors exp(theta), with covariance C.

    `pairs` are those of ratios, `shown` are the factors' logarithms that people see.
    """
    scale: Any = pairs.scale
    cells, component = scale.cells, scale.component
    at = np.zeros(cells.J, np.int64)
    at[cells.environment] = component[cells.arm]
    belongs = np.zeros((int(component.max()) + 1, cells.J))
    belongs[at, np.arange(cells.J)] = 1.0
    traffic = belongs @ cells.sizes

    def levels(factors: Floats) -> tuple[Floats, Floats]:
        """Return the rate of each environment, and what an arm with factor 1 would have had in its group."""
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
    relative = quadratic(C, share @ p, component) + (share**2 @ noise)[component]
    return Readout(
        np.exp(shown) * shown_level[component],
        steady**2 * relative,
        shift,
        shift**2 * (noise + np.sum(p @ C * p, axis=1)),
        steady,
    )


def _shown(scale: Multiplying) -> Floats:
    """Return the likeliest theta, -inf for an arm without an event; or the steady ones.

    Ratios of arms with events may be infinite, where arms met so seldom that one had all events: then those.
    """
    found, group = scale.found, scale.component
    eventful = np.isfinite(found.theta)
    of_class = np.full(int(group.max()) + 1, -1)
    of_class[group[eventful]] = found.component[eventful]
    if np.all(of_class[group[eventful]] == found.component[eventful]):
        return found.theta
    return scale.theta


def _steady(cells: Cells, own: Floats) -> ConditionalFit:
    """Solve with half an event more for each arm, spread over its cells as if all arms were equal.

    The size of an event is about the mean square over the mean of the rewards in its environment: 1 where
    rewards are 0 or 1, nearly the reward itself where none is 0.
    """
    overall = float(own.sum() / cells.n.sum())
    if overall == 0.0:
        raise InputError("scale='ratio' needs a reward above 0; all are 0")
    total = cells.by_environment(own)
    rate = (total + overall) / (cells.sizes + 1.0)  # above 0 without an event, too
    squares = cells.squares + cells.n * cells.mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(total > 0.0, cells.by_environment(squares) / total, squares.sum() / own.sum())
    size = size[cells.environment]
    events = cells.n * rate[cells.environment] / size  # that are expected if all arms are equal
    extra = 0.5 * size * events / cells.by_arm(events)[cells.arm]
    return solve_ratio(replace(cells, mean=(own + extra) / cells.n))
