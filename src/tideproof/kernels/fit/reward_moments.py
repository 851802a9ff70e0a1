"""Count, mean and squared deviations of each arm's rewards: all that shift-blind policies read.

Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.array_layout import FloatK, Int1
from tideproof.core.kernel_linker import kernel


class Moments(NamedTuple):
    """Raw rewards, environments ignored.

    Attributes
    ----------
    told : (K,) rewards told.
    mean : (K,) their mean; 0 where none was told.
    squares : (K,) their squared deviations from that mean.
    sums, weights : (K,) weighted sum of rewards and of weights, as the policy weighs them: inverse
        propensities, or 1 since the phase began.
    epoch : (1,) how often those two were begun anew.
    """

    told: FloatK
    mean: FloatK
    squares: FloatK
    sums: FloatK
    weights: FloatK
    epoch: Int1


@kernel
def record(moments, arm, n, mean, squares):
    """Add `n` rewards of `arm` with that mean and those squared deviations. O(1)."""
    before = moments.told[arm]
    total = before + n
    gap = mean - moments.mean[arm]
    moments.mean[arm] += gap * (n / total)
    moments.squares[arm] += squares + gap * gap * (before * n / total)
    moments.told[arm] = total


@kernel
def weigh_in(moments, arm, n, mean, weight):
    """Add `n` rewards of `arm` with that mean to the weighted sums. O(1)."""
    moments.sums[arm] += n * mean * weight
    moments.weights[arm] += n * weight


@kernel
def begin_anew(moments):
    """Forget the weighted sums: a new phase begins."""
    for i in range(moments.sums.size):
        moments.sums[i] = 0.0
        moments.weights[i] = 0.0
    moments.epoch[0] += 1
