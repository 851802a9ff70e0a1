"""Odds of a 1 against a 0: an environment multiplies those of all arms by one factor."""

from __future__ import annotations

from typing import Literal

from tideproof.core.arrays import Floats
from tideproof.estimate.scales.means import rate_limits
from tideproof.estimate.scales.multiplied import Multiplied
from tideproof.stats.cells import Cells
from tideproof.stats.exact_pairs import ExactPairs, few_enough
from tideproof.stats.noise import Variance
from tideproof.stats.odds_pairs import estimate_odds
from tideproof.stats.pair_tests import PairTests
from tideproof.stats.solve import Solution


class Odds(Multiplied):
    """The conditional likelihood; of two arms with few events its distribution itself."""

    name: Literal["odds"] = "odds"
    of_odds = True

    def __init__(self, cells: Cells, solution: Solution, variance: Variance) -> None:
        found = estimate_odds(cells, solution)
        assert isinstance(found.pairs, PairTests)
        super().__init__(cells, solution, found, found.pairs)
        self.exact = few_enough(cells)
        if self.exact:
            self.found = found._replace(pairs=ExactPairs(found.pairs))

    def means(self, level: float) -> dict[str, Floats]:
        """Return limits of adjusted rates, between 0 and 1."""
        return rate_limits(self.found, level)
