"""Data that a policy may read: pulls, moments of raw rewards, and the fixed-effects fit.

Policies receive rewards only through this module. Holes determine which statistics a policy and its
selection rule use, so that unused statistics cost nothing.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.array_access import add_at
from tideproof.core.array_layout import Float1, Int1, IntK
from tideproof.core.kernel_linker import hole, kernel
from tideproof.kernels.fit import fixed_effects
from tideproof.kernels.fit.environment_slot import enter
from tideproof.kernels.fit.fixed_effects import FixedEffects
from tideproof.kernels.fit.period_averages import Periods, weigh_control, weigh_period
from tideproof.kernels.fit.reward_moments import Moments, record, weigh_in

_observe_fit = fixed_effects.observe
_place_in_fit = fixed_effects.place

MOMENTS = hole("MOMENTS")
FIT = hole("FIT")
SUMS = hole("SUMS")
PERIOD = hole("PERIOD")
CONTROL = hole("CONTROL")
weigh = hole("weigh")
tell = hole("tell")


class Data(NamedTuple):
    """Statistics of all rewards so far; a statistic that the policy does not use stays empty.

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
    """Process `n` rewards of `arm`: update overall statistics, the policy and environment statistics."""
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
    """Tell the policy of `n` pending pulls of `arm` that the statistics include already."""
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
