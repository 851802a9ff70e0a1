"""The 0-1_1 procedure pulls the arm whose next reward is most likely to change which arm has the best mean.

With (k) the best mean, (k-1) the second best and lambda_i = N_i (N_i + 1)/s2_i,

    d_i = (xbar_(k) - xbar_i) sqrt(lambda_i),  d_(k) = (xbar_(k) - xbar_(k-1)) sqrt(lambda_(k)),
    EVI_i = Phi_{N_i - 1}(-d_i),

where Phi_nu is the distribution function of Student's t. EVI_i is the probability, under a noninformative
prior, that one more reward of arm i makes another arm the best. The policy pulls the arm with the largest
EVI_i, after n0 pulls of each arm in a fixed order. Logarithms are compared, because the probabilities soon
underflow.

Chick, Branke, Schmidt (2010), Sequential sampling to myopically maximize the expected value of
information, INFORMS Journal on Computing 22. n0 = 6 as in the paper on LinLUCB.

Use it without shifts, if the noise differs between arms. It mistakes shifts for noise and for differences
of arms; under shifts use `reduce:zero-one`.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.checks import require_whole_number
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK
from tideproof.kernels.choose.pull_value import (
    PullValues,
    can_judge,
    most_valuable,
    step_of_mean,
    steps_to_rival,
    two_best,
)
from tideproof.kernels.choose.student_tail import log_tail
from tideproof.policies.final_selection_rules import MEAN
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy `zero-one`: n0, the number of initial pulls of each arm."""

    n0: int


class State(NamedTuple):
    """State of the policy `zero-one`: for each arm, the probability that one more pull changes the best arm.

    A value is computed again only if its inputs have changed.

    Attributes
    ----------
    pull_values : log EVI.
    distance : (K,) d_i.
    freedom : (K,) degrees of freedom; 0 before the first value.
    """

    pull_values: PullValues
    distance: FloatK
    freedom: FloatK


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 6) -> Params:
    """Return the parameters of the policy `zero-one`: n0, the number of initial pulls of each arm."""
    return Params(require_whole_number("n0", n0, 2))


@kernel
def ask(params, state, data, slot, draw):
    """Return the arm whose next reward is most likely to change which arm would be selected as the best."""
    return most_valuable(state.pull_values, data, params.n0, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Update, for each arm, the probability that its next reward changes which arm would be selected.

    This is EVI_i. It is computed again only if its inputs have changed.
    """
    if not can_judge(state.pull_values, data, params.n0):
        return
    best, second = two_best(data.moments.mean)
    for i in range(data.pulls.size):
        distance = steps_to_rival(data, i, second if i == best else best, step_of_mean(data, i))
        freedom = data.moments.told[i] - 1.0
        if distance != state.distance[i] or freedom != state.freedom[i]:
            state.distance[i] = distance
            state.freedom[i] = freedom
            state.pull_values.values[i] = log_tail(distance, freedom)


POLICY = Policy(
    name="zero-one",
    idea="pulls the arm whose next reward is most likely to change the selection",
    reference="Chick, Branke, Schmidt 2010",
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
