"""OCBA (optimal computing budget allocation) pulls arms more often the harder they are to separate.

With b = argmax xbar, d_i = xbar_b - xbar_i and s2_i the sample variances, the shares

    w_i = s2_i/d_i^2  (i != b),    w_b = sqrt(s2_b sum_{i != b} w_i^2/s2_i)

maximise an approximation of the probability of a correct selection if the budget is large. After n0 pulls
of each arm in a fixed order, each step divides all pulls, including the next one, by these shares and pulls
the arm that is furthest below its share. If two means are equal, d_i^2 is replaced by 1e-12 s2_i.

Chen, Lin, Yücesan, Chick (2000), Simulation budget allocation for further enhancing the efficiency of
ordinal optimization, Discrete Event Dynamic Systems 10. n0 = 6, as for similar policies.

Use it without shifts and with a large budget. Under shifts use `reduce:ocba`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_whole_number
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.pull_value import PullValues, can_judge, most_valuable, two_best
from tideproof.policies.final_selection_rules import MEAN
from tideproof.policies.policy_definition import Policy

_TIED = 1e-12


class Params(NamedTuple):
    """Parameters of the policy OCBA: n0, the number of initial pulls of each arm."""

    n0: int


class State(NamedTuple):
    """State of the policy OCBA: for each arm, how many pulls it is below its optimal share of all pulls.

    The next pull is included in all pulls.
    """

    pull_values: PullValues


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 6) -> Params:
    """Return the parameters of the policy `ocba`: n0, the number of initial pulls of each arm."""
    return Params(require_whole_number("n0", n0, 2))


@kernel
def ask(params, state, data, slot, draw):
    """Return the arm that is furthest below its optimal share of all pulls."""
    return most_valuable(state.pull_values, data, params.n0, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Update how many pulls each arm is below its optimal share of all pulls."""
    if can_judge(state.pull_values, data, params.n0):
        fill_deficits(data.moments, data.pulls, 1.0, state.pull_values.values)


@kernel
def fill_deficits(moments, pulls, more, values):
    """Compute how many pulls each arm is below its optimal share of all pulls after `more` further pulls.

    The results are written into `values`.
    """
    best, _ = two_best(moments.mean)
    total, shares, squared = more, 0.0, 0.0  # pulls, sum of w, sum of w^2/s2
    for i in range(pulls.size):
        total += pulls[i]
        values[i] = 0.0
        variance = moments.squares[i] / (moments.told[i] - 1.0)
        if i != best and variance > 0.0:
            gap = moments.mean[best] - moments.mean[i]
            values[i] = variance / max(gap * gap, _TIED * variance)
            shares += values[i]
            squared += values[i] * values[i] / variance
    values[best] = math.sqrt(moments.squares[best] / (moments.told[best] - 1.0) * squared)
    shares += values[best]
    for i in range(pulls.size):
        share = values[i] / shares if shares > 0.0 else 0.0  # without noise, balance the pulls
        values[i] = total * share - pulls[i]


POLICY = Policy(
    name="ocba",
    idea="pulls arms more often if they are harder to tell apart from the best",
    reference="Chen, Lin, Yücesan, Chick 2000",
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
