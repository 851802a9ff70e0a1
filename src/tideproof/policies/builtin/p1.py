"""P1 draws arms with probabilities that depend only on their ranks, which is safe against an adversary.

The arms are ranked by decreasing G_i, the sum of the rewards of arm i, each divided by the probability with
which the arm was drawn. The next arm is drawn with the probabilities

    p_i = 1 / (rank_i H_K),  H_K = 1 + 1/2 + ... + 1/K.

There is nothing to tune. Every arm is pulled again and again, so G_i / t is an unbiased estimate of the mean
of arm i over all steps, whatever an adversary does. Use it if you can assume nothing about the rewards. The
selection rule `ips` (the original one) selects the largest G_i, and `mean` the largest raw mean. Neither
takes into account that a shift affects all arms equally, and the noise of G grows with the size of the
rewards: adding a constant to all rewards changes the choices.

Abbasi-Yadkori, Bartlett, Gabillon, Malek, Valko (2018), Best of both worlds: stochastic and
adversarial best-arm identification, COLT. Arms with equal G share the probabilities of their ranks, which is
the same as ranking them at random. A late reward is divided by the probability that its arm has when the
reward arrives.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.simulate.threefry import uniform
from tideproof.policies.final_selection_rules import IPS, MEAN
from tideproof.policies.policy_definition import Policy


class Params(NamedTuple):
    """Parameters of the bandit policy P1: the harmonic number 1 + 1/2 + ... + 1/K for K arms."""

    harmonic: float


class State(NamedTuple):
    """Empty state of the bandit policy P1, which needs only the weighted sums of rewards."""


def configure(arms: int, horizon: int | None, selection: str) -> Params:
    """Return the parameters of the bandit policy P1, computed from the number of arms alone."""
    return Params(sum(1.0 / k for k in range(1, arms + 1)))


@kernel
def chance(params, data, arm):
    """Return the probability with which the policy chooses a given arm for the next pull."""
    G = data.moments.sums
    above, equal = 0, 0
    for k in range(G.size):
        if G[k] > G[arm]:
            above += 1
        elif G[k] == G[arm]:
            equal += 1
    total = 0.0
    for rank in range(above + 1, above + equal + 1):
        total += 1.0 / rank
    return total / (equal * params.harmonic)


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull, drawn at random with the probabilities that `chance` returns."""
    left = uniform(draw, 0)
    for i in range(data.pulls.size - 1):
        left -= chance(params, data, i)
        if left < 0.0:
            return i
    return data.pulls.size - 1


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Do nothing after a pull, because the bandit policy P1 has no state."""


@kernel
def weigh(params, state, data, arm):
    """Return a reward's inverse-propensity weight: 1 / (probability of choosing its arm)."""
    return 1.0 / chance(params, data, arm)


POLICY = Policy(
    name="p1",
    idea="draws arms with probabilities set by the ranks of their rewards weighted by inverse propensity",
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
