"""Comparison of arms by differences of means: an environment adds the same shift to all arms."""

from __future__ import annotations

from typing import Literal

from tideproof.analysis.scales.scale_protocol import LeaveOneOut
from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import (
    Additivity,
    additivity,
    lack_of_fit,
    weighted_additivity,
)
from tideproof.stats.pairs.pair_tests import PairTests
from tideproof.stats.solve.adjusted_means import rate_intervals, student_mean_intervals
from tideproof.stats.solve.environment_contrasts import (
    EnvironmentGaps,
    environment_gaps,
    leave_one_out_effects,
)
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.equal_variance_test import Spread, unequal_variances
from tideproof.stats.variance.variance_models import Variance, estimate, model_of


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
