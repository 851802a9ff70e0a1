"""LUCB pulls the leader and its most promising challenger in turn, by the confidence bound of UCB1-normal.

    l = argmax xbar,  u = argmax_{i != l} xbar_i + sqrt(16 s2_i ln t / N_i),

both from the same data, l first. Rounds of two pulls follow until the budget is spent. t is the number of
rewards received when the round begins. The arm with the largest mean is selected.

Use it to find the best arm with a fixed budget and without shifts. Under shifts its means compare good days
with bad days; `linlucb` is this policy with estimated shifts.

Kalyanakrishnan, Tewari, Auer, Stone (2012), PAC subset selection in stochastic multi-armed bandits,
ICML, with the bound of Auer, Cesa-Bianchi, Fischer (2002) as in the ECAI 2024 paper. That paper does not
report how LUCB begins. Here it begins with n0 = 6 pulls of each arm in a fixed order, as the other
adaptive policies do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_whole_number
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK, Int1
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, argmax_in_lane, least_pulled
from tideproof.kernels.choose.round_robin_start import all_pulled, all_told, in_turn
from tideproof.policies.builtin.ucb1_normal import upper_bound
from tideproof.policies.final_selection_rules import MEAN
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the bandit policy LUCB: n0, the number of initial pulls of each arm."""

    n0: int


class State(NamedTuple):
    """State of the bandit policy LUCB: the leading arm and the challenger to pull next.

    Attributes
    ----------
    planned : (1,) 1 after the first pair was chosen.
    leader, challenger : (1,) the pair.
    half : (1,) 1 if the leader of the pair was pulled and the challenger was not.
    bounds : (K,) scratch.
    """

    planned: Int1
    leader: Int1
    challenger: Int1
    half: Int1
    bounds: FloatK


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 6) -> Params:
    """Return the parameters of the policy `lucb`: n0, the number of initial pulls of each arm."""
    return Params(require_whole_number("n0", n0, 2))


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull: first in a fixed order, then the leader and its challenger in turn."""
    if state.planned[0] == 1:
        return state.challenger[0] if state.half[0] == 1 else state.leader[0]
    if all_pulled(data.pulls, params.n0):
        return least_pulled(data.pulls, draw)  # some rewards are still pending
    return in_turn(data.pulls)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """After each pull, switch between the leader and its challenger; once both were pulled, choose both anew.

    A batch of n rewards counts as n pulls. The initial round robin comes first.
    """
    if state.planned[0] == 1:
        state.half[0] = (state.half[0] + n) % 2
    elif all_pulled(data.pulls, params.n0) and all_told(data.moments, 2.0):
        state.planned[0] = 1
    if state.planned[0] == 1 and state.half[0] == 0:
        _plan(state, data, draw)


@kernel
def _plan(state, data, draw):
    """Choose the leading arm by its mean, and the challenger by its upper confidence bound."""
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
    idea="pulls in turn the leader and the rival with the highest upper confidence bound (raw means)",
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
