"""Which arm is best, in draws from the posterior N(muhat, sigma^2 P) under a flat prior.

Only contrasts have a posterior, so the leader, the best estimate, stays where it is and the others
vary around their estimates with the covariance C_ik = P_ik - P_il - P_lk + P_ll, whatever the gauge
of P. The factor of C is found for every fit. Two things make draws cheap, the more so the clearer the leader:

* An arm more than 6.5 standard errors behind the leader is best with probability below 1e-10 and takes
  no part.
* A draw is sqrt(C) times a vector z of independent normal numbers, and the leader stays the best if
  |z| is below rho, the distance of the nearest contender in standard errors. From the uniform u_j
  behind z_j follows z_j^2 <= -2 log(2 min(u_j, 1 - u_j)): the product of all 2 min(u_j, 1 - u_j) above
  exp(-rho^2/2) settles the draw before any normal number is computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.array_access import at, diagonal, fetch, fetched
from tideproof.core.array_layout import Float1, FloatK, FloatKK, IntK
from tideproof.core.kernel_linker import kernel
from tideproof.kernels.fit.statistics_interface import variance_to
from tideproof.kernels.simulate.threefry import LANE_BITS, normal_quantile, threefry, unit

_REACH2 = 6.5**2


class Posterior(NamedTuple):
    """What draws need; computed anew from every fit.

    Attributes
    ----------
    arms : (K,) the leader, then the other contenders.
    size : (1,) how many they are. A float: of an integer a GPU's compiler would see that it is at most K, and
        write out every loop up to it (docs/decisions/0014).
    settled : (1,) exp(-rho^2/2).
    factor : (K, K) rows and columns from 1 on: U of C = U'U, for the contenders in that order.
    uniforms, values : (K,) the last draw, in that order.
    leading, row : (K,) for rows of P, the leader's and another.
    """

    arms: IntK
    size: Float1
    settled: Float1
    factor: FloatKK
    uniforms: FloatK
    values: FloatK
    leading: FloatK
    row: FloatK


@kernel
def find_contenders(posterior, fit, variance):
    """Find the contenders, the distance of the nearest, and the factor. O(K + m^3)."""
    P, mu, arms, leading = fit.P, fit.mu, posterior.arms, posterior.leading
    leader, lead = 0, mu[0]
    for i in range(1, mu.size):
        if mu[i] > lead:
            leader, lead = i, mu[i]
    arms[0] = leader
    m = 1
    nearest = _REACH2
    own = diagonal(P, leader)
    fetch(P, leader, leading)
    for i in range(mu.size):
        gap = lead - mu[i]
        uncertainty = variance * variance_to(P, leader, own, leading, i)
        if i != leader and gap * gap <= _REACH2 * uncertainty:
            arms[m] = i
            m += 1
            nearest = min(nearest, gap * gap / uncertainty if uncertainty > 0.0 else 0.0)
    posterior.size[0] = float(m)
    posterior.settled[0] = math.exp(-0.5 * nearest)
    _factorise(posterior, P, own)  # at once: a GPU's threads would need it first at different draws


@kernel
def _factorise(posterior, P, own):
    """Find U of C = U'U: Cholesky, O(m^3); own is P_ll."""
    arms, U, leading, row = posterior.arms, posterior.factor, posterior.leading, posterior.row
    m, leader = int(posterior.size[0]), posterior.arms[0]
    for i in range(1, m):
        a = arms[i]
        fetch(P, a, row)
        away = fetched(P, a, row, leader)  # of any arm, not of a loop's: the rows lie in memory here
        for k in range(i, m):
            b = arms[k]
            U[i, k] = fetched(P, a, row, b) - away - fetched(P, leader, leading, b) + own
    for j in range(1, m):
        scale = 1.0 / math.sqrt(U[j, j]) if U[j, j] > 0.0 else 0.0  # rounding may leave no sign
        for k in range(j, m):
            U[j, k] *= scale
        for i in range(j + 1, m):
            weight = U[j, i]
            for k in range(i, m):
                U[i, k] -= weight * U[j, k]


@kernel
def best_of_draw(posterior, fit, sigma, draw, lane):
    """Draw the arms once and return the best; uses at most K/2 lanes, from `lane` on. O(m^2)."""
    arms, mu, U = posterior.arms, fit.mu, posterior.factor
    uniforms, values = posterior.uniforms, posterior.values
    m = int(posterior.size[0])
    counter = (draw.purpose << LANE_BITS) | np.uint64(lane)
    product = 1.0
    for j in range(1, m, 2):
        word0, word1 = threefry(draw.step, counter + np.uint64(j // 2), draw.seed, draw.replication)
        uniforms[j] = unit(word0)
        product *= 2.0 * min(uniforms[j], 1.0 - uniforms[j])
        if j + 1 < m:
            uniforms[j + 1] = unit(word1)
            product *= 2.0 * min(uniforms[j + 1], 1.0 - uniforms[j + 1])
    if product > posterior.settled[0]:
        return arms[0]
    for i in range(m):
        values[i] = at(mu, arms[i])
    for j in range(1, m):
        z = sigma * normal_quantile(uniforms[j])
        for i in range(j, m):
            values[i] += z * U[j, i]
    best = 0
    for i in range(1, m):
        if values[i] > values[best]:
            best = i
    return arms[best]
