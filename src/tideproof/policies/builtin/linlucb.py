"""LinLUCB pulls the leader and its most promising challenger in turn, both found by a fixed-effects fit.

    l = argmax muhat,  u = argmax_{i != l} muhat_i + sqrt(16 ln t / N_i) sqrt(Var muhat_i),

with the estimated noise variance and the normalisation s_1 = 0 of the paper. If an environment would begin
with the same arm twice, which carries no information, the order of the pair changes.

Srisawad, Branke, Tran-Thanh (2024), Identifying the best arm in the presence of global environment
shifts, ECAI, Algorithm 2. The covariance printed there is not that of the least-squares estimator; it is
available as the option `covariance="printed"` (docs/decisions/0003). `covariance="reduced"` is the
covariance of the Reduce-to-MAB variant of the paper, which treats the estimated shifts as known:
Var muhat_i = sigma^2 / N_i, with RSS/(N - K) for sigma^2. `reduce:linlucb` has the same bound. But if an
environment would begin with the same arm twice, it pulls the least-pulled arm instead of the other arm of
the pair.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.kernel_array_access import entry, root_of_ratio
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK, Int1
from tideproof.errors import InputError, describe_value
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, argmax_in_lane, least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.fit.statistics_interface import anchor, degrees_of_freedom, sigma2
from tideproof.policies.final_selection_rules import OLS
from tideproof.policies.policy_definition import Policy

COVARIANCES = ("ols", "printed", "reduced")
_PRINTED, _REDUCED = 1, 2


class Params(NamedTuple):
    """Parameters of the policy `linlucb`: initial pulls, exploration constant, and choice of covariance.

    Attributes
    ----------
    n0 : pulls of each arm by Algorithm 1.
    exploration : the constant 16 in the formula.
    covariance : index of the covariance in `COVARIANCES`.
    """

    n0: int
    exploration: float
    covariance: int


class State(NamedTuple):
    """State of the bandit policy LinLUCB: the leading arm and the challenger to pull next.

    Attributes
    ----------
    start : state of Algorithm 1.
    planned : (1,) 1 after the first pair was chosen.
    leader, challenger : (1,) the pair.
    half : (1,) 1 between the two pulls of a round.
    turned : (1,) 1 if this round began with the challenger.
    changed : (1,) 1 if the environment changed before the last round's second pull.
    bounds : (K,) scratch.
    """

    start: Start
    planned: Int1
    leader: Int1
    challenger: Int1
    half: Int1
    turned: Int1
    changed: Int1
    bounds: FloatK


def configure(
    arms: int,
    horizon: int | None,
    selection: str,
    *,
    n0: int = 6,
    exploration: float = 16.0,
    covariance: str = "ols",
) -> Params:
    """Return the parameters of the policy `linlucb`, computed from its options."""
    if not isinstance(covariance, str) or covariance not in COVARIANCES:
        raise InputError(
            f"covariance must be 'ols', 'printed' or 'reduced', not {describe_value(covariance)}"
        )
    return Params(
        require_whole_number("n0", n0, 2),
        require_finite("exploration", exploration, 0.0),
        COVARIANCES.index(covariance),
    )


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull: first by round robin, then the leading arm and its challenger in turn."""
    if state.planned[0] == 0:
        if not started(data, params.n0):
            return start_arm(state.start, data, slot, params.n0, -1, draw)
        return least_pulled(data.pulls, draw)  # the fit has no degrees of freedom yet
    first = state.turned[0] if state.half[0] == 1 else _begins_with_challenger(state, slot)
    return state.challenger[0] if first != state.half[0] else state.leader[0]


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """After each pull, switch between the leader and its challenger; once both were pulled, choose both anew.

    A batch of n rewards counts as n pulls. The initial round robin comes first.
    """
    if state.planned[0] == 0:
        start_tell(state.start, data, slot, arm, n)
        if not started(data, params.n0) or degrees_of_freedom(data.fit) <= 0:
            return
        state.planned[0] = 1
    else:
        before = state.half[0]
        state.half[0] = (before + n) % 2
        if state.half[0] == 1:
            if before == 0:
                state.turned[0] = _begins_with_challenger(state, slot)
            return
        state.changed[0] = 1 if slot.size[0] == 0.0 else 0
    _plan(params, state, data, draw)


@kernel
def _begins_with_challenger(state, slot):
    """Return 1 if the challenger (the strongest rival) must be pulled before the leading arm, else 0.

    It must if pulling the leader now would begin an environment with two pulls of the leader.
    """
    repeats = state.changed[0] == 1 and slot.size[0] > 0.0 and slot.arm[0] == state.leader[0]
    return 1 if repeats else 0


@kernel
def _plan(params, state, data, draw):
    """Choose the leading arm and its challenger from the current fixed-effects estimates."""
    fit, pulls = data.fit, data.pulls
    K = pulls.size
    leader = argmax(fit.mu, draw)
    base = anchor(fit)
    noise = sigma2(fit) if params.covariance != _REDUCED else fit.rss[0] / (fit.told[0] - K)
    bonus = params.exploration * math.log(fit.told[0]) * noise
    for i in range(K):
        variance = base + entry(fit.P, i, i) - 2.0 * fit.work[i]
        if params.covariance == _REDUCED:
            variance = 1.0 / pulls[i]
        elif params.covariance == _PRINTED:  # sum_k N_k Cov(muhat_i, muhat_k)^2
            variance = 0.0
            for k in range(K):
                covariance = base + entry(fit.P, i, k) - fit.work[i] - fit.work[k]
                variance += pulls[k] * covariance * covariance
        bound = fit.mu[i] + root_of_ratio(bonus * variance, pulls[i])
        state.bounds[i] = bound if i != leader else LOWEST
    state.leader[0] = leader
    state.challenger[0] = argmax_in_lane(state.bounds, draw, 1)


POLICY = Policy(
    name="linlucb",
    idea="pulls in turn the leader and the rival with the highest upper confidence bound (adjusted means)",
    reference="Srisawad, Branke, Tran-Thanh 2024",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.n0,
    selections=(OLS,),
    reads=frozenset({"fit"}),
    needs_horizon=False,
    shift_aware=True,
    merges=lambda state: bool(state.planned[0]),
)
