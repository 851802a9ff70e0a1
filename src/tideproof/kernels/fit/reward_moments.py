"""Count, mean and squared deviations of each arm's rewards, for policies that ignore shifts.

Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.array_layout import FloatK, Int1
from tideproof.core.kernel_linker import kernel


class Moments(NamedTuple):
    """Moments of the raw rewards of each arm, over all environments.

    Attributes
    ----------
    told : (K,) number of rewards.
    mean : (K,) their mean; 0 without rewards.
    squares : (K,) their squared deviations from that mean.
    sums, weights : (K,) weighted sum of rewards and sum of weights. The policy defines the weights: inverse
        propensities, or 1 since the start of the phase.
    epoch : (1,) how often these two sums were reset.
    """

    told: FloatK
    mean: FloatK
    squares: FloatK
    sums: FloatK
    weights: FloatK
    epoch: Int1


@kernel
def record(moments, arm, n, mean, squares):
    """Add `n` rewards of `arm` with the given mean and squared deviations to the moments. O(1)."""
    before = moments.told[arm]
    total = before + n
    gap = mean - moments.mean[arm]
    moments.mean[arm] += gap * (n / total)
    moments.squares[arm] += squares + gap * gap * (before * n / total)
    moments.told[arm] = total


@kernel
def weigh_in(moments, arm, n, mean, weight):
    """Add `n` rewards of `arm` with the given mean to the weighted sums of rewards. O(1)."""
    moments.sums[arm] += n * mean * weight
    moments.weights[arm] += n * weight


@kernel
def begin_anew(moments):
    """Reset the weighted sums of rewards at the start of a new phase."""
    for i in range(moments.sums.size):
        moments.sums[i] = 0.0
        moments.weights[i] = 0.0
    moments.epoch[0] += 1
