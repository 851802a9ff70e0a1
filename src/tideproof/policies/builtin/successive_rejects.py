"""Successive Rejects: K - 1 phases, each of which drops the arm with the lowest mean.

In phase k every arm still in is brought to

    n_k = ceil((T - K) / (logbar K (K + 1 - k))),  logbar K = 1/2 + 1/2 + 1/3 + ... + 1/K

pulls in randomised round robin; then the one with the lowest mean of all its rewards drops out. The
last arm is selected, and gets the few pulls that are left over.

Use it for the best arm under a fixed budget, when nothing shifts: it has no parameter and is within
a factor log K of the best possible. Under shifts it does slightly worse than round robin.

Audibert, Bubeck, Munos (2010), Best arm identification in multi-armed bandits, COLT; the order
within a phase is that of the ECAI 2024 paper. The budget must allow for one pull in the first
phase: T > K.
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
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import SURVIVOR


class Params(NamedTuple):
    """(T - K) / logbar K."""

    share: float


class State(NamedTuple):
    """The arms still in."""

    race: Race


def configure(arms: int, horizon: int, selection: str) -> Params:
    """Set nothing but (T - K) / logbar K: there are no options."""
    return Params((horizon - arms) / (0.5 + sum(1.0 / i for i in range(2, arms + 1))))


@kernel
def target(params, arms):
    """Return n_k, the pulls each of the `arms` = K + 1 - k arms still in has after phase k."""
    return ceiling(params.share / arms)


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm of those still in."""
    return race_arm(state.race, data, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Drop the worst arm when the rewards of the phase are in."""
    race, moments = state.race, data.moments
    arms = still_in(race)
    while arms > 1 and fewest_told(race, moments.told) >= target(params, arms):
        drop_lowest(race, moments.mean, draw)
        arms -= 1


POLICY = Policy(
    name="successive-rejects",
    idea="drops the arm with the lowest mean, phase by phase",
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
