"""Count, mean and squared deviations of each arm's rewards: all that shift-blind policies read.

Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.kernels._arrays import FloatK
from tideproof.kernels._link import kernel


class Moments(NamedTuple):
    """Raw rewards, environments ignored.

    Attributes
    ----------
    told : (K,) rewards told.
    mean : (K,) their mean; 0 where none was told.
    squares : (K,) their squared deviations from that mean.
    """

    told: FloatK
    mean: FloatK
    squares: FloatK


@kernel
def record(moments, arm, n, mean, squares):
    """Add `n` rewards of `arm` with that mean and those squared deviations. O(1)."""
    before = moments.told[arm]
    total = before + n
    gap = mean - moments.mean[arm]
    moments.mean[arm] += gap * (n / total)
    moments.squares[arm] += squares + gap * gap * (before * n / total)
    moments.told[arm] = total
