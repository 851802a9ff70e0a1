"""Differences of arms whose tide nobody labelled: it was followed by time and taken out."""

from __future__ import annotations

from typing import Literal, NoReturn

from tideproof.analysis.scales.mean_intervals import plain_limits
from tideproof.core.array_layout import Floats
from tideproof.errors import InputError
from tideproof.stats.solve.environment_contrasts import EnvironmentGaps, gaps
from tideproof.stats.tide.unlabelled_tide import TideFit
from tideproof.stats.variance.equal_variance_test import Spread, unequal_variances


class FollowedDifference:
    """Differences, as a followed tide leaves them."""

    name: Literal["difference"] = "difference"
    lifts = False
    exact = False

    def __init__(self, followed: TideFit) -> None:
        self._followed, self.found = followed, followed.found

    def shown(self, values: Floats) -> Floats:
        """Return differences as they are."""
        return values

    def means(self, level: float) -> dict[str, Floats]:
        """Return limits of adjusted means."""
        return plain_limits(self.found, level)

    def gaps(self, i: int, k: int) -> EnvironmentGaps:
        """Return how far arm i was above arm k in each piece of time, the tide taken out."""
        return gaps(self._followed.still, self._followed.noise(), i, k)

    def additivity(self, worst: int) -> NoReturn:
        """Refuse: without labels nothing says what belongs together."""
        raise self._needs_labels("a test of additivity")

    def spread(self) -> Spread:
        """Test the variances inside pieces of time, the tide taken out."""
        return unequal_variances(self._followed.still)

    def left_out(self) -> NoReturn:
        """Refuse: no piece of time is an environment."""
        raise self._needs_labels("leaving environments out")

    def _needs_labels(self, what: str) -> InputError:
        return InputError(f"{what} needs labels of environments; the tide of this fit is hidden")
