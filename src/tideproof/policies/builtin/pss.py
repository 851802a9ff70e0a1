"""PSS(u), probabilistic sequential shrinking, keeps about a share 1/u of its arms after each phase.

There are M = ceil(ln K / ln u) phases of floor(T / M) steps. Phase m pulls the arms that are not eliminated
and keeps the

    ceil(K / u^m)

best arms by the rewards of *this phase only*. The last arm is selected and gets the pulls that are left. A
large u eliminates arms early; with u >= K there is one phase of round robin.

Use it if someone may have manipulated a limited part of the rewards: the arms are pulled in a random order,
so an adversary cannot know which arm a manipulation affects. The policy was not made for shifts that affect
every environment.

Zhong, Cheung, Tan (2021), Probabilistic sequential shrinking: a best arm identification algorithm
for stochastic bandits with corruptions, ICML. There, arms are drawn independently. Here they are pulled in
randomised round robin, as in the ECAI 2024 paper, and the means are those of the pulls made. The budget must
allow one pull of each arm in the first phase: T >= K M.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Int1
from tideproof.errors import InputError
from tideproof.kernels.choose.elimination import (
    Race,
    ceiling,
    end_phase,
    fewest_told,
    in_race,
    race_arm,
    still_in,
)
from tideproof.policies.final_selection_rules import SURVIVOR
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the policy PSS(u): the factor u, the number of phases and the pulls per phase."""

    u: float
    phases: int
    steps: int


class State(NamedTuple):
    """State of the bandit policy PSS(u): the eliminated arms and the number of completed phases.

    Attributes
    ----------
    race : which arms are eliminated.
    phase : (1,) number of completed phases.
    """

    race: Race
    phase: Int1


def configure(arms: int, horizon: int, selection: str, *, u: float = 2.0) -> Params:
    """Return the parameters of the policy `pss`, in which each phase divides the number of arms by u."""
    u = require_finite("u", u)
    if u <= 1.0:
        raise InputError(f"u must be above 1, not {u:g}")
    phases = max(1, ceiling(math.log(arms) / math.log(u)))
    return Params(u, phases, horizon // phases)


@kernel
def size(params, arms, m):
    """Return the number of arms that remain after phase m: ceil(K / u^m) of K arms."""
    kept = float(arms)
    for _ in range(m):
        kept /= params.u
    return max(1, ceiling(kept))


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull, one of those that are not eliminated."""
    return race_arm(state.race, data, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Eliminate arms when all rewards of the current phase have been received."""
    race, weights = state.race, data.moments.weights
    steps = 0.0
    for i in range(weights.size):
        if race.dropped[i] == 0:
            steps += weights[i]
    if still_in(race) > 1 and steps >= params.steps and fewest_told(race, weights) > 0.0:
        state.phase[0] += 1
        end_phase(race, data, size(params, weights.size, state.phase[0]), draw)


POLICY = Policy(
    name="pss",
    idea="keeps a share 1/u of the arms after each phase; designed for rewards that may be manipulated",
    reference="Zhong, Cheung, Tan 2021",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.phases,
    selections=(SURVIVOR,),
    reads=frozenset({"sums"}),
    needs_horizon=True,
    shift_aware=False,
    active=in_race,
)
