"""Slot: counts and means of the rewards in one environment, which are all that kernels know of it.

The lab has one slot and clears it when the environment changes. An `Experiment` has one slot for each
environment. A policy recognises a new environment by its empty slot.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.array_access import add_at
from tideproof.core.array_layout import Float1, FloatK, Int1
from tideproof.core.kernel_linker import hole, kernel

CELLS = hole("CELLS")


class Slot(NamedTuple):
    """Counts and means of the rewards in one environment.

    Attributes
    ----------
    counts : (K,) number of observations of each arm, n_j.
    size : (1,) number of observations, m_j.
    each : (1,) 1/m_j, stored so that kernels need no division.
    mean : (1,) mean reward, rbar_j.
    arm : (1,) an arm that was observed in this environment; undefined while the slot is empty.
    first : (1,) 1 if this is the environment of the experiment's first reward, the paper's gauge.
    means : (K,) mean reward of each arm; computed only for policies that read "cells".
    sums, weights : (K,) weighted sum of rewards, and sum of weights, of each arm, and
    epoch : (1,) the epoch of these sums; computed only for `reduce`.
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
    """Add `n` observations of `arm` with the given mean to an environment's statistics, the slot."""
    slot.size[0] += n
    slot.each[0] = 1.0 / slot.size[0]
    slot.mean[0] += (mean - slot.mean[0]) * (n * slot.each[0])
    add_at(slot.counts, arm, n)
    slot.arm[0] = arm
    if CELLS:
        slot.means[arm] += (mean - slot.means[arm]) * (n / slot.counts[arm])


@kernel
def clear(slot):
    """Reset the statistics of an environment, the slot, for a new environment."""
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
