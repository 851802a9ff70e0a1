"""The policy `contrast` pulls the arm whose reward best separates the leading arm from its rivals.

The leader l is the arm with the largest estimate muhat. Let d_i = muhat_l - muhat_i, and let e_i be the
standard error of that difference, computed from the noise variance sigma2hat (nu + 4)/nu. Then

    u_i = c s (e_i - delta (1 - 1/n) max(0, e_i - d_i)) - d_i,    delta = 0.2 min(1, T/(40 K)),
    s = sqrt(2 ln(2 + (T - t)/K) (T - t + 1)/T),
    w_i = (1 - x_i^2)^2 for x_i = (max_k u_k - u_i) / (tau e_i) < 1, else 0.

u_i measures how likely rival i is to be better than the leader. Exploration decreases as the budget is
spent, and is zero at its end; t includes pending pulls. The weight w_i measures how close rival i is to the
most promising rival. n is the number of arms that tie with the leader, d_i <= e_i. If several arms tie
although each has many pulls, they may be equal, and no budget could separate them. Their promise is
therefore reduced, and arms that are farther behind get pulls. s and n are computed at every eighth pull; n
applies to the pulls after it.

The candidates for the next pull are the leader and the arms with a positive weight. The policy pulls the
candidate that most reduces sum_i w_i V_i, where V_i is e_i^2 divided by the noise variance, if it is pulled
in the current environment. With the shares n_j/m_j of the arms in that environment and g = 1_a - n_j/m_j,

    reduction of V_i = (g'P(1_i - 1_l))^2 / (1 + 1/m_j + g'Pg).

The first pull in an environment carries no information by itself. The policy therefore pretends that the
leader had been pulled there, finds the arm that would come next, and pulls the one of these two that has
fewer pulls. It begins with n0 = 2 pulls of each arm by Algorithm 1 (1 if the budget is too small for 2),
and never begins an environment with the same arm twice.

Use it to find the best arm under shifts: with the same budget it makes far fewer mistakes than `linlucb`.
docs/decisions/0006 has the numbers, and docs/contrast/trials.md the alternatives that were tried. Without a
budget it assumes that as many pulls remain as were made, and delta = 0.

With `noise="by-arm"`, `interaction="auto"` or `robust="cells"` (docs/decisions/0028), P and the 1 in the
denominator come from the estimated model of noise and environments. A second pull of a pair of arms is then
worth less in the same environment than a first pull in another one, a noisy arm gets more pulls, and an
outlying cell counts for nothing.

Contrast was developed for tideproof. Its ideas come from LUCB (Kalyanakrishnan et al. 2012), OCBA (Chen et
al. 2000) and c-optimal design of experiments (Elfving 1952).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.kernel_array_access import (
    at,
    diagonal,
    entry,
    fetch,
    fetched,
    square_rows,
    weighted_squares,
)
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, Int1, Scratch
from tideproof.errors import InputError, describe_value
from tideproof.kernels.choose.arm_choice import LOWEST, least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.fit.statistics_interface import degrees_of_freedom, pull_here, pull_noise, variance_to
from tideproof.policies.final_selection_rules import OLS
from tideproof.policies.policy_definition import Policy

MANY = 40  # pulls per arm; arms that still tie after so many may be equal
ABOVE = 1.0 + 1e-6  # gains within this factor count as equal, and the arm with fewer pulls is preferred


class Params(NamedTuple):
    """Parameters of the policy `contrast`: number of initial pulls, budget, and constants of its formulas.

    Attributes
    ----------
    n0 : pulls of each arm by Algorithm 1.
    horizon : the budget in pulls; 0 if there is none.
    exploration, focus, delta : the constants c, tau and delta of the formulas.
    """

    n0: int
    horizon: int
    exploration: float
    focus: float
    delta: float


class State(NamedTuple):
    """State of the bandit policy `contrast`: the leading arm and the weights of its rivals.

    Attributes
    ----------
    start : state of Algorithm 1.
    begun : (1,) 1 after the leader and the weights were computed for the first time.
    leader : (1,) the leader.
    weights : (K,) w_i.
    scale : (1,) c s.
    tied : (1,) delta (1 - 1/n).
    work : scratch vectors.
    """

    start: Start
    begun: Int1
    leader: Int1
    weights: FloatK
    scale: Float1
    tied: Float1
    work: Scratch


def configure(
    arms: int,
    horizon: int | None,
    selection: str,
    *,
    n0: int = 2,
    exploration: float = 3.0,
    focus: float = 0.4,
    ties: float = 0.2,
    anytime: bool = False,
) -> Params:
    """Return the parameters of the policy `contrast`, computed from its options.

    In the formulas, `exploration` is c, `focus` is tau, and `ties` is the factor 0.2 of delta. `anytime`
    makes the policy ignore the budget. If the budget is too small for n0 pulls of each arm, the policy begins
    with fewer.
    """
    if not isinstance(anytime, int) or anytime not in (0, 1):
        raise InputError(f"anytime must be True or False, not {describe_value(anytime)}")
    affordable = n0 if horizon is None else max(horizon // arms, 1)
    known = 0 if anytime or horizon is None else horizon
    return Params(
        min(require_whole_number("n0", n0, 1), affordable),
        known,
        require_finite("exploration", exploration, 0.0),
        require_finite("focus", focus, 1e-6),
        require_finite("ties", ties, 0.0) * min(1.0, known / (MANY * arms)),
    )


@kernel
def ask(params, state, data, slot, draw):
    """Return the arm whose pull best separates the leader from its rivals in the current environment."""
    if state.begun[0] == 1:
        return _most_informative(state, data, slot)
    if started(data, params.n0):
        return least_pulled(data.pulls, draw)  # the fit has no degrees of freedom yet
    first = slot.arm[0] if slot.size[0] == 1.0 else -1
    return start_arm(state.start, data, slot, params.n0, first, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """After each pull, recompute the leading arm and the weights of its rivals.

    Until the initial round robin is complete, only record the pull.
    """
    if state.begun[0] == 0:
        start_tell(state.start, data, slot, arm, n)
        if not started(data, params.n0) or degrees_of_freedom(data.fit) <= 0:
            return
    _weigh(params, state, data.fit, data.pulls, n)
    state.begun[0] = 1


@kernel
def _weigh(params, state, fit, pulls, n):
    """Update the leader and, for every other arm, the weight of its comparison with the leader.

    The leader changes only if another arm has a larger estimate.
    """
    P, mu, played, nu = fit.P, fit.mu, 0, degrees_of_freedom(fit)
    weights, promise, leader = state.weights, state.work.first, state.leader[0]
    K = mu.size
    lead = at(mu, leader)
    for i in range(K):
        played += pulls[i]
        if mu[i] > lead:
            leader, lead = i, mu[i]
    state.leader[0] = leader
    noise = fit.rss[0] * (nu + 4.0) / (nu * nu)
    refresh = played % 8 < n or state.begun[0] == 0  # s and n change slowly, and a logarithm takes time
    if refresh:
        horizon = max(params.horizon, played) if params.horizon > 0 else 2 * played
        left = horizon - played
        share = (left + 1.0) / horizon
        state.scale[0] = params.exploration * math.sqrt(2.0 * math.log(2.0 + left / K) * share)
    scale, less = state.scale[0], state.scale[0] * state.tied[0]
    own, row = diagonal(P, leader), state.work.second
    fetch(P, leader, row)
    for i in range(K):  # without branches, because this loop takes half the time of a step
        gap = lead - mu[i]
        weights[i] = math.sqrt(noise * abs(variance_to(P, leader, own, row, i)))
        promise[i] = scale * weights[i] - gap - less * max(0.0, weights[i] - gap)
    if refresh:  # after the promises: they use the previous value of `tied`
        tying = -1.0  # the loop below counts the leader, too
        for i in range(K):
            tying += 1.0 if lead - mu[i] <= weights[i] else 0.0
        state.tied[0] = params.delta * (1.0 - 1.0 / max(tying, 1.0))
    highest = LOWEST
    for i in range(K):
        if i != leader:
            highest = max(highest, promise[i])
    for i in range(K):
        reach = params.focus * weights[i]
        behind = highest - promise[i]
        weight = 0.0
        if i != leader and behind <= reach:
            x = behind / reach if behind > 0.0 else 0.0
            weight = (1.0 - x * x) * (1.0 - x * x)
        weights[i] = weight


@kernel
def _most_informative(state, data, slot):
    """Return the arm whose pull most reduces the uncertainty about the leader's lead over its rivals.

    The pull is in the current environment, and the uncertainty is the weighted sum of variances, sum_i w_i
    V_i.
    """
    P, pulls, weights = data.fit.P, data.pulls, state.weights
    row, shares, leader = state.work.first, state.work.second, state.leader[0]
    size, K = slot.size[0], pulls.size
    fetch(P, leader, row)
    if size == 0.0:  # pretend that the leader had been pulled in this new environment
        common = 2.0 + diagonal(P, leader) + pull_noise(data.fit, slot, leader)
        for i in range(K):
            shares[i] = fetched(P, leader, row, i)
    else:
        common = pull_here(data.fit, slot, shares)
    offset = at(shares, leader)
    rows = square_rows(P, leader, shares, weights)
    best, top, under, fewest = leader, -1.0, 1.0, 0  # fractions top/under are compared without dividing
    for a in range(K):
        if weights[a] > 0.0 or a == leader:
            base = fetched(P, leader, row, a) - offset
            gain = weighted_squares(rows, P, a, shares, base, weights)
            over = entry(P, a, a) - 2.0 * shares[a] + common + pull_noise(data.fit, slot, a)
            mine, theirs = gain * under, top * over
            if mine > ABOVE * theirs or (ABOVE * mine > theirs and pulls[a] < fewest):
                best, top, under, fewest = a, gain, over, pulls[a]
    if size == 0.0 and at(pulls, leader) < fewest:
        return leader
    return best


POLICY = Policy(
    name="contrast",
    idea="pulls the arm whose reward best separates the leader from its rivals",
    reference="tideproof 2026",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.n0,
    selections=(OLS,),
    reads=frozenset({"fit"}),
    needs_horizon=True,
    anytime=True,
    shift_aware=True,
    merges=lambda state: bool(state.begun[0]),
    on_unequal={"exploration": 2.6},
    on_ratios={"exploration": 1.5},  # for rare events: thousands of pulls, few of them with an event
)
