"""The slot: what is known of one environment, and all a kernel ever sees of it.

The lab owns one slot and clears it when the environment changes; an `Experiment` owns one for each
label. "The environment changed" means, to a policy, that its slot is empty.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.array_access import add_at
from tideproof.core.array_layout import Float1, FloatK, Int1
from tideproof.core.kernel_linker import hole, kernel

CELLS = hole("CELLS")


class Slot(NamedTuple):
    """One environment.

    Attributes
    ----------
    counts : (K,) observations of each arm here, n_j.
    size : (1,) observations here, m_j.
    each : (1,) the share of one of them, 1/m_j: who needs it need not divide.
    mean : (1,) mean reward here, rbar_j.
    arm : (1,) an arm seen here; meaningless while the slot is empty.
    first : (1,) 1 if the experiment's first reward was told here: the paper's gauge.
    means : (K,) mean reward of each arm here; kept only for those who read "cells".
    sums, weights : (K,) weighted sums of rewards and weights of each arm here, and
    epoch : (1,) since when; kept only by `reduce`.
    """

    counts: FloatK
    size: Float1
    each: Float1
    mean: Float1
    arm: Int1
    first: Int1
    means: FloatK
    sums: FloatK
    weights: FloatK
    epoch: Int1


@kernel
def enter(slot, arm, n, mean):
    """Add `n` observations of `arm` with that mean to the slot."""
    slot.size[0] += n
    slot.each[0] = 1.0 / slot.size[0]
    slot.mean[0] += (mean - slot.mean[0]) * (n * slot.each[0])
    add_at(slot.counts, arm, n)
    slot.arm[0] = arm
    if CELLS:
        slot.means[arm] += (mean - slot.means[arm]) * (n / slot.counts[arm])


@kernel
def clear(slot):
    """Empty the slot: a new environment begins."""
    for i in range(slot.counts.size):
        slot.counts[i] = 0.0
        if CELLS:
            slot.means[i] = 0.0
            slot.sums[i] = 0.0
            slot.weights[i] = 0.0
    slot.size[0] = 0.0
    slot.each[0] = 0.0
    slot.mean[0] = 0.0
    slot.first[0] = 0
