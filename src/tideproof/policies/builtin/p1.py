"""P1: play better arms more often, by their rank alone; safe against an adversary.

The arms are ranked by decreasing G_i, the sum of the arm's rewards, each divided by the chance its
arm had when it was played. The next arm is drawn with the chances

    p_i = 1 / (rank_i H_K),  H_K = 1 + 1/2 + ... + 1/K.

There is nothing to tune and every arm goes on being played, so that G_i / t estimates the arm's
mean over all steps without bias, whatever an adversary does. Use it where you trust nothing. With
selection `ips` (the original) the largest G_i wins, with `mean` the largest raw mean. Neither knows
that a shift moves all arms together, and the noise of G grows with the level of the rewards: adding
a constant to all of them changes its choices.

Abbasi-Yadkori, Bartlett, Gabillon, Malek, Valko (2018), Best of both worlds: stochastic and
adversarial best-arm identification, COLT. Arms with equal G share the chances of their ranks, which
is what ranking them at random comes to. A reward told late is divided by the chance its arm has at
that moment.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.simulate.threefry import uniform
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import IPS, MEAN


class Params(NamedTuple):
    """The harmonic number H_K."""

    harmonic: float


class State(NamedTuple):
    """None: the sums say it all."""


def configure(arms: int, horizon: int | None, selection: str) -> Params:
    """Set nothing but H_K: there are no options."""
    return Params(sum(1.0 / k for k in range(1, arms + 1)))


@kernel
def chance(params, data, arm):
    """Return p_arm."""
    G = data.moments.sums
    above, level = 0, 0
    for k in range(G.size):
        if G[k] > G[arm]:
            above += 1
        elif G[k] == G[arm]:
            level += 1
    total = 0.0
    for rank in range(above + 1, above + level + 1):
        total += 1.0 / rank
    return total / (level * params.harmonic)


@kernel
def ask(params, state, data, slot, draw):
    """Draw an arm."""
    left = uniform(draw, 0)
    for i in range(data.pulls.size - 1):
        left -= chance(params, data, i)
        if left < 0.0:
            return i
    return data.pulls.size - 1


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Remember nothing."""


@kernel
def weigh(params, state, data, arm):
    """Return 1 / p_arm."""
    return 1.0 / chance(params, data, arm)


POLICY = Policy(
    name="p1",
    idea="draws arms by the rank of their inverse-propensity sums; no parameter",
    reference="Abbasi-Yadkori, Bartlett, Gabillon, Malek, Valko 2018",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms,
    selections=(MEAN, IPS),
    reads=frozenset({"sums"}),
    needs_horizon=False,
    shift_aware=False,
    weigh=weigh,
)
