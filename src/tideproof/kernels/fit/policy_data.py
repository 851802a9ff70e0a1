"""Statistics that a policy may read, and the compilable functions that update all of them for each reward.

`Data` has the statistics of all rewards: pulls, moments of raw rewards, and the fixed-effects fit. `Slot` has
those of one environment, which are all that kernels know of it. The lab has one slot and clears it when the
environment changes; an `Experiment` has one slot for each environment. A policy recognises a new environment
by its empty slot.

Policies receive rewards only through this module. Holes determine which statistics a policy and its
selection rule use, so that unused statistics cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_array_access import add_at
from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, Int1, IntK
from tideproof.kernels.fit import fixed_effects
from tideproof.kernels.fit.fixed_effects import FixedEffects
from tideproof.kernels.fit.period_averages import Periods, weigh_control, weigh_period

_observe_fit = fixed_effects.observe
_place_in_fit = fixed_effects.place

MOMENTS = hole("MOMENTS")
FIT = hole("FIT")
SUMS = hole("SUMS")
CELLS = hole("CELLS")
PERIOD = hole("PERIOD")
CONTROL = hole("CONTROL")
weigh = hole("weigh")
tell = hole("tell")


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


class Moments(NamedTuple):
    """Number, mean and squared deviations of each arm's raw rewards, for policies that ignore shifts.

    They extend over all environments.

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


class Data(NamedTuple):
    """Statistics of all rewards so far, which a policy may use.

    A statistic that the policy does not use stays empty.

    Attributes
    ----------
    pulls : (K,) pulls of each arm, pending pulls included.
    moments : moments of the rewards.
    fit : fit of the rewards; its covariance includes pending pulls.
    periods : weighted sums over environments.
    told, reward, squares : (1,) number, mean and sum of squared deviations of the rewards of this `tell`; 0
        rewards for pending pulls. Only policies that declare to read "reward" may use them.
    """

    pulls: IntK
    moments: Moments
    fit: FixedEffects
    periods: Periods
    told: Int1
    reward: Float1
    squares: Float1


@kernel
def take(params, state, data, slot, arm, n, mean, squares, draw):
    """Update all statistics, and the policy's state, for `n` new rewards of `arm`."""
    data.told[0] = n
    data.reward[0] = mean
    data.squares[0] = squares
    if SUMS:
        weigh_in(data.moments, arm, n, mean, weigh(params, state, data, arm))
    add_at(data.pulls, arm, n)
    if MOMENTS:
        record(data.moments, arm, n, mean, squares)
    if FIT:
        _observe_fit(data.fit, slot, arm, n, mean, squares)
    tell(params, state, data, slot, arm, n, draw)
    if PERIOD:
        weigh_period(data.periods, slot, -1.0)
    if CONTROL:
        weigh_control(data.periods, slot, -1.0)
    enter(slot, arm, n, mean)
    if PERIOD:
        weigh_period(data.periods, slot, 1.0)
    if CONTROL:
        weigh_control(data.periods, slot, 1.0)


@kernel
def notice(params, state, data, slot, arm, n, draw):
    """Tell the policy about `n` pending pulls of `arm`.

    The statistics include these pulls already.
    """
    data.told[0] = 0
    tell(params, state, data, slot, arm, n, draw)


@kernel
def reserve(data, slot, arm, n):
    """Add `n` pending pulls of `arm` to the statistics, without telling the policy."""
    add_at(data.pulls, arm, n)
    if FIT:
        _place_in_fit(data.fit, slot, arm, n)
    enter(slot, arm, n, slot.mean[0])


@kernel
def expect(params, state, data, slot, arm, n, draw):
    """Add `n` pending pulls of `arm` to the statistics, and tell the policy."""
    data.told[0] = 0
    add_at(data.pulls, arm, n)
    if FIT:
        _place_in_fit(data.fit, slot, arm, n)
    tell(params, state, data, slot, arm, n, draw)
    enter(slot, arm, n, slot.mean[0])


@kernel
def enter(slot, arm, n, mean):
    """Add `n` observations of `arm` with the given mean to the statistics of one environment."""
    slot.size[0] += n
    slot.each[0] = 1.0 / slot.size[0]
    slot.mean[0] += (mean - slot.mean[0]) * (n * slot.each[0])
    add_at(slot.counts, arm, n)
    slot.arm[0] = arm
    if CELLS:
        slot.means[arm] += (mean - slot.means[arm]) * (n / slot.counts[arm])


@kernel
def clear(slot):
    """Reset the statistics of one environment, so that a new environment can use them."""
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


@kernel
def record(moments, arm, n, mean, squares):
    """Update the number, mean and squared deviations of the rewards of `arm` for `n` new rewards.

    Takes O(1).

    The rewards have the given mean and squared deviations from it.

    References
    ----------
    Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance.
    """
    before = moments.told[arm]
    total = before + n
    gap = mean - moments.mean[arm]
    moments.mean[arm] += gap * (n / total)
    moments.squares[arm] += squares + gap * gap * (before * n / total)
    moments.told[arm] = total


@kernel
def weigh_in(moments, arm, n, mean, weight):
    """Add `n` rewards of `arm` with the given mean to the weighted sums of rewards.

    Takes O(1).
    """
    moments.sums[arm] += n * mean * weight
    moments.weights[arm] += n * weight


@kernel
def begin_anew(moments):
    """Reset the weighted sums of rewards at the start of a new phase of the policy."""
    for i in range(moments.sums.size):
        moments.sums[i] = 0.0
        moments.weights[i] = 0.0
    moments.epoch[0] += 1
