"""UCB1-normal: play the arm with the highest upper confidence bound.

At step n, an arm with fewer than ceil(8 ln n) pulls is played, the least pulled first; otherwise

argmax_i xbar_i + sqrt(16 s2_i ln(n - 1) / N_i),

with the arm's own sample variance s2_i. In the end the most played arm is selected.

Use it to earn while you learn, without shifts. It is here because it is what many would reach for:
it minimises regret, is blind to shifts, and the forced pulls alone take the first 220 steps of 5
arms and the first 500 of 10. Until then it is round robin and "most played" is a coin toss.

Auer, Cesa-Bianchi, Fischer (2002), Finite-time analysis of the multiarmed bandit problem, Machine
Learning 47. At least two pulls of each arm are forced, which the variance needs. Pulls that are out
count in n and N_i, so that they lower the bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import contend, least_pulled
from tideproof.kernels.choose.round_robin_start import all_told
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import MOST_PLAYED


class Params(NamedTuple):
    """None."""


class State(NamedTuple):
    """None: the moments say it all."""


def configure(arms: int, horizon: int | None, selection: str) -> Params:
    """Set nothing: there are no options."""
    return Params()


@kernel
def upper_bound(data, i, log_t):
    """Return xbar_i + sqrt(16 s2_i ln t / N_i); needs two told rewards."""
    moments = data.moments
    variance = moments.squares[i] / (moments.told[i] - 1.0)
    return moments.mean[i] + math.sqrt(16.0 * variance * log_t / data.pulls[i])


@kernel
def ask(params, state, data, slot, draw):
    """Return the least pulled arm while that is forced, then the highest bound."""
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
    """Remember nothing."""


POLICY = Policy(
    name="ucb1-normal",
    idea="the highest upper confidence bound, with forced pulls",
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
