"""Knowledge gradient pulls the arm whose next reward is expected to raise the largest posterior mean most.

With st_i = v_i/sqrt(v_i + s2_i), v_i = s2_i/N_i, and zeta_i = -|xbar_i - max_{j != i} xbar_j|/st_i,

    KG_i = st_i (zeta_i Phi(zeta_i) + phi(zeta_i))

is the expected increase of the largest mean if the budget ended after one more pull of arm i. The policy
pulls the arm with the largest KG_i, after n0 pulls of each arm in a fixed order. The rule was derived for
known variances; here the sample variance of each arm replaces its variance. Logarithms are compared,
because the values soon underflow.

Frazier, Powell, Dayanik (2008), A knowledge-gradient policy for sequential information collection,
SIAM Journal on Control and Optimization 47. n0 = 6, as for similar policies.

Use it without shifts, if a nearly best arm is good enough: it minimises the expected cost of a wrong
selection, not its probability. Under shifts use `reduce:knowledge-gradient`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_whole_number
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK
from tideproof.kernels.choose.arm_choice import LOWEST
from tideproof.kernels.choose.normal_tail import log_gain
from tideproof.kernels.choose.pull_value import (
    PullValues,
    can_judge,
    most_valuable,
    step_of_mean,
    steps_to_rival,
    two_best,
)
from tideproof.policies.final_selection_rules import MEAN
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy `knowledge-gradient`: n0, the number of initial pulls of each arm."""

    n0: int


class State(NamedTuple):
    """State of the policy `knowledge-gradient`: the expected gain from pulling each arm once more.

    A value is computed again only if its inputs have changed.

    Attributes
    ----------
    pull_values : log KG.
    distance : (K,) -zeta_i.
    step : (K,) st_i.
    """

    pull_values: PullValues
    distance: FloatK
    step: FloatK


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 6) -> Params:
    """Return the parameters of policy `knowledge-gradient`: n0, the number of initial pulls of each arm."""
    return Params(require_whole_number("n0", n0, 2))


@kernel
def ask(params, state, data, slot, draw):
    """Return the arm whose next pull has the largest knowledge gradient, the expected gain of a pull."""
    return most_valuable(state.pull_values, data, params.n0, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Update the knowledge gradient (value of one more pull) of each arm whose statistics have changed."""
    if not can_judge(state.pull_values, data, params.n0):
        return
    best, second = two_best(data.moments.mean)
    for i in range(data.pulls.size):
        step = step_of_mean(data, i)
        distance = steps_to_rival(data, i, second if i == best else best, step)
        if step == 0.0:
            state.pull_values.values[i] = LOWEST
        elif distance != state.distance[i] or step != state.step[i]:
            state.pull_values.values[i] = math.log(step) + log_gain(distance)
        state.distance[i] = distance
        state.step[i] = step


POLICY = Policy(
    name="knowledge-gradient",
    idea="pulls the arm whose next reward is expected to raise the largest mean most",
    reference="Frazier, Powell, Dayanik 2008",
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
