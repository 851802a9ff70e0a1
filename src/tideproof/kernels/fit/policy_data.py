"""What a policy may read: pulls, moments of raw rewards, the fixed-effects fit.

Rewards reach a policy only through here. The holes say which statistics a policy and its selection
rule use, so that nobody pays for what is not read.
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
    """Everything told so far, as far as it is used.

    Attributes
    ----------
    pulls : (K,) pulls of each arm, those that are out included.
    moments : of told rewards; stays empty unless used.
    fit : of told rewards, with the place in the design of pulls that are out; likewise.
    periods : weighted sums over environments; likewise.
    told, reward, squares : (1,) number, mean and squared deviations of the rewards that `tell` brings
        now; no number for pulls out. Only who declares to read "reward" may look at them.
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
    """Take in `n` told rewards of `arm`: the statistics, then the policy, then the slot."""
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
    """Tell the policy of `n` pulls of `arm` that are out and stand in the design already."""
    data.told[0] = 0
    tell(params, state, data, slot, arm, n, draw)


@kernel
def reserve(data, slot, arm, n):
    """Give `n` pulls of `arm` that are out their place in the design, and tell nobody."""
    add_at(data.pulls, arm, n)
    if FIT:
        _place_in_fit(data.fit, slot, arm, n)
    enter(slot, arm, n, slot.mean[0])


@kernel
def expect(params, state, data, slot, arm, n, draw):
    """Take in `n` pulls of `arm` that are out: their place in the design, and nothing else."""
    data.told[0] = 0
    add_at(data.pulls, arm, n)
    if FIT:
        _place_in_fit(data.fit, slot, arm, n)
    tell(params, state, data, slot, arm, n, draw)
    enter(slot, arm, n, slot.mean[0])
