"""UCB1-normal pulls the arm with the highest upper confidence bound of its mean.

At step n, if an arm has fewer than ceil(8 ln n) pulls, the least-pulled arm is pulled. Otherwise it is

    argmax_i xbar_i + sqrt(16 s2_i ln(n - 1) / N_i),

with the sample variance s2_i of the arm. At the end the most-pulled arm is selected.

Use it to earn rewards while learning, without shifts. It is included because it is a common choice. It
minimises regret and ignores shifts, and the forced pulls alone take the first 220 steps with 5 arms and the
first 500 with 10. Until then it is round robin, and the most-pulled arm is random.

Auer, Cesa-Bianchi, Fischer (2002), Finite-time analysis of the multiarmed bandit problem, Machine
Learning 47. At least two pulls of each arm are forced, which the variance requires. Pending pulls count in
n and N_i, so they lower the bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import contend, least_pulled
from tideproof.kernels.choose.round_robin_start import all_told
from tideproof.policies.final_selection_rules import MOST_PLAYED
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the bandit policy UCB1-normal: it has none."""


class State(NamedTuple):
    """Empty state of the bandit policy UCB1-normal, which needs only means and variances of rewards."""


def configure(arms: int, horizon: int | None, selection: str) -> Params:
    """Return the parameters of the bandit policy UCB1-normal: an empty tuple."""
    return Params()


@kernel
def upper_bound(data, i, log_t):
    """Return the upper confidence bound of the mean of an arm with at least two rewards.

    This is xbar_i + sqrt(16 s2_i ln t / N_i).
    """
    moments = data.moments
    variance = moments.squares[i] / (moments.told[i] - 1.0)
    return moments.mean[i] + math.sqrt(16.0 * variance * log_t / data.pulls[i])


@kernel
def ask(params, state, data, slot, draw):
    """Return the least-pulled arm if it has too few pulls, else the arm with the highest upper bound."""
    pulls = data.pulls
    steps = 0
    for i in range(pulls.size):
        steps += pulls[i]
    least = least_pulled(pulls, draw)
    forced = max(2, math.ceil(8.0 * math.log(steps + 1.0)))
    if pulls[least] < forced or not all_told(data.moments, 2.0):
        return least
    best, top, ties = -1, 0.0, 0
    log_t = math.log(steps)
    for i in range(pulls.size):
        best, top, ties = contend(best, top, ties, i, upper_bound(data, i, log_t), draw)
    return best


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Do nothing after a pull, because the bandit policy UCB1-normal has no state."""


POLICY = Policy(
    name="ucb1-normal",
    idea="pulls the arm with the highest upper confidence bound, after a minimum number of pulls of each arm",
    reference="Auer, Cesa-Bianchi, Fischer 2002",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: 2 * arms,
    selections=(MOST_PLAYED,),
    reads=frozenset({"moments"}),
    needs_horizon=False,
    shift_aware=False,
)
