"""Which arms can be the best: multiple comparisons with the best, with a known error rate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.arrays import Floats
from tideproof.stats.inference import critical_values, pair_variances


class Comparisons(NamedTuple):
    """How far each arm is above the best of the others, all intervals true at once.

    Attributes
    ----------
    estimate : (K,) muhat_i - max_{k != i} muhat_k.
    low, high : (K,) simultaneous limits of mu_i - max_{k != i} mu_k; one of them is 0 unless the data
        leave open on which side the arm is.
    candidate : (K,) whether the arm may be the best: it leads, or its upper limit is above 0.
    """

    estimate: Floats
    low: Floats
    high: Floats
    candidate: NDArray[np.bool_]


def compare_with_best(mu: Floats, C: Floats, freedom: Floats, level: float) -> Comparisons:
    """Compare each arm with the best of the others; the highest mean is the best.

    With d_i from `critical_values` the upper limit of arm i is max(0, min_k muhat_i - muhat_k +
    d_i se_ik). Arms with a positive one are candidates, among them the best with probability
    `level` at least: that event is Dunnett's for the best arm as the control, and on it the lower
    limits, min over the other candidates k of muhat_i - muhat_k - d_k se_ik, hold too.

    Parameters
    ----------
    mu, C : estimates of connected arms and their covariance.
    freedom : (K,) degrees of freedom of the comparisons with each arm.
    level : probability that all intervals hold.

    References
    ----------
    Hsu (1984), Constrained simultaneous confidence intervals for multiple comparisons with the best;
    Hsu (1996), Multiple Comparisons, section 7.3, for unequal covariances.
    """
    se = np.sqrt(np.maximum(pair_variances(C), 0.0))
    gap = mu[:, None] - mu
    np.fill_diagonal(gap, np.inf)
    estimate = gap.min(axis=1)
    if not np.all(np.isfinite(C)):
        unknown = np.full(mu.size, np.nan)
        return Comparisons(estimate, unknown, unknown, np.ones(mu.size, bool))
    d = critical_values(C, freedom, level)
    high = np.maximum(0.0, (gap + d[:, None] * se).min(axis=1))
    candidate = (high > 0.0) | (estimate >= 0.0)  # the leader always is
    reach = np.where(candidate, gap - d * se, np.inf)
    np.fill_diagonal(reach, np.inf)
    low = reach.min(axis=1)
    low = np.minimum(0.0, np.where(np.isinf(low), 0.0, low))
    return Comparisons(estimate, low, high, candidate)
