"""Top-two Thompson sampling pulls the best arm of a random posterior draw, or a challenger of this arm.

The policy draws the means of all arms from their posterior N(muhat, sigma2hat P), of which only differences
matter. I is the best arm of the draw. With probability beta it pulls I. Otherwise it draws again until
another arm J is the best, and pulls J. If 8 draws all have I as the best arm, J is the arm with the smallest
(muhat_I - muhat_i)^2/V_Ii, which is the hardest to separate from I. Thompson sampling without the second
draw would pull the leader more and more often; the second draw continues to test the leader. The fixed-
effects fit estimates the shifts, so they do not affect the choices.

Russo (2016), Simple Bayesian algorithms for best-arm identification, COLT; here with the posterior of the
fit under a flat prior. It begins with n0 pulls of each arm by Algorithm 1.

Use it under shifts if rewards arrive late or in batches: its choices are random, so many pulls that are
requested at once are spread over the promising arms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.kernel_array_access import at, diagonal, fetch
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import FloatK, Int1
from tideproof.errors import InputError
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.choose.posterior_draws import Posterior, best_of_draw, find_contenders
from tideproof.kernels.fit.statistics_interface import degrees_of_freedom, sigma2, variance_to
from tideproof.kernels.simulate.threefry import uniform
from tideproof.policies.final_selection_rules import OLS
from tideproof.policies.policy_definition import Policy

REDRAWS = 8  # posterior draws before the second arm is chosen without a draw


class Params(NamedTuple):
    """Parameters of top-two Thompson sampling: initial pulls, and probability of using the first random draw.

    Attributes
    ----------
    n0 : pulls of each arm by Algorithm 1.
    beta : the probability of pulling the best arm of the first draw.
    """

    n0: int
    beta: float


class State(NamedTuple):
    """State of top-two Thompson sampling: the arm to pull next, and the posterior distribution of arm means.

    `tell` draws the arm, because `ask` must not write.

    Attributes
    ----------
    start : state of Algorithm 1.
    planned : (1,) 1 after there is a posterior.
    choice : (1,) the arm to pull next.
    posterior : the posterior given the current fit.
    margins : (K,) scratch.
    """

    start: Start
    planned: Int1
    choice: Int1
    posterior: Posterior
    margins: FloatK


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 2, beta: float = 0.5) -> Params:
    """Return the parameters of the policy `top-two-thompson`, computed from its options."""
    if require_finite("beta", beta, 0.0) > 1.0:
        raise InputError(f"beta must be a probability from 0 to 1, not {beta!r}")
    return Params(require_whole_number("n0", n0, 2), float(beta))


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm to pull: first by an initial round robin, then the arm that `tell` has drawn."""
    if state.planned[0] == 1:
        return state.choice[0]
    if not started(data, params.n0):
        return start_arm(state.start, data, slot, params.n0, -1, draw)
    return least_pulled(data.pulls, draw)  # the fit has no degrees of freedom yet


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """After each pull, draw the next arm at random, based on the posterior distribution of arm means.

    Until the initial round robin is complete, only record the pull.
    """
    if state.planned[0] == 0:
        start_tell(state.start, data, slot, arm, n)
        if started(data, params.n0) and degrees_of_freedom(data.fit) > 0:
            state.planned[0] = 1
    if state.planned[0] == 1:
        state.choice[0] = choose_arm(params, state, data, draw)


@kernel
def choose_arm(params, state, data, draw):
    """Choose the next arm at random, by drawing the means of all arms from their posterior distribution."""
    fit, posterior, margins = data.fit, state.posterior, state.margins
    K = margins.size
    variance = sigma2(fit)
    sigma = math.sqrt(variance)
    find_contenders(posterior, fit, variance)
    pending = -fit.told[0]
    for i in range(K):
        pending += data.pulls[i]
    lane = (
        K + (REDRAWS + 1) * K * pending
    )  # other random numbers per pending pull; `argmax` uses lanes below K
    draws = 1 + REDRAWS if posterior.size[0] > 1.0 else 1
    first = -1
    for j in range(draws):  # a second call of `best_of_draw` would take a GPU 1.8 times as long
        best = best_of_draw(posterior, fit, sigma, draw, lane + j * K + 1)
        if j == 0:
            first = best
            if uniform(draw, lane) < params.beta:
                return first
        elif best != first:
            return best
    P, row, lead = fit.P, posterior.row, at(fit.mu, first)
    own = diagonal(P, first)
    fetch(P, first, row)
    for i in range(K):
        gap = lead - fit.mu[i]
        margins[i] = LOWEST if i == first else -gap * gap / variance_to(P, first, own, row, i)
    return argmax(margins, draw)


POLICY = Policy(
    name="top-two-thompson",
    idea="pulls the best arm of a posterior sample or, as often, of a further sample with another best arm",
    reference="Russo 2016",
    State=State,
    configure=configure,
    ask=ask,
    tell=tell,
    minimum=lambda arms, params: arms * params.n0,
    selections=(OLS,),
    reads=frozenset({"fit"}),
    needs_horizon=False,
    shift_aware=True,
    merges=lambda state: bool(state.planned[0]),
)
