"""What a policy may read: pulls, moments of raw rewards, the fixed-effects fit.

Rewards reach a policy only through here. The holes say which statistics a policy and its selection
rule use, so that nobody pays for what is not read.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.kernels import fixed_effects
from tideproof.kernels._arrays import IntK
from tideproof.kernels._link import hole, kernel
from tideproof.kernels.environment import enter
from tideproof.kernels.fixed_effects import FixedEffects
from tideproof.kernels.moments import Moments, record

_observe_fit = fixed_effects.observe
_place_in_fit = fixed_effects.place

MOMENTS = hole("MOMENTS")
FIT = hole("FIT")
tell = hole("tell")


class Data(NamedTuple):
    """Everything told so far, as far as it is used.

    Attributes
    ----------
    pulls : (K,) pulls of each arm, those that are out included.
    moments : of told rewards; stays empty unless used.
    fit : of told rewards, with the place in the design of pulls that are out; likewise.
    """

    pulls: IntK
    moments: Moments
    fit: FixedEffects


@kernel
def take(params, state, data, slot, arm, n, mean, squares, draw):
    """Take in `n` told rewards of `arm`: the statistics, then the policy, then the slot."""
    data.pulls[arm] += n
    if MOMENTS:
        record(data.moments, arm, n, mean, squares)
    if FIT:
        _observe_fit(data.fit, slot, arm, n, mean, squares)
    tell(params, state, data, slot, arm, n, draw)
    enter(slot, arm, n, mean)


@kernel
def expect(params, state, data, slot, arm, n, draw):
    """Take in `n` pulls of `arm` that are out: their place in the design, and nothing else."""
    data.pulls[arm] += n
    if FIT:
        _place_in_fit(data.fit, slot, arm, n)
    tell(params, state, data, slot, arm, n, draw)
    enter(slot, arm, n, slot.mean[0])
