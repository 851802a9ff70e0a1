"""Scales on which arms can be compared in a log with environments: differences, ratios, odds and logarithms.

With differences, an environment adds the same shift to all arms. With ratios and odds, it multiplies the
means or odds of all arms: both estimate logarithms and use score tests. With logarithms of rewards above 0,
shift and noise multiply the reward.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tideproof.analysis.scales.scale_protocol import LeaveOneOut
from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import (
    Additivity,
    additivity,
    lack_of_fit,
    weighted_additivity,
)
from tideproof.stats.pairs.exact_pairs import ExactPairs, few_enough
from tideproof.stats.pairs.odds_pairs import estimate_odds
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.pairs.ratio_pairs import estimate_ratio
from tideproof.stats.scales.reward_logarithms import estimate_log, log_means, require_logs
from tideproof.stats.solve.adjusted_means import (
    EnvironmentGaps,
    environment_gaps,
    leave_one_out_effects,
    log_scale_intervals,
    paired_cells,
    rate_intervals,
    student_mean_intervals,
)
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.cell_variances import Spread, unequal_variances
from tideproof.stats.variance.variance_models import MODELS, Estimate, Variance, estimate, model_of
from tideproof.table import Table


class MultiplicativeScale:
    """Model in which an environment multiplies the means (or odds) of all arms, fitted by score equations.

    The equations are conditional on the totals of the environments.
    """

    of_odds = False

    def __init__(self, cells: Cells, solution: Solution, found: Estimate) -> None:
        assert isinstance(found.pairs, PairTests)
        self._cells, self._solution, self._tests = cells, solution, found.pairs
        self.found = found

    def shown(self, values: Floats) -> Floats:
        """Return logarithms of ratios as lifts, the form that users read: log(1.12) becomes 0.12."""
        return to_lift(values)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the log ratio of the means (or odds) of arms `i` and `k` in each environment with both."""
        c = self._cells
        x, y = paired_cells(c, i, k)
        with np.errstate(divide="ignore", invalid="ignore"):
            other = 1.0 - c.mean if self.of_odds else np.ones(c.n.size)
            value = np.log(c.mean / other)
            relative = self._tests.variance / (c.n * (c.mean * other) ** 2)
            gap = value[x] - value[y]
        gap[~np.isfinite(gap)] = np.nan  # One of the arms had no event.
        total = np.where(np.isnan(gap), np.nan, relative[x] + relative[y])
        return EnvironmentGaps(c.environment[x], gap, total, np.full(gap.size, float(self._solution.freedom)))

    def additivity(self, worst: int) -> Additivity:
        """Test whether environments affect all arms by the same factor, using the residuals of the fit."""
        return lack_of_fit(self._cells, self._solution, self._tests, worst)

    def spread(self) -> Spread:
        """Test whether all arms, and all environments, have the same variance of rewards."""
        return unequal_variances(self._cells)

    def left_out(self) -> LeaveOneOut:
        """Return estimates of the arms from all environments and, approximately, without each one in turn.

        To first order, the estimates without an environment are those from all minus P times its score.
        """
        c = self._cells
        scale: Any = self._tests.scale
        score = np.zeros((c.J, c.K))
        score[c.environment, c.arm] = scale.sums - c.n * scale.fitted
        return LeaveOneOut(self.found.mu, np.asarray(self.found.mu - score @ scale.P))


