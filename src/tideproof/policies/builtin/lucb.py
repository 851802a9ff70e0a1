"""LUCB: play the leader, then its most promising challenger, by the UCB1-normal bound.

    l = argmax xbar,  u = argmax_{i != l} xbar_i + sqrt(16 s2_i ln t / N_i),

both from the same data, l first; then again, until the budget is spent. t is the number of rewards
told when the round begins. The largest mean is selected.

Use it for the best arm under a fixed budget where nothing shifts. Under shifts its means compare
good days with bad ones: `linlucb` is this policy with the shifts estimated away.

Kalyanakrishnan, Tewari, Auer, Stone (2012), PAC subset selection in stochastic multi-armed bandits,
ICML, with the bound of Auer, Cesa-Bianchi, Fischer (2002) as in the ECAI 2024 paper. How that paper
begins is not reported: here with n0 = 6 pulls of each arm in fixed order, as the other adaptive
policies do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_whole_number
from tideproof.core.array_layout import FloatK, Int1
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, argmax_in_lane, least_pulled
from tideproof.kernels.choose.round_robin_start import all_pulled, all_told, in_turn
from tideproof.policies.builtin.ucb1_normal import upper_bound
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import MEAN


class Params(NamedTuple):
    """Pulls of each arm at the start."""

    n0: int


class State(NamedTuple):
    """The pair to play next.

    Attributes
    ----------
    planned : (1,) 1 once there is a pair.
    leader, challenger : (1,) the pair.
    half : (1,) 1 if one of the pair is played.
    bounds : (K,) scratch.
    """

    planned: Int1
    leader: Int1
    challenger: Int1
    half: Int1
    bounds: FloatK


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 6) -> Params:
    """Set the pulls of each arm at the start."""
    return Params(require_whole_number("n0", n0, 2))


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm: in turn, or of the pair."""
    if state.planned[0] == 1:
        return state.challenger[0] if state.half[0] == 1 else state.leader[0]
    if all_pulled(data.pulls, params.n0):
        return least_pulled(data.pulls, draw)  # rewards are still out
    return in_turn(data.pulls)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Go on to the pair's second arm, or plan the next pair."""
    if state.planned[0] == 1:
        state.half[0] = (state.half[0] + n) % 2
    elif all_pulled(data.pulls, params.n0) and all_told(data.moments, 2.0):
        state.planned[0] = 1
    if state.planned[0] == 1 and state.half[0] == 0:
        _plan(state, data, draw)


@kernel
def _plan(state, data, draw):
    t = 0.0
    for i in range(data.pulls.size):
        t += data.moments.told[i]
    leader = argmax(data.moments.mean, draw)
    for i in range(data.pulls.size):
        state.bounds[i] = upper_bound(data, i, math.log(t))
    state.bounds[leader] = LOWEST
    state.leader[0] = leader
    state.challenger[0] = argmax_in_lane(state.bounds, draw, 1)


POLICY = Policy(
    name="lucb",
    idea="leader and challenger in turn, by confidence bounds of raw means",
    reference="Kalyanakrishnan, Tewari, Auer, Stone 2012",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.n0,
    selections=(MEAN,),
    reads=frozenset({"moments"}),
    needs_horizon=False,
    shift_aware=False,
)
