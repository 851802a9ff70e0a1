"""Pairs of arms by means and variances of logarithms: limits of the two are put together.

The mean of lognormal rewards is exp(m + v/2). Limits of m are Student's, those of v are chi-square's: far
wider upwards than downwards for an arm with few rewards. Limits of the sum lie as far from it as the root
of the squares of those distances.

References
----------
Zou, Huo, Taleb (2009), Simple confidence intervals for lognormal means and their differences.
"""

from __future__ import annotations

import math

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.best.comparisons_with_best import Pairs
from tideproof.stats.best.student_inference import normal_tail, pair_variances, root_between
from tideproof.stats.pairs.skewed_tails import student_from_normal

_MOST = 37.0  # deviates; of larger ones the probability is no number


class LogPairs(Pairs):
    """Tests and limits of theta_i - theta_k, theta the logarithm of a mean.

    `covariance` and `freedom` are of the means of logarithms, `half` is half the variance of each arm's
    logarithms, known on `of_half` degrees of freedom.
    """

    def __init__(
        self, theta: Floats, covariance: Floats, freedom: Floats, half: Floats, of_half: Floats
    ) -> None:
        self._theta, self._freedom, self._half, self._of_half = theta, freedom, half, of_half
        self._se = np.sqrt(np.maximum(pair_variances(covariance), 0.0))

    def gap(self, i: int, k: int) -> float:
        """Return the estimate."""
        return float(self._theta[i] - self._theta[k])

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return a standard normal number if theta_i - theta_k = gap; high if it is more. NaN if unknown."""
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
        """Return True: there is nothing rare to be counted."""
        return True

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_i - theta_k does not exceed: there the deviate has fallen to -z."""
        return self.gap(i, k) + self._reach(i, k, z)

    def _reach(self, i: int, k: int, z: float) -> float:
        """Return how far the upper limit is above the estimate."""
        from scipy.special import gammainccinv, gammaincinv

        freedom, chance = float(self._freedom[i, k]), normal_tail(z)
        if not freedom:
            return math.nan
        parts = [student_from_normal(z, freedom) * float(self._se[i, k])]
        for arm, quantile in ((i, gammaincinv), (k, gammainccinv)):  # of chi-square: low for i, high for k
            nu = 0.5 * float(self._of_half[arm])
            ends = [nu / max(float(quantile(nu, p)), 1e-300) for p in (chance, 0.5)]
            parts.append(float(self._half[arm]) * (ends[0] - ends[1]))
        return math.hypot(*parts)