class RatioScale(MultiplicativeScale):
    """Model of each arm's share of the total reward in each environment, which determines ratios of means."""

    name: Literal["ratio"] = "ratio"
    exact = False

    def __init__(self, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> None:
        super().__init__(cells, solution, estimate_ratio(cells, solution))

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means, with bounds above 0.

        Bounds of rates are also below 1.
        """
        return (rate_intervals if self._cells.binary else log_scale_intervals)(self.found, confidence)


class OddsScale(MultiplicativeScale):
    """Conditional logistic model of 0/1 rewards; with few events, two arms are compared by an exact test."""

    name: Literal["odds"] = "odds"
    of_odds = True

    def __init__(self, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> None:
        super().__init__(cells, solution, estimate_odds(cells, solution))
        self.exact = few_enough(cells) and not cells.dependent
        if self.exact:
            self.found = replace(self.found, pairs=ExactPairs(self._tests))

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted rates, which stay between 0 and 1."""
        return rate_intervals(self.found, confidence)


def to_lift(values: Floats) -> Floats:
    """Return the lift exp(x) - 1 for the logarithm x of a ratio; values that overflow become infinite.

    >>> to_lift(np.log([1.5, 1.0])).tolist(), float(to_lift(np.array(1e4)))
    ([0.5, 0.0], inf)
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(values))


class DifferenceScale:
    """Least-squares fit of arm means and additive shifts of environments, with a model of the variance."""

    name: Literal["difference"] = "difference"
    exact = False

    def __init__(self, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> None:
        self._cells, self._solution = cells, solution
        self.found = estimate(cells, solution, variance, adaptive)
        self._model = model_of(variance, adaptive)
        self._rates = cells.binary and (variance == "paired" or isinstance(self.found.pairs, PairTests))

    def shown(self, values: Floats) -> Floats:
        """Return differences between arms unchanged, because this is the form that users read."""
        return values

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means; rates stay between 0 and 1."""
        return (rate_intervals if self._rates else student_mean_intervals)(self.found, confidence)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the difference of the means of arms `i` and `k` in each environment that contains both."""
        noise = self._model.cell_noise(self._cells, self._solution, self.found)
        return environment_gaps(self._cells, noise, i, k)

    def additivity(self, worst: int) -> Additivity:
        """Test whether environments shift all arms equally, with the test that suits the variance model."""
        pools, pairs = self._model.pools, self.found.pairs
        if pools is not None:
            return weighted_additivity(self._cells, pools(self._cells), worst)
        if self._rates and isinstance(pairs, PairTests):
            return lack_of_fit(self._cells, self._solution, pairs, worst)
        return additivity(self._cells, self._solution, worst)

    def spread(self) -> Spread:
        """Test whether all arms, and all environments, have the same variance of rewards."""
        return unequal_variances(self._cells)

    def left_out(self) -> LeaveOneOut:
        """Return the arm means estimated from all environments, and with each environment left out in turn.

        A model with interactions uses its own weights.
        """
        if (mixed := self.found.mixed) is not None:
            return LeaveOneOut(mixed.solution.mu, leave_one_out_effects(mixed.cells, mixed.solution))
        return LeaveOneOut(self._solution.mu, leave_one_out_effects(self._cells, self._solution))


class LogScale:
    """Least-squares fit of arms and environments to the logarithms of rewards."""

    name: Literal["log"] = "log"
    exact = False

    def __init__(self, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> None:
        self._logs = require_logs(cells)
        self._solution = self._logs.solution
        self.found = estimate_log(cells, self._solution)
        self._half = log_means(self._logs, self._solution).half

    def shown(self, values: Floats) -> Floats:
        """Return logarithms of ratios as lifts, the form that users read: log(1.12) becomes 0.12."""
        return to_lift(values)

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means, which stay above 0."""
        return log_scale_intervals(self.found, confidence)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the log ratio of the means of arms `i` and `k` in each environment that contains both.

        Ratios of geometric means are corrected to ratios of means, as those of the arms are.
        """
        of_logs = estimate(self._logs, self._solution, "auto")
        found = environment_gaps(
            self._logs, MODELS["auto"].cell_noise(self._logs, self._solution, of_logs), i, k
        )
        return found._replace(estimate=found.estimate + self._half[i] - self._half[k])

    def additivity(self, worst: int) -> Additivity:
        """Test whether environments shift the logarithms of rewards equally for all arms.

        The means of the cells furthest from the model are given as geometric means.
        """
        found = additivity(self._logs, self._solution, worst)
        columns = {name: found.worst[name] for name in found.worst.columns}
        columns |= {name: [math.exp(x) for x in columns[name]] for name in ("mean", "expected")}
        return replace(found, worst=Table(columns))

    def spread(self) -> Spread:
        """Test whether logarithms of rewards have the same variance in all arms and in all environments."""
        return unequal_variances(self._logs)

    def left_out(self) -> LeaveOneOut:
        """Return logarithms of arm means, from all environments and with each one left out in turn."""
        return LeaveOneOut(self.found.mu, leave_one_out_effects(self._logs, self._solution) + self._half)
