"""Comparison of arms by differences in a log without environments, whose tide was estimated over time."""

from __future__ import annotations

from typing import Literal, NoReturn

from tideproof.core.kernel_state_arrays import Floats
from tideproof.errors import InputError
from tideproof.stats.solve.adjusted_means import EnvironmentGaps, environment_gaps, student_mean_intervals
from tideproof.stats.tide.hidden_tide_estimate import UnlabelledTideFit
from tideproof.stats.variance.cell_variances import Spread, unequal_variances


class HiddenTideScale:
    """Comparison of arms by differences of means, after an estimated hidden tide is removed."""

    name: Literal["difference"] = "difference"
    exact = False

    def __init__(self, followed: UnlabelledTideFit) -> None:
        self._followed, self.found = followed, followed.found

    def shown(self, values: Floats) -> Floats:
        """Return differences between arms unchanged, because this is the form that users read."""
        return values

    def means(self, confidence: float) -> dict[str, Floats]:
        """Return standard errors and confidence intervals of adjusted means."""
        return student_mean_intervals(self.found, confidence)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return the difference of the means of arms `i` and `k`, without the tide, in each time segment."""
        return environment_gaps(self._followed.still, self._followed.noise(), i, k)

    def additivity(self, worst: int) -> NoReturn:
        """Raise an error, because a test for equal shifts in all arms needs a log with environments."""
        raise self._needs_labels("additivity()")

    def spread(self) -> Spread:
        """Test whether all arms, and all time segments, have the same variance."""
        return unequal_variances(self._followed.still)

    def left_out(self) -> NoReturn:
        """Raise an error, because a log without environments has no environment that could be left out."""
        raise self._needs_labels("influence()")

    def _needs_labels(self, what: str) -> InputError:
        """Return the error for an analysis that a log without environments does not allow."""
        return InputError(f"{what} requires a log with environments, but this fit has a hidden tide")
