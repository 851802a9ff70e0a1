"""What experiment platforms do about shifts: averages over environments, as running sums.

An environment's share in each sum is taken out before it receives a reward and put back after, so
environments may come back. Both are baselines: fixed effects use the same data better.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.array_layout import FloatK
from tideproof.core.kernel_linker import kernel


class Periods(NamedTuple):
    """Weighted sums over environments.

    Attributes
    ----------
    top, bottom : (K,) sum_j m_j xbar_ij and sum_j m_j over the environments that saw the arm.
    versus, share : (K,) sum_j w_ij (xbar_ij - xbar_cj) and sum_j w_ij, with the weights
        w_ij = n_ij n_cj/(n_ij + n_cj) and c the first arm, the control.
    """

    top: FloatK
    bottom: FloatK
    versus: FloatK
    share: FloatK


@kernel
def weigh_period(periods, slot, sign):
    """Put this environment's share into the period-weighted means, or take it out (sign -1)."""
    weight = sign * slot.size[0]
    for i in range(periods.top.size):
        if slot.counts[i] > 0.0:
            periods.top[i] += weight * slot.means[i]
            periods.bottom[i] += weight


@kernel
def weigh_control(periods, slot, sign):
    """Put this environment's share into the differences to the control, or take it out."""
    control = slot.counts[0]
    if control > 0.0:
        for i in range(1, periods.versus.size):
            n = slot.counts[i]
            if n > 0.0:
                weight = sign * n * control / (n + control)
                periods.versus[i] += weight * (slot.means[i] - slot.means[0])
                periods.share[i] += weight
