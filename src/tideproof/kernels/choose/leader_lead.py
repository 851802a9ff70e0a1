"""How sure the leader is: the least Student-t statistic of its lead over another arm."""

from __future__ import annotations

import math

from tideproof.core.array_access import at, diagonal, fetch
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.choose.student_tail import log_tail
from tideproof.kernels.fit.fixed_effects import connected, freedom, variance_to

FEWEST = 2  # degrees of freedom below which nothing is sure
EXACT = 1e-14  # the share of squares that is rounding: rewards without noise say nothing of noise


@kernel
def leader_of(fit):
    """Return the arm with the largest estimate."""
    leader, lead = 0, fit.mu[0]
    for i in range(fit.mu.size):
        if fit.mu[i] > lead:
            leader, lead = i, fit.mu[i]
    return leader


@kernel
def least_lead(fit, leader, row):
    """Return the least of the leader's t statistics against the others; 0 if the noise is unknown."""
    nu = freedom(fit)
    if nu < FEWEST or not connected(fit) or fit.rss[0] <= 0.0:
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
    return math.sqrt(least) if least * EXACT < nu else 0.0


@kernel
def is_sure(fit, leader, row, gate, bound):
    """Tell whether every other arm is behind with a tail probability of exp(-bound) at most.

    `gate` is the normal deviate of that probability: a smaller t need not be looked up.
    """
    least = least_lead(fit, leader, row)
    return least >= gate and -log_tail(least, float(freedom(fit))) >= bound


@kernel
def may_be_proven(fit, leader, row, bound):
    """Tell whether the likelihood, at its best, speaks for the leader by more than the bound."""
    t, nu = least_lead(fit, leader, row), freedom(fit)
    return t > 0.0 and 0.5 * nu * math.log1p(t * t / nu) > bound
