"""Averages over environments, as experiment platforms compute them to correct for shifts.

The contribution of an environment to each sum is subtracted before it receives a reward and added back
after it, so that environments may return. Both averages are baselines: fixed effects use the same data
better.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK


class Periods(NamedTuple):
    """Sums over environments, from which each arm's average and its difference from the control follow.

    Attributes
    ----------
    top, bottom : (K,) sum_j m_j xbar_ij and sum_j m_j over the environments with the arm.
    versus, share : (K,) sum_j w_ij (xbar_ij - xbar_cj) and sum_j w_ij, with the weights
        w_ij = n_ij n_cj/(n_ij + n_cj) and c the first arm, the control.
    """

    top: FloatK
    bottom: FloatK
    versus: FloatK
    share: FloatK


@kernel
def weigh_period(periods, slot, sign):
    """Add (sign 1) or subtract (sign -1) an environment's contribution to the arms' averages.

    Its means count with the number of observations in the environment as their weight.
    """
    weight = sign * slot.size[0]
    for i in range(periods.top.size):
        if slot.counts[i] > 0.0:
            periods.top[i] += weight * slot.means[i]
            periods.bottom[i] += weight


@kernel
def weigh_control(periods, slot, sign):
    """Add (sign 1) or subtract (sign -1) an environment's contribution to differences from the control."""
    control = slot.counts[0]
    if control > 0.0:
        for i in range(1, periods.versus.size):
            n = slot.counts[i]
            if n > 0.0:
                weight = sign * n * control / (n + control)
                periods.versus[i] += weight * (slot.means[i] - slot.means[0])
                periods.share[i] += weight
