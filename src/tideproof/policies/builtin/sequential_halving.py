"""Sequential Halving: each round drops the worse half of the arms.

There are R = ceil(log2 K) rounds of equal cost. In a round with the arms S each of them gets

    floor(T / (|S| R))

pulls in randomised round robin, and the best ceil(|S| / 2) by the rewards of *this round only* stay.
The last arm is selected, and gets the few pulls that are left over.

Use it for the best of many arms under a fixed budget, when nothing shifts: its guarantee is within
log log K of the best possible. Under shifts, dropping half of the arms after one short round is
riskier than dropping one at a time.

Karnin, Koren, Somekh (2013), Almost optimal exploration in multi-armed bandits, ICML; the order
within a round is ours. The budget must allow for one pull in the first round: T >= K R.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.elimination import Race, end_phase, fewest_told, in_race, race_arm, still_in
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import SURVIVOR


class Params(NamedTuple):
    """Budget and number of rounds."""

    horizon: int
    rounds: int


class State(NamedTuple):
    """The arms still in."""

    race: Race


def configure(arms: int, horizon: int, selection: str) -> Params:
    """Set nothing but the number of rounds: there are no options."""
    return Params(horizon, (arms - 1).bit_length())


@kernel
def quota(params, arms):
    """Return the pulls of each arm in a round with that many arms."""
    return params.horizon // (arms * params.rounds)


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm of those still in."""
    return race_arm(state.race, data, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Drop the worse half when the rewards of the round are in."""
    arms = still_in(state.race)
    if arms > 1 and fewest_told(state.race, data.moments.weights) >= quota(params, arms):
        end_phase(state.race, data, (arms + 1) // 2, draw)


POLICY = Policy(
    name="sequential-halving",
    idea="drops the worse half of the arms, round by round",
    reference="Karnin, Koren, Somekh 2013",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.rounds,
    selections=(SURVIVOR,),
    reads=frozenset({"sums"}),
    needs_horizon=True,
    shift_aware=False,
    active=in_race,
)
