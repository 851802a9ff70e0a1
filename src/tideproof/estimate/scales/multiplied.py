"""What the scales of ratios and of odds share: values are logarithms, and tests go by the score."""

from __future__ import annotations

from typing import Any

from tideproof.core.arrays import Floats
from tideproof.estimate.scales.lifted import lifted
from tideproof.estimate.scales.on_scale import LeftOut
from tideproof.stats.additivity import Additivity
from tideproof.stats.cell_checks import lack_of_fit, log_gaps, without_each_environment
from tideproof.stats.cells import Cells
from tideproof.stats.gaps import Gaps, meetings
from tideproof.stats.noise import Estimate
from tideproof.stats.pair_tests import PairTests
from tideproof.stats.solve import Solution
from tideproof.stats.variances import Spread, unequal_variances


class Multiplied:
    """A fit by the score, given the totals of the environments."""

    lifts = True
    of_odds = False

    def __init__(self, cells: Cells, solution: Solution, found: Estimate, tests: PairTests) -> None:
        self._cells, self._solution, self._tests = cells, solution, tests
        self.found = found

    def shown(self, values: Floats) -> Floats:
        """Return lifts."""
        return lifted(values)

    def gaps(self, i: int, k: int) -> Gaps:
        """Return logarithms of the ratios of two cells."""
        both = meetings(self._cells, i, k)
        return log_gaps(self._cells, self._tests, self.of_odds, *both, float(self._solution.freedom))

    def additivity(self, worst: int) -> Additivity:
        """Test the cells around what is expected of them."""
        return lack_of_fit(self._cells, self._solution, self._tests, worst)

    def spread(self) -> Spread:
        """Test the variances inside cells."""
        return unequal_variances(self._cells)

    def left_out(self) -> LeftOut:
        """Return what leaving out each environment would change, to first order."""
        scale: Any = self._tests.scale
        return LeftOut(self.found.mu, without_each_environment(self._cells, scale))
