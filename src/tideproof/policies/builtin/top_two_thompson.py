"""Top-two Thompson sampling: the best arm of one posterior draw, or of another that disagrees.

Draw the arms from their posterior N(muhat, sigma2hat P), of which only contrasts matter, and let I be
the best. With probability beta play I; otherwise draw again until the best is some J != I and play J.
After 8 draws that agree J is the arm with the smallest (muhat_I - muhat_i)^2/V_Ii, the hardest to tell
from I. Thompson sampling alone would play the leader ever more often; the second draw keeps testing
it. The fixed-effects fit takes the shifts out, so the choices do not depend on them.

Russo (2016), Simple Bayesian algorithms for best-arm identification, COLT; here on the posterior of
the fit under a flat prior. It begins with Algorithm 1, n0 pulls of each arm.

Use it under shifts when rewards come late or in batches: its choices are random, so that many pulls
asked for at once spread over the arms in contention.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from tideproof.checks import require_finite, require_whole_number
from tideproof.core.array_access import at, diagonal, fetch
from tideproof.core.array_layout import FloatK, Int1
from tideproof.core.kernel_linker import kernel
from tideproof.errors import InputError
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, least_pulled
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.choose.posterior_draws import Posterior, best_of_draw, find_contenders
from tideproof.kernels.fit.statistics_interface import freedom, sigma2, variance_to
from tideproof.kernels.simulate.threefry import uniform
from tideproof.policies.policy_definition import Policy
from tideproof.policies.selection_rules import OLS

REDRAWS = 8


class Params(NamedTuple):
    """Pulls of each arm by Algorithm 1, the probability of the first draw's best arm."""

    n0: int
    beta: float


class State(NamedTuple):
    """The arm to play next; drawn when the last reward came, so that `ask` only reads.

    Attributes
    ----------
    start : Algorithm 1.
    planned : (1,) 1 once there is a posterior.
    choice : (1,) the arm.
    posterior : of the present fit.
    margins : (K,) scratch.
    """

    start: Start
    planned: Int1
    choice: Int1
    posterior: Posterior
    margins: FloatK


def configure(arms: int, horizon: int | None, selection: str, *, n0: int = 2, beta: float = 0.5) -> Params:
    """Set pulls of each arm at the start, and the probability of the first draw's best arm."""
    if require_finite("beta", beta, 0.0) > 1.0:
        raise InputError(f"beta must be a probability, not {beta!r}")
    return Params(require_whole_number("n0", n0, 2), float(beta))


@kernel
def ask(params, state, data, slot, draw):
    """Return the next arm: of the initialisation, or the one drawn."""
    if state.planned[0] == 1:
        return state.choice[0]
    if not started(data, params.n0):
        return start_arm(state.start, data, slot, params.n0, -1, draw)
    return least_pulled(data.pulls, draw)  # no degree of freedom yet


@kernel
def tell(params, state, data, slot, arm, n, draw):
    """Draw the next arm."""
    if state.planned[0] == 0:
        start_tell(state.start, data, slot, arm, n)
        if started(data, params.n0) and freedom(data.fit) > 0:
            state.planned[0] = 1
    if state.planned[0] == 1:
        state.choice[0] = _choose(params, state, data, draw)


@kernel
def _choose(params, state, data, draw):
    fit, posterior, margins = data.fit, state.posterior, state.margins
    K = margins.size
    variance = sigma2(fit)
    sigma = math.sqrt(variance)
    find_contenders(posterior, fit, variance)
    out = -fit.told[0]
    for i in range(K):
        out += data.pulls[i]
    lane = K + (REDRAWS + 1) * K * out  # fresh numbers with every pull out; those below K are argmax's
    draws = 1 + REDRAWS if posterior.size[0] > 1.0 else 1
    first = -1
    for j in range(draws):  # one place that draws: with two a GPU takes 1.8 times as long
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
    idea="the best arm of a posterior draw, or of another draw that disagrees",
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
