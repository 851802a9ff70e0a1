"""Successive rejects eliminates the arm with the lowest mean after each of K - 1 phases.

In phase k every remaining arm is pulled until it has

    n_k = ceil((T - K) / (logbar K (K + 1 - k))),  logbar K = 1/2 + 1/2 + 1/3 + ... + 1/K

pulls, in randomised round robin. Then the arm with the lowest mean of all its rewards is eliminated. The
last arm is selected and gets the pulls that are left.

Use it to find the best arm with a fixed budget and without shifts: it has no parameters and is within a
factor log K of the best possible. Under shifts it is slightly worse than round robin.

Audibert, Bubeck, Munos (2010), Best arm identification in multi-armed bandits, COLT. The order within a
phase is that of the ECAI 2024 paper. The budget must allow one pull of each arm in the first phase: T > K.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.elimination import (
    Race,
    ceiling,
    drop_lowest,
    fewest_told,
    in_race,
    race_arm,
    still_in,
)
from tideproof.policies.final_selection_rules import SURVIVOR
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy `successive-rejects`: a factor that determines the pulls in every phase.

    `share` is (T - K) / logbar K.
    """

    share: float


class State(NamedTuple):
    """State of the policy `successive-rejects`: the eliminated arms."""

    race: Race


def configure(arms: int, horizon: int, selection: str) -> Params:
    """Compute the parameters of the policy `successive-rejects` from the budget and the number of arms."""
    return Params((horizon - arms) / (0.5 + sum(1.0 / i for i in range(2, arms + 1))))


@kernel
def target(params, arms):
    """Return how many pulls each arm must have at the end of the phase with the given number of arms.

    This is n_k for phase k, which begins with K + 1 - k arms.
    """
    return ceiling(params.share / arms)


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull, one of those that are not eliminated."""
    return race_arm(state.race, data, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Eliminate the worst arm when all rewards of the current phase have been received."""
    race, moments = state.race, data.moments
    arms = still_in(race)
    while arms > 1 and fewest_told(race, moments.told) >= target(params, arms):
        drop_lowest(race, moments.mean, draw)
        arms -= 1


POLICY = Policy(
    name="successive-rejects",
    idea="eliminates the arm with the lowest mean after each phase",
    reference="Audibert, Bubeck, Munos 2010",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms + 1,
    selections=(SURVIVOR,),
    reads=frozenset({"means"}),
    needs_horizon=True,
    shift_aware=False,
    active=in_race,
)
