"""Round robin: every arm in turn.

In a fixed order, a_t = 1 + ((t - 1) mod K), whatever the environment does; only with selection `ols`
by Algorithm 1 and then randomised round robin, so that the arms become comparable (in a fixed order,
ten arms in environments of length 2 never do).

Use it as the baseline, or where the allocation must not depend on rewards: intervals are then exact.
The selections are what can be done with such data: `mean` compares raw means, `ols` estimates the
shifts away, `period` and `control` are the rules of experiment platforms. The period-weighted mean
(GrowthBook) is sum_j m_j xbar_ij / sum_j m_j over the environments j that saw the arm; epoch against
control (Optimizely) is the difference to the first arm within environments, weighted by
n_ij n_cj / (n_ij + n_cj). Both are as good as `ols` when environments are long and balanced, and
lose to it when an arm misses some.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.checks import require_whole_number
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.arm_choice import least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.choose.round_robin_start import in_turn
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import CONTROL, MEAN, OLS, PERIOD


class Params(NamedTuple):
    """Pulls of each arm by Algorithm 1; 0 for the fixed order."""

    n0: int


class State(NamedTuple):
    """Where Algorithm 1 stands."""

    start: Start


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 2) -> Params:
    """Set the pulls of each arm by Algorithm 1 (only with selection `ols`)."""
    n0 = require_whole_number("n0", n0, 1)
    return Params(n0 if selection == "ols" else 0)


@kernel
def ask(params, state, data, slot, draw):
    """Return the first of the least pulled arms, or a random one of them after Algorithm 1."""
    if params.n0 > 0:
        if not started(data, params.n0):
            return start_arm(state.start, data, slot, params.n0, -1, draw)
        return least_pulled(data.pulls, draw)
    return in_turn(data.pulls)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Move Algorithm 1 on."""
    if params.n0 > 0:
        start_tell(state.start, data, slot, arm, n)


POLICY = Policy(
    name="round-robin",
    idea="every arm in turn",
    reference="baseline",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * max(params.n0, 1),
    selections=(MEAN, OLS, PERIOD, CONTROL),
    reads=frozenset(),
    reads_with_rule=frozenset({"fit"}),  # Algorithm 1, with `ols`
    needs_horizon=False,
    shift_aware=True,
    adaptive=False,
)
