"""Comparisons by ratios of means and by odds ratios: an environment multiplies the means or odds of all arms.

Both estimate logarithms and use score tests.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tideproof.analysis.scales.scale_protocol import LeaveOneOut
from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity, lack_of_fit
from tideproof.stats.pairs.exact_pairs import ExactPairs, few_enough
from tideproof.stats.pairs.odds_pairs import estimate_odds
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.pairs.ratio_pairs import estimate_ratio
from tideproof.stats.solve.adjusted_means import log_scale_intervals, rate_intervals
from tideproof.stats.solve.environment_contrasts import EnvironmentGaps, paired_cells
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.equal_variance_test import Spread, unequal_variances
from tideproof.stats.variance.variance_models import Estimate, Variance


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
