"""Random draws of the best arm from the posterior distribution of the arm means, with a flat prior.

It is N(muhat, sigma^2 P). Only contrasts have a posterior. So the leader, the arm with the best estimate,
is fixed and the others vary around their estimates with the covariance C_ik = P_ik - P_il - P_lk + P_ll,
whatever the gauge of P. C is factorised once for every fit. Two shortcuts make draws fast, the more so the
clearer the leader is:

* An arm more than 6.5 standard errors behind the leader is best with probability below 1e-10 and is left
  out.
* A draw is sqrt(C) times a vector z of independent normal numbers. The leader stays the best if |z| is below
  rho, the distance of the nearest contender in standard errors. The uniform number u_j behind z_j satisfies
  z_j^2 <= -2 log(2 min(u_j, 1 - u_j)). So if the product of all 2 min(u_j, 1 - u_j) is above exp(-rho^2/2),
  the leader is the best, and no normal number is computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_array_access import at, diagonal, fetch, fetched
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, IntK
from tideproof.kernels.fit.statistics_interface import variance_to
from tideproof.kernels.simulate.threefry import LANE_BITS, normal_quantile, threefry, unit

_SQUARED_REACH = 6.5**2  # squared distance, in standard errors, beyond which an arm is left out


class Posterior(NamedTuple):
    """Precomputed values for random draws from the posterior distribution of the arm means.

    They are computed again for every fit.

    Attributes
    ----------
    arms : (K,) the leader, then the other contenders.
    size : (1,) number of contenders, leader included. A float: a GPU's compiler could see that an integer is
        at most K, and would unroll every loop up to it (docs/decisions/0014).
    settled : (1,) exp(-rho^2/2).
    factor : (K, K) rows and columns from 1 on: U of C = U'U, for the contenders in that order.
    uniforms, values : (K,) the last draw, in that order.
    leading, row : (K,) buffers for rows of P: the leader's row and another row.
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
    """Find the arms that may be the best (contenders), and factorise the covariance of their estimates.

    Also stores the distance of the nearest contender from the leader. O(K + m^3) for m contenders.
    """
    P, mu, arms, leading = fit.P, fit.mu, posterior.arms, posterior.leading
    leader, lead = 0, mu[0]
    for i in range(1, mu.size):
        if mu[i] > lead:
            leader, lead = i, mu[i]
    arms[0] = leader
    m = 1
    nearest = _SQUARED_REACH
    own = diagonal(P, leader)
    fetch(P, leader, leading)
    for i in range(mu.size):
        gap = lead - mu[i]
        uncertainty = variance * variance_to(P, leader, own, leading, i)
        if i != leader and gap * gap <= _SQUARED_REACH * uncertainty:
            arms[m] = i
            m += 1
            nearest = min(nearest, gap * gap / uncertainty if uncertainty > 0.0 else 0.0)
    posterior.size[0] = float(m)
    posterior.settled[0] = math.exp(-0.5 * nearest)
    _factorise(posterior, P, own)  # now, because a GPU's threads would first need it at different draws


@kernel
def _factorise(posterior, P, own):
    """Compute the Cholesky factor of the covariance of the estimates of all arms that may be the best.

    For the m contenders this is U, with the covariance C = U'U. Takes O(m^3). `own` is P_ll, the leader's
    entry on the diagonal of P.
    """
    arms, U, leading, row = posterior.arms, posterior.factor, posterior.leading, posterior.row
    m, leader = int(posterior.size[0]), posterior.arms[0]
    for i in range(1, m):
        a = arms[i]
        fetch(P, a, row)
        away = fetched(P, a, row, leader)  # the index is not a loop variable, because rows are in memory
        for k in range(i, m):
            b = arms[k]
            U[i, k] = fetched(P, a, row, b) - away - fetched(P, leader, leading, b) + own
    for j in range(1, m):
        scale = 1.0 / math.sqrt(U[j, j]) if U[j, j] > 0.0 else 0.0  # not positive only by rounding
        for k in range(j, m):
            U[j, k] *= scale
        for i in range(j + 1, m):
            weight = U[j, i]
            for k in range(i, m):
                U[i, k] -= weight * U[j, k]


@kernel
def best_of_draw(posterior, fit, sigma, draw, lane):
    """Return the arm that is best in one random draw from the posterior distribution of the arm means.

    Takes O(m^2) for m contenders. The draw uses at most K/2 random words, from index `lane` on.
    """
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
