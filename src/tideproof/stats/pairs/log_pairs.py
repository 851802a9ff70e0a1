"""Tests of the ratio of two lognormal means, from intervals for the mean and variance of the logarithms.

The mean of lognormal rewards is exp(m + v/2). The interval for m is Student's. The interval for v is that of
the chi-squared distribution: for an arm with few rewards it reaches much further upwards than downwards. The
distances of the two bounds from their estimates are combined by the root of the sum of squares (the MOVER
method).

References
----------
Zou, Huo, Taleb (2009), Simple confidence intervals for lognormal means and their differences.
"""

from __future__ import annotations

import math

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.best.student_inference import (
    normal_tail,
    pair_variances,
    root_between,
    student_from_normal,
)

_MOST = 37.0  # Largest z-score: beyond it tail probabilities underflow.


class LogPairs(Pairs):
    """Tests and confidence bounds for the log ratio of two arms' means, if rewards are lognormal.

    `covariance` and `freedom` belong to the means of the logarithms. `half` is half the variance of each
    arm's logarithms, and `of_half` holds its degrees of freedom.
    """

    def __init__(
        self, theta: Floats, covariance: Floats, freedom: Floats, half: Floats, of_half: Floats
    ) -> None:
        self._theta, self._freedom, self._half, self._of_half = theta, freedom, half, of_half
        self._se = np.sqrt(np.maximum(pair_variances(covariance), 0.0))

    def gap(self, i: int, k: int) -> float:
        """Return the estimated difference between the logarithms of two arm means, theta_i - theta_k."""
        return float(self._theta[i] - self._theta[k])

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the logarithms of two arm means differ by `gap`.

        It is NaN without degrees of freedom.
        """
        above = self.gap(i, k) - gap
        if above < 0.0:
            return -self.deviate(k, i, -gap)
        if math.isnan(self._reach(k, i, 1.0)):
            return math.nan
        high = 1.0
        while self._reach(k, i, high) < above:
            high *= 1.5
            if high > _MOST:
                return _MOST
        return root_between(0.0, high, lambda z: self._reach(k, i, z) - above)

    def enough(self, i: int, k: int) -> bool:
        """Return True, because a test of lognormal rewards needs no minimum number of rewards above 0."""
        return True

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of the log ratio of two arm means, at the normal quantile `z`.

        It is the log ratio with z-score -z.
        """
        return self.gap(i, k) + self._reach(i, k, z)

    def _reach(self, i: int, k: int, z: float) -> float:
        """Return how far the upper confidence bound of the log ratio of two means is above the estimate."""
        from scipy.special import gammainccinv, gammaincinv

        freedom, chance = float(self._freedom[i, k]), normal_tail(z)
        if not freedom:
            return math.nan
        parts = [student_from_normal(z, freedom) * float(self._se[i, k])]
        # Lower chi-squared tail for i, upper for k.
        for arm, quantile in ((i, gammaincinv), (k, gammainccinv)):
            nu = 0.5 * float(self._of_half[arm])
            ends = [nu / max(float(quantile(nu, p)), 1e-300) for p in (chance, 0.5)]
            parts.append(float(self._half[arm]) * (ends[0] - ends[1]))
        return math.hypot(*parts)
