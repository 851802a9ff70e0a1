"""What the scales of ratios and of odds share: values are logarithms, and tests go by the score."""

from __future__ import annotations

from typing import Any

from tideproof.analysis.scales.log_lifts import lifted
from tideproof.analysis.scales.scale_protocol import LeaveOneOut
from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import Additivity
from tideproof.stats.diagnostics.lack_of_fit import lack_of_fit, log_gaps, without_each_environment
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.environment_contrasts import EnvironmentGaps, meetings
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.equal_variance_test import Spread, unequal_variances
from tideproof.stats.variance.variance_models import Estimate


class MultiplicativeScale:
    """A fit by the score, given the totals of the environments."""

    lifts = True
    of_odds = False

    def __init__(self, cells: Cells, solution: Solution, found: Estimate, tests: PairTests) -> None:
        self._cells, self._solution, self._tests = cells, solution, tests
        self.found = found

    def shown(self, values: Floats) -> Floats:
        """Return lifts."""
        return lifted(values)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return logarithms of the ratios of two cells."""
        both = meetings(self._cells, i, k)
        return log_gaps(self._cells, self._tests, self.of_odds, *both, float(self._solution.freedom))

    def additivity(self, worst: int) -> Additivity:
        """Test the cells around what is expected of them."""
        return lack_of_fit(self._cells, self._solution, self._tests, worst)

    def spread(self) -> Spread:
        """Test the variances inside cells."""
        return unequal_variances(self._cells)

    def left_out(self) -> LeaveOneOut:
        """Return what leaving out each environment would change, to first order."""
        scale: Any = self._tests.scale
        return LeaveOneOut(self.found.mu, without_each_environment(self._cells, scale))
