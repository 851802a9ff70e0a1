"""Comparison of arms by ratios of means: an environment multiplies the rewards of all arms by one factor."""

from __future__ import annotations

from typing import Literal

from tideproof.analysis.scales.multiplicative_scale import MultiplicativeScale
from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.pairs.ratio_pairs import estimate_ratio
from tideproof.stats.solve.adjusted_means import log_scale_intervals, rate_intervals
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Variance


class RatioScale(MultiplicativeScale):
    """Model of each arm's share of the total reward in each environment, which determines ratios of means."""

    name: Literal["ratio"] = "ratio"
    exact = False

    def __init__(self, cells: Cells, solution: Solution, variance: Variance, adaptive: bool = False) -> None:
        found = estimate_ratio(cells, solution)
        assert isinstance(found.pairs, PairTests)
        super().__init__(cells, solution, found, found.pairs)

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means, with bounds above 0.

        Bounds of rates are also below 1.
        """
        return (rate_intervals if self._cells.binary else log_scale_intervals)(self.found, confidence)
