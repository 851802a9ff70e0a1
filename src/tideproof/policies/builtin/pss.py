"""PSS(u): phases of equal length, each of which keeps about one arm in u.

There are M = ceil(ln K / ln u) phases of floor(T / M) steps. Phase m plays the arms still in and
keeps the

    ceil(K / u^m)

best by the rewards of *this phase only*. The last arm is selected, and gets the few pulls that are
left over. A large u drops arms early and fast; u >= K is one phase of round robin.

Use it where a limited part of the rewards may have been tampered with: chance, not a fixed order,
decides who is hit. Shifts that hit every environment are more than it was made for.

Zhong, Cheung, Tan (2021), Probabilistic sequential shrinking: a best arm identification algorithm
for stochastic bandits with corruptions, ICML. Arms are drawn there independently; here, as in the
ECAI 2024 paper, in randomised round robin, with the means of the pulls made. The budget must allow
for one pull of each arm in the first phase: T >= K M.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite
from tideproof.core.array_layout import Int1
from tideproof.core.kernel_linker import kernel
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
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import SURVIVOR


class Params(NamedTuple):
    """The factor u, the number of phases, the steps of each."""

    u: float
    phases: int
    steps: int


class State(NamedTuple):
    """The arms still in.

    Attributes
    ----------
    race : the arms.
    phase : (1,) phases completed.
    """

    race: Race
    phase: Int1


def configure(arms: int, horizon: int, selection: str, *, u: float = 2.0) -> Params:
    """Set the factor by which each phase thins the arms."""
    u = require_finite("u", u)
    if u <= 1.0:
        raise InputError(f"u must be above 1, not {u:g}")
    phases = max(1, ceiling(math.log(arms) / math.log(u)))
    return Params(u, phases, horizon // phases)


@kernel
def size(params, arms, m):
    """Return ceil(K / u^m), the arms kept after phase m."""
    kept = float(arms)
    for _ in range(m):
        kept /= params.u
    return max(1, ceiling(kept))


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm of those still in."""
    return race_arm(state.race, data, draw)


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Thin out the arms when the rewards of the phase are in."""
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
    idea="keeps one arm in u, phase by phase; made for tampered rewards",
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
