"""Pair tests from estimates and standard errors (Wald tests), exact for normal noise."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.best.comparisons_with_best import Pairs
from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.pairs.skewed_tails import normal_from_student, student_from_normal


class WaldPairs(Pairs):
    """Student-t tests and confidence bounds for mu_i - mu_k."""

    def __init__(self, mu: Floats, covariance: Floats, freedom: Floats) -> None:
        self.mu, self._freedom = mu, freedom
        self._se = np.sqrt(np.maximum(pair_variances(covariance), 0.0))

    @property
    def quick(self) -> bool:
        """True: a test takes only a few operations."""
        return True

    def gap(self, i: int, k: int) -> float:
        """Return the estimate of mu_i - mu_k."""
        return float(self.mu[i] - self.mu[k])

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score of the hypothesis mu_i - mu_k = gap; NaN for 0 degrees of freedom."""
        above, freedom = self.gap(i, k) - gap, float(self._freedom[i, k])
        with np.errstate(divide="ignore", invalid="ignore"):
            t = float(np.divide(above, self._se[i, k])) if above else 0.0
        return normal_from_student(t, freedom) if freedom else np.nan

    def enough(self, i: int, k: int) -> bool:
        """Return True: the test relies on the assumed variance and needs no minimum number of events."""
        return True

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of mu_i - mu_k: the gap whose z-score is -z."""
        freedom = float(self._freedom[i, k])
        return self.gap(i, k) + student_from_normal(z, freedom) * float(self._se[i, k]) if freedom else np.nan
