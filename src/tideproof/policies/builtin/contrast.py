"""Contrast: spend every pull where it best tells the leader from its rivals, in this environment.

With l the leader, d_i = muhat_l - muhat_i and e_i the standard error of that difference, from
the variance sigma2hat (nu + 4)/nu of noise,

    u_i = c s (e_i - delta (1 - 1/n) max(0, e_i - d_i)) - d_i,    delta = 0.2 min(1, T/(40 K)),
    s = sqrt(2 ln(2 + (T - t)/K) (T - t + 1)/T),
    w_i = (1 - x_i^2)^2 for x_i = (max_k u_k - u_i) / (tau e_i) < 1, else 0:

u_i says how promising a rival is, and explores less as the budget runs out, nothing at its end (t counts
pulls that are out, too); w_i how nearly it is the most promising. n is how many rivals tie with the leader,
d_i <= e_i: where several do although there are many pulls for each, they may well be equal, which no budget
can tell, so they promise less and arms farther behind get their turn. s and n are found anew at every eighth
pull, n for those after.

Of the leader and the arms with a weight, the next pull is of the one that most reduces sum_i w_i V_i,
V_i = e_i^2 over that variance, if it is pulled *here*: with the environment's shares n_j/m_j and
g = 1_a - n_j/m_j,

    reduction of V_i = (g'P(1_i - 1_l))^2 / (1 + 1/m_j + g'Pg).

An environment's first pull tells nothing alone: it is looked at as if the leader had been pulled there,
and of the leader and the arm that would then come next, the less-pulled is. It begins with n0 = 2 pulls
of each arm by Algorithm 1 (1 if the budget has no room for 2), never with the same arm twice.

Use it for the best arm under shifts: it makes far fewer mistakes than `linlucb` on the same budget
(docs/decisions/0006 has the numbers, docs/contrast/trials.md what was tried). Without a budget it takes
as much to be left as was used, and delta = 0.

With `noise="by-arm"`, `interaction="auto"` or `robust="cells"` (docs/decisions/0028) P, and the 1 of that
fraction, are of what was learned of noise and environments: a second pull of a pair tells less in the same
environment than a first one in another, a noisy arm needs more pulls, a wrong cell tells nothing.

Ours; its ideas come from LUCB (Kalyanakrishnan et al. 2012), OCBA (Chen et al. 2000) and c-optimal
design of experiments (Elfving 1952).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.array_access import at, diagonal, entry, fetch, fetched, square_rows, weighted_squares
from tideproof.core.array_layout import Float1, FloatK, Int1, Scratch
from tideproof.core.kernel_linker import kernel
from tideproof.errors import InputError, describe_value
from tideproof.kernels.choose.arm_choice import LOWEST, least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.fit.statistics_interface import freedom, pull_here, pull_noise, variance_to
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import OLS

MANY = 40  # pulls an arm: with as many, arms that tie may be equal
ABOVE = 1.0 + 1e-6  # gains that differ by rounding are equal: the arm with fewer pulls is played


class Params(NamedTuple):
    """Pulls of each arm by Algorithm 1, the budget (0 if open), and the constants above."""

    n0: int
    horizon: int
    exploration: float
    focus: float
    delta: float


class State(NamedTuple):
    """The rivals and how much each matters.

    Attributes
    ----------
    start : Algorithm 1.
    begun : (1,) 1 once there are a leader and weights.
    leader : (1,) the leader.
    weights : (K,) w_i.
    scale : (1,) c s.
    tied : (1,) delta (1 - 1/n).
    work : to work on.
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
    """Set n0, c, tau and the 0.2 (`ties`) above; `anytime` forgets the budget.

    A budget without room for n0 pulls of each arm begins with fewer.
    """
    if not isinstance(anytime, int) or anytime not in (0, 1):
        raise InputError(f"anytime must be True or False, not {describe_value(anytime)}")
    fits = n0 if horizon is None else max(horizon // arms, 1)
    known = 0 if anytime or horizon is None else horizon
    return Params(
        min(require_whole_number("n0", n0, 1), fits),
        known,
        require_finite("exploration", exploration, 0.0),
        require_finite("focus", focus, 1e-6),
        require_finite("ties", ties, 0.0) * min(1.0, known / (MANY * arms)),
    )


@kernel
def ask(params, state, data, slot, draw):
    """Return the arm whose pull here is worth most."""
    if state.begun[0] == 1:
        return _most_telling(state, data, slot)
    if started(data, params.n0):
        return least_pulled(data.pulls, draw)  # no degree of freedom yet
    first = slot.arm[0] if slot.size[0] == 1.0 else -1
    return start_arm(state.start, data, slot, params.n0, first, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Move Algorithm 1 on, or find the leader and its rivals anew."""
    if state.begun[0] == 0:
        start_tell(state.start, data, slot, arm, n)
        if not started(data, params.n0) or freedom(data.fit) <= 0:
            return
    _weigh(params, state, data.fit, data.pulls, n)
    state.begun[0] = 1


@kernel
def _weigh(params, state, fit, pulls, n):
    """Find the leader, who leads until another is ahead, and how nearly each arm is its first rival."""
    P, mu, played, nu = fit.P, fit.mu, 0, freedom(fit)
    weights, promise, leader = state.weights, state.work.first, state.leader[0]
    K = mu.size
    lead = at(mu, leader)
    for i in range(K):
        played += pulls[i]
        if mu[i] > lead:
            leader, lead = i, mu[i]
    state.leader[0] = leader
    noise = fit.rss[0] * (nu + 4.0) / (nu * nu)
    anew = played % 8 < n or state.begun[0] == 0  # s and n move slowly, and a logarithm is not free
    if anew:
        horizon = max(params.horizon, played) if params.horizon > 0 else 2 * played
        left = horizon - played
        share = (left + 1.0) / horizon
        state.scale[0] = params.exploration * math.sqrt(2.0 * math.log(2.0 + left / K) * share)
    scale, less = state.scale[0], state.scale[0] * state.tied[0]
    own, row = diagonal(P, leader), state.work.second
    fetch(P, leader, row)
    for i in range(K):  # no branches: this loop is half the cost of a step
        gap = lead - mu[i]
        weights[i] = math.sqrt(noise * abs(variance_to(P, leader, own, row, i)))
        promise[i] = scale * weights[i] - gap - less * max(0.0, weights[i] - gap)
    if anew:  # for the pulls that follow
        tying = -1.0  # the leader
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
def _most_telling(state, data, slot):
    """Return the leader or the rival whose pull here most reduces the weighted variances."""
    P, pulls, weights = data.fit.P, data.pulls, state.weights
    row, here, leader = state.work.first, state.work.second, state.leader[0]
    size, K = slot.size[0], pulls.size
    fetch(P, leader, row)
    if size == 0.0:  # as if the leader had been pulled
        common = 2.0 + diagonal(P, leader) + pull_noise(data.fit, slot, leader)
        for i in range(K):
            here[i] = fetched(P, leader, row, i)
    else:
        common = pull_here(data.fit, slot, here)
    offset = at(here, leader)
    rows = square_rows(P, leader, here, weights)
    best, top, under, fewest = leader, -1.0, 1.0, 0  # fractions top/under are compared without dividing
    for a in range(K):
        if weights[a] > 0.0 or a == leader:
            base = fetched(P, leader, row, a) - offset
            gain = weighted_squares(rows, P, a, here, base, weights)
            over = entry(P, a, a) - 2.0 * here[a] + common + pull_noise(data.fit, slot, a)
            mine, theirs = gain * under, top * over
            if mine > ABOVE * theirs or (ABOVE * mine > theirs and pulls[a] < fewest):
                best, top, under, fewest = a, gain, over, pulls[a]
    if size == 0.0 and at(pulls, leader) < fewest:
        return leader
    return best


POLICY = Policy(
    name="contrast",
    idea="the pull that best tells the leader from its rivals, here and with what is left",
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
    on_ratios={"exploration": 1.5},  # budgets of thousands, of which hardly any brings an event
)
