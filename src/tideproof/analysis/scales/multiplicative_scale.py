"""Base class of comparisons by ratios and by odds ratios, which estimate logarithms and use score tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from tideproof.analysis.scales.scale_protocol import LeaveOneOut
from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.lack_of_fit import lack_of_fit, leave_one_out_theta, log_environment_gaps
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.environment_contrasts import EnvironmentGaps, paired_cells
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.equal_variance_test import Spread, unequal_variances
from tideproof.stats.variance.variance_models import Estimate


class MultiplicativeScale:
    """Model in which an environment multiplies the means (or odds) of all arms, fitted by score equations.

    The equations are conditional on the totals of the environments.
    """

    of_odds = False

    def __init__(self, cells: Cells, solution: Solution, found: Estimate, tests: PairTests) -> None:
        self._cells, self._solution, self._tests = cells, solution, tests
        self.found = found

    def shown(self, values: Floats) -> Floats:
        """Return logarithms of ratios as lifts, the form that users read: log(1.12) becomes 0.12."""
        return to_lift(values)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the log ratio of the means (or odds) of arms `i` and `k` in each environment with both."""
        both = paired_cells(self._cells, i, k)
        return log_environment_gaps(
            self._cells, self._tests, self.of_odds, *both, float(self._solution.freedom)
        )

    def additivity(self, worst: int) -> Additivity:
        """Test whether environments affect all arms by the same factor, using the residuals of the fit."""
        return lack_of_fit(self._cells, self._solution, self._tests, worst)

    def spread(self) -> Spread:
        """Test whether all arms, and all environments, have the same variance of rewards."""
        return unequal_variances(self._cells)

    def left_out(self) -> LeaveOneOut:
        """Return estimates of the arms from all environments and, approximately, without each one in turn."""
        scale: Any = self._tests.scale
        return LeaveOneOut(self.found.mu, leave_one_out_theta(self._cells, scale))


def to_lift(values: Floats) -> Floats:
    """Return the lift exp(x) - 1 for the logarithm x of a ratio; values that overflow become infinite.

    >>> to_lift(np.log([1.5, 1.0])).tolist(), float(to_lift(np.array(1e4)))
    ([0.5, 0.0], inf)
    """
    with np.errstate(over="ignore"):
        return np.asarray(np.expm1(values))
