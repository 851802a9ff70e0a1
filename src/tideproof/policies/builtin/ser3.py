"""SER3: play all arms still in, round after round, and drop those that cannot be the best any more.

After round tau, with kmax the arm with the largest mean, every arm k != kmax drops out for which

    muhat_kmax - muhat_k + epsilon >= sqrt((2 / tau) ln(4 K tau^2 / delta)).

It stops by itself when one arm is left, which is selected: the right side falls below epsilon in
the end. There is no budget to give; if there is one, it is a cap, at which the best mean of the arms
still in is selected. A smaller delta asks for more confidence and more samples.

Use it where the number of pulls is free, the gap between the best arms is roughly known and arms may
change: each round is shuffled, so that a change hits all of them alike. Of the policies that ignore
the shifts it suffers least from them.

Allesiardo, Féraud, Maillard (2017), The non-stationary stochastic multi-armed bandit problem,
International Journal of Data Science and Analytics 3. The test is for rewards of unit range and is
applied to rewards as they are; epsilon is read as the known gap of the two best arms, which alone
agrees with what the ECAI 2024 paper reports. delta may be as small as 1e-40, so its logarithm is given.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite
from tideproof.core.array_layout import Int1
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.elimination import Race, fewest_told, front_runner, in_race, race_arm, still_in
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import SURVIVOR


class Params(NamedTuple):
    """The known gap, and ln(1/delta)."""

    epsilon: float
    log_inverse_delta: float


class State(NamedTuple):
    """The arms still in.

    Attributes
    ----------
    race : the arms.
    rounds : (1,) tau, the rounds tested.
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
    """Set the known gap of the two best arms, and ln(1/delta)."""
    return Params(
        require_finite("epsilon", epsilon, 0.0),
        require_finite("log_inverse_delta", log_inverse_delta, 0.0),
    )


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm of those still in, or -1 if one is left."""
    return race_arm(state.race, data, draw) if still_in(state.race) > 1 else -1


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Drop arms when the rewards of the round are in; a batch may bring several rounds at once."""
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
    idea="drops arms that cannot be the best any more, and stops by itself",
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
