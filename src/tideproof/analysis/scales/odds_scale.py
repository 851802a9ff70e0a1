"""Comparison of arms by odds ratios of 0/1 rewards: an environment multiplies the odds of all arms."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from tideproof.analysis.scales.multiplicative_scale import MultiplicativeScale
from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.exact_pairs import ExactPairs, few_enough
from tideproof.stats.pairs.odds_pairs import estimate_odds
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.adjusted_means import rate_intervals
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Variance


class OddsScale(MultiplicativeScale):
    """Conditional logistic model of 0/1 rewards; with few events, two arms are compared by an exact test."""

    name: Literal["odds"] = "odds"
    of_odds = True

    def __init__(self, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> None:
        found = estimate_odds(cells, solution)
        assert isinstance(found.pairs, PairTests)
        super().__init__(cells, solution, found, found.pairs)
        self.exact = few_enough(cells)
        if self.exact:
            self.found = replace(found, pairs=ExactPairs(found.pairs))

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted rates, which stay between 0 and 1."""
        return rate_intervals(self.found, confidence)
