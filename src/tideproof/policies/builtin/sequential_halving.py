"""Sequential halving eliminates the worse half of the arms after each round.

There are R = ceil(log2 K) rounds of equal cost. In a round with the set S of arms, each of them gets

    floor(T / (|S| R))

pulls in randomised round robin. The best ceil(|S| / 2) by the rewards of *this round only* remain. The last
arm is selected and gets the pulls that are left.

Use it to find the best of many arms with a fixed budget and without shifts: its guarantee is within a factor
log log K of the best possible. Under shifts it is riskier to eliminate half of the arms after one short
round than to eliminate one at a time.

Karnin, Koren, Somekh (2013), Almost optimal exploration in multi-armed bandits, ICML. The order within a
round is an addition of tideproof. The budget must allow one pull of each arm in the first round: T >= K R.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.elimination import Race, end_phase, fewest_told, in_race, race_arm, still_in
from tideproof.policies.final_selection_rules import SURVIVOR
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy `sequential-halving`: the budget and the number of rounds."""

    horizon: int
    rounds: int


class State(NamedTuple):
    """State of the policy `sequential-halving`: the eliminated arms."""

    race: Race


def configure(arms: int, horizon: int, selection: str) -> Params:
    """Compute the parameters of the policy `sequential-halving` from the budget and the number of arms."""
    return Params(horizon, (arms - 1).bit_length())


@kernel
def quota(params, arms):
    """Return how many pulls each arm gets in a round with the given number of arms."""
    return params.horizon // (arms * params.rounds)


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull, one of those that are not eliminated."""
    return race_arm(state.race, data, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Eliminate the worse half of the arms when all rewards of the round have been received."""
    arms = still_in(state.race)
    if arms > 1 and fewest_told(state.race, data.moments.weights) >= quota(params, arms):
        end_phase(state.race, data, (arms + 1) // 2, draw)


POLICY = Policy(
    name="sequential-halving",
    idea="eliminates the worse half of the arms after each round",
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
