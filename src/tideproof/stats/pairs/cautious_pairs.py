"""Tests of two arms that conclude only what two other tests of the same arms both conclude."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.multiple_comparisons import Pairs


class CautiousPairs(Pairs):
    """Tests of two arms whose z-score is the one nearest to 0 of two tests, one of which counts for more.

    It is 0 if the two tests disagree on the sign, so that it belongs to the interval that covers both.

    Parameters
    ----------
    first : the tests that decide as a rule.
    second : tests that must agree at a lower confidence level: their z-scores are multiplied by `ease`.
    ease : factor, 1 or more.
    """

    def __init__(self, first: Pairs, second: Pairs, ease: float) -> None:
        self.first, self.second, self._ease = first, second, ease

    @property
    def scale(self) -> Any:
        """The fitted scale of comparison, such as ratios, that both tests share."""
        tests: Any = self.second
        return tests.scale

    @property
    def quick(self) -> bool:
        """True if testing many pairs of arms takes little longer than testing a few."""
        return self.first.quick and self.second.quick

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm i minus that of arm k, theta_i - theta_k."""
        return self.second.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the effects of two arms differ by `gap`; NaN if unknown."""
        first = self.first.deviate(i, k, gap)
        if math.isnan(first):
            return first
        second = self._ease * self.second.deviate(i, k, gap)
        if first * second < 0.0:
            return 0.0
        return first if abs(first) <= abs(second) else second

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self.second.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of arm i's effect minus arm k's, at the normal quantile `z`."""
        first, second = self.first.upper(i, k, z), self.second.upper(i, k, z / self._ease)
        return math.nan if math.isnan(first) or math.isnan(second) else max(first, second)

    def deviates(self, i: Ints, k: Ints) -> Floats:
        """Return the z-scores of many pairs of arms for the hypothesis of no difference."""
        first, second = self.first.deviates(i, k), self._ease * self.second.deviates(i, k)
        found = np.where(np.abs(first) <= np.abs(second), first, second)
        return np.where(np.isnan(first), first, np.where(first * second < 0.0, 0.0, found))

    def uppers(self, i: Ints, k: Ints, z: Floats) -> Floats:
        """Return the upper confidence bounds of the differences of many pairs of arms."""
        return np.maximum(self.first.uppers(i, k, z), self.second.uppers(i, k, z / self._ease))
