"""Ratios of means: an environment multiplies the rewards of all arms by one factor."""

from __future__ import annotations

from typing import Literal

from tideproof.core.arrays import Floats
from tideproof.estimate.scales.means import factor_limits, rate_limits
from tideproof.estimate.scales.multiplied import Multiplied
from tideproof.stats.cells import Cells
from tideproof.stats.multiplying import estimate_ratio
from tideproof.stats.noise import Variance
from tideproof.stats.pair_tests import PairTests
from tideproof.stats.solve import Solution


class Ratio(Multiplied):
    """Shares of the totals of the environments."""

    name: Literal["ratio"] = "ratio"
    exact = False

    def __init__(self, cells: Cells, solution: Solution, variance: Variance) -> None:
        found = estimate_ratio(cells, solution)
        assert isinstance(found.pairs, PairTests)
        super().__init__(cells, solution, found, found.pairs)

    def means(self, level: float) -> dict[str, Floats]:
        """Return limits of adjusted means: above 0, and rates below 1."""
        return (rate_limits if self._cells.binary else factor_limits)(self.found, level)
