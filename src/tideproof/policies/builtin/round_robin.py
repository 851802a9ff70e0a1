"""Round robin pulls every arm in turn.

The order is fixed, a_t = 1 + ((t - 1) mod K), and does not depend on the environment. Only with the
selection rule `ols` it begins with Algorithm 1 and continues with randomised round robin, so that shared
environments connect all arms. In a fixed order, ten arms in environments of length 2 are never connected.

Use it as a baseline, or if the allocation must not depend on rewards: confidence intervals are then exact.
The selection rules are the usual ways to analyse such data. `mean` compares raw means and `ols` estimates
the shifts; `period` and `control` are the rules of experiment platforms. The period-weighted mean
(GrowthBook) is sum_j m_j xbar_ij / sum_j m_j over the environments j that contain arm i. Epoch against
control (Optimizely) is the difference to the first arm within environments, weighted by
n_ij n_cj / (n_ij + n_cj). Both are as good as `ols` if environments are long and balanced, and worse if
an arm is missing in some environments.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.checks import require_whole_number
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.choose.round_robin_start import in_turn
from tideproof.policies.final_selection_rules import CONTROL, MEAN, OLS, PERIOD
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy `round-robin`: n0, the number of initial pulls of each arm in random order.

    These pulls are Algorithm 1; n0 is 0 for the fixed order.
    """

    n0: int


class State(NamedTuple):
    """State of the policy `round-robin`: the progress of its initial pulls in random order.

    These pulls are Algorithm 1 of the paper, which makes all arms comparable.
    """

    start: Start


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 2) -> Params:
    """Return the parameters of the policy `round-robin`, which depend on its selection rule.

    n0 is 0 except for the selection rule `ols`.
    """
    n0 = require_whole_number("n0", n0, 1)
    return Params(n0 if selection == "ols" else 0)


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm, in a fixed order or, for the selection rule `ols`, in a random order.

    For `ols`, Algorithm 1 chooses the arms until it is complete.
    """
    if params.n0 > 0:
        if not started(data, params.n0):
            return start_arm(state.start, data, slot, params.n0, -1, draw)
        return least_pulled(data.pulls, draw)
    return in_turn(data.pulls)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Count `n` pulls of an arm towards the initial pulls in random order.

    Only the selection rule `ols` has initial pulls in random order.
    """
    if params.n0 > 0:
        start_tell(state.start, data, slot, arm, n)


POLICY = Policy(
    name="round-robin",
    idea="pulls every arm in turn",
    reference="baseline",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * max(params.n0, 1),
    selections=(MEAN, OLS, PERIOD, CONTROL),
    reads=frozenset(),
    reads_with_rule=frozenset({"fit"}),  # Algorithm 1 reads the fit; it runs only with `ols`
    needs_horizon=False,
    shift_aware=True,
    adaptive=False,
)
