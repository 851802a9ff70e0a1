"""SER3 pulls all remaining arms in rounds, and eliminates arms that can no longer be the best.

After round tau, with kmax the arm with the largest mean, it eliminates every arm k != kmax for which

    muhat_kmax - muhat_k + epsilon >= sqrt((2 / tau) ln(4 K tau^2 / delta)).

It stops by itself when one arm is left, which is selected. This always happens, because the right side falls
below epsilon. It needs no budget. If a budget is given, it limits the number of pulls, and the remaining arm
with the largest mean is selected at its end. A smaller delta gives more confidence and takes more pulls.

Use it if the number of pulls is not limited, the gap between the best arms is roughly known, and arms may
change over time: each round has a random order, so a change affects all arms alike. Among the policies that
ignore shifts, shifts harm it least.

Allesiardo, Féraud, Maillard (2017), The non-stationary stochastic multi-armed bandit problem,
International Journal of Data Science and Analytics 3. The test was derived for rewards in a range of length
1; here it is applied to the rewards as they are. epsilon is interpreted as the known gap of the two best
arms, the only interpretation that agrees with the results of the ECAI 2024 paper. delta may be as small as
1e-40, so the option is its logarithm.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Int1
from tideproof.kernels.choose.elimination import Race, fewest_told, front_runner, in_race, race_arm, still_in
from tideproof.policies.final_selection_rules import SURVIVOR
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy `ser3`: the known gap between the two best arms, and the confidence."""

    epsilon: float
    log_inverse_delta: float


class State(NamedTuple):
    """State of the policy `ser3`: the eliminated arms, and the number of rounds evaluated so far.

    Attributes
    ----------
    race : which arms are eliminated.
    rounds : (1,) tau, the number of tested rounds.
    """

    race: Race
    rounds: Int1


def configure(
    arms: int,
    horizon: int | None,
    selection: str,
    *,
    epsilon: float = 0.5,
    log_inverse_delta: float = 25.0,
) -> Params:
    """Return the parameters of the policy `ser3`: the known gap between the best arms, and the confidence.

    The options are `epsilon`, the gap, and ln(1/delta).
    """
    return Params(
        require_finite("epsilon", epsilon, 0.0),
        require_finite("log_inverse_delta", log_inverse_delta, 0.0),
    )


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull, one of those not eliminated, or -1 if only one arm is left."""
    return race_arm(state.race, data, draw) if still_in(state.race) > 1 else -1


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Eliminate arms when all rewards of a round have been received.

    A batch may complete several rounds.
    """
    race, mean = state.race, data.moments.mean
    tau = fewest_told(race, data.moments.told)
    while tau > state.rounds[0] and still_in(race) > 1:
        state.rounds[0] = int(tau)
        best = front_runner(race, data.moments, draw)
        log = math.log(4.0 * mean.size) + 2.0 * math.log(tau) + params.log_inverse_delta
        threshold = math.sqrt(2.0 / tau * log)
        for k in range(mean.size):
            if k != best and mean[best] - mean[k] + params.epsilon >= threshold:
                race.dropped[k] = 1
        tau = fewest_told(race, data.moments.told)


POLICY = Policy(
    name="ser3",
    idea="eliminates arms that can no longer be the best, and stops by itself",
    reference="Allesiardo, Féraud, Maillard 2017",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms,
    selections=(SURVIVOR,),
    reads=frozenset({"means"}),
    needs_horizon=False,
    shift_aware=False,
    active=in_race,
    stops=True,
)
