"""Confidence in the leading arm: the smallest t statistic of its lead over another arm."""

from __future__ import annotations

import math

from tideproof.core.kernel_array_access import at, diagonal, fetch
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.student_tail import log_tail
from tideproof.kernels.fit.fixed_effects import connected, degrees_of_freedom, variance_to

MINIMUM_FREEDOM = 2  # minimum degrees of freedom for any conclusion
ROUNDING_SHARE = 1e-14  # residual squares below this share are rounding errors, not information on the noise


@kernel
def leader_of(fit):
    """Return the arm with the largest estimated mean."""
    leader, lead = 0, fit.mu[0]
    for i in range(fit.mu.size):
        if fit.mu[i] > lead:
            leader, lead = i, fit.mu[i]
    return leader


@kernel
def least_lead(fit, leader, row):
    """Return the leading arm's smallest t statistic against another arm; 0 if the noise is unknown."""
    nu = degrees_of_freedom(fit)
    if nu < MINIMUM_FREEDOM or not connected(fit) or fit.rss[0] <= 0.0:
        return 0.0
    P, mu = fit.P, fit.mu
    lead, own, noise = at(mu, leader), diagonal(P, leader), fit.rss[0] / nu
    fetch(P, leader, row)
    least = math.inf
    for i in range(mu.size):
        gap = lead - mu[i]
        variance = noise * variance_to(P, leader, own, row, i)
        if i != leader:
            least = min(least, gap * gap / variance if variance > 0.0 else 0.0)
    return math.sqrt(least) if least * ROUNDING_SHARE < nu else 0.0


@kernel
def is_leader_significant(fit, leader, row, gate, bound):
    """Return whether the leading arm is significantly better than every other arm.

    This holds if every t statistic of its lead has a tail probability of at most exp(-bound). `gate` is the
    normal quantile for that probability: a smaller t statistic cannot satisfy the bound, so that its tail
    probability need not be computed.
    """
    least = least_lead(fit, leader, row)
    return least >= gate and -log_tail(least, float(degrees_of_freedom(fit))) >= bound


@kernel
def may_reach_bound(fit, leader, row, bound):
    """Return whether the maximised log likelihood ratio in favour of the leading arm exceeds `bound`."""
    t, nu = least_lead(fit, leader, row), degrees_of_freedom(fit)
    return t > 0.0 and 0.5 * nu * math.log1p(t * t / nu) > bound
