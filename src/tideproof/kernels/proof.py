"""Evidence that no looking and no shift-free sampling can fool: an e-process for every pair of arms.

The likelihood of what is left of Gaussian rewards once shifts are taken out is, with n = N - J numbers,

    sigma^-n exp(-Q(mu) / (2 sigma^2)),  Q(mu) = c - 2 b'mu + mu'L mu.

Whatever chose the pulls by differences within environments adds a factor without mu and sigma. Take the data
after a moment n1. Their predictive density, given the data before it and a flat prior on contrasts and log
sigma, divided by their likelihood under the truth, is a martingale that begins at 1: it reaches 1/alpha with
probability alpha at most (Ville). The likelihood under the truth is at most its supremum over all mu in which
arm k is not behind the leader, and over sigma; so if the ratio with that supremum reaches 1/alpha for every k,
the leader is the best arm, but for a chance of alpha in the whole run. One martingale serves all pairs.

A late n1 wastes data and an early one predicts badly: it pays (K - 1)/2 log(n/n1). So the mean over several
moments is taken, each twice as late as the one before: the mean of martingales is one.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from tideproof.core.arrays import Float1, FloatK, FloatKK, Floats, Int1
from tideproof.core.link import kernel
from tideproof.kernels.certainty import EXACT, FEWEST
from tideproof.kernels.cholesky import backward, factorise, forward, log_determinant
from tideproof.kernels.fixed_effects import connected, freedom

MOMENTS = 8  # n1, each twice as late as the one before

_LEAST = -1e300  # a logarithm of nothing, and finite

FloatM = Annotated[Floats, np.float64, MOMENTS]
FloatMK = Annotated[Floats, np.float64, MOMENTS, "K"]
FloatMKK = Annotated[Floats, np.float64, MOMENTS, "K", "K"]


class Proof(NamedTuple):
    """The quadratic Q now and at every n1.

    Attributes
    ----------
    L, b, c, n : (K, K), (K,), (1,), (1,) as above, of all that was told.
    then_L, then_b, then_c, then_n : the same at every n1.
    then_marginal : (moments,) logarithm of the density of what was told until then.
    moments : (1,) how many n1 have passed.
    next : (1,) rewards told at which the next one comes.
    factor : (K, K) scratch, a Cholesky factor.
    x, y : (K,) scratch.
    logs : (K,) scratch, logarithms of the evidence.
    """

    L: FloatKK
    b: FloatK
    c: Float1
    n: Float1
    then_L: FloatMKK
    then_b: FloatMK
    then_c: FloatM
    then_n: FloatM
    then_marginal: FloatM
    moments: Int1
    next: Float1
    factor: FloatKK
    x: FloatK
    y: FloatK
    logs: FloatK


@kernel
def add_to_proof(proof, slot, arm, n, mean, squares):
    """Take in `n` told rewards of `arm`, before they enter the slot."""
    size, each = slot.size[0], slot.each[0]
    proof.c[0] += squares
    if size == 0.0:
        proof.n[0] += n - 1.0
        return
    proof.n[0] += n
    w, e = n * size / (size + n), mean - slot.mean[0]
    proof.c[0] += w * e * e
    g, K = proof.x, proof.b.size
    for i in range(K):
        g[i] = (1.0 if i == arm else 0.0) - slot.counts[i] * each
        proof.b[i] += w * e * g[i]
    for i in range(K):
        for k in range(K):
            proof.L[i, k] += w * g[i] * g[k]


@kernel
def pass_moment(proof, fit):
    """Remember this moment if it is an n1: the first one as soon as there is anything to predict from."""
    m, K = proof.moments[0], proof.b.size
    if m == MOMENTS or fit.told[0] < proof.next[0] or fit.rss[0] <= EXACT * proof.c[0]:
        return
    if not connected(fit) or freedom(fit) < FEWEST:
        return
    for i in range(K):
        proof.then_b[m, i] = proof.b[i]
        for k in range(K):
            proof.then_L[m, i, k] = proof.L[i, k]
    proof.then_c[m], proof.then_n[m] = proof.c[0], proof.n[0]
    proof.then_marginal[m] = _log_marginal(proof, fit)
    proof.moments[0] = m + 1
    proof.next[0] = 2.0 * fit.told[0]


@kernel
def _log_marginal(proof, fit):
    """Return the logarithm of the density of all that was told, up to a constant and a factor for each reward."""
    factor, half, K = proof.factor, 0.5 * freedom(fit), proof.b.size
    for i in range(K):
        for k in range(K):
            factor[i, k] = proof.L[i, k]
    factorise(factor)
    return math.lgamma(half) - half * math.log(0.5 * fit.rss[0]) - 0.5 * log_determinant(factor)


@kernel
def least_evidence(proof, fit, leader):
    """Return the least logarithm, over the other arms, of the evidence that the leader is better."""
    logs, K, moments = proof.logs, proof.b.size, proof.moments[0]
    if moments == 0 or fit.rss[0] <= 0.0:
        return 0.0
    for k in range(K):
        logs[k] = math.log(1.0 - moments / MOMENTS) if moments < MOMENTS else _LEAST
    marginal = _log_marginal(proof, fit)
    for m in range(moments):
        _add_moment(proof, m, leader, marginal - proof.then_marginal[m] - math.log(MOMENTS))
    least = math.inf
    for k in range(K):
        least = min(least, logs[k] if k != leader else math.inf)
    return least


@kernel
def _add_moment(proof, m, leader, density):
    """Add the evidence of what was told after the moment m; `density` is the logarithm of what was predicted."""
    factor, mu, y, logs = proof.factor, proof.x, proof.y, proof.logs
    K, n = mu.size, proof.n[0] - proof.then_n[m]
    for i in range(K):
        for k in range(K):
            factor[i, k] = proof.L[i, k] - proof.then_L[m, i, k]
        y[i] = proof.b[i] - proof.then_b[m, i]
    factorise(factor)
    least = proof.c[0] - proof.then_c[m] - forward(factor, y, y)  # of Q, whatever mu
    backward(factor, y, mu)
    for k in range(K):
        if k != leader:
            for i in range(K):
                y[i] = (1.0 if i == leader else 0.0) - (1.0 if i == k else 0.0)
            gap = mu[leader] - mu[k]
            q = least + max(gap, 0.0) * max(gap, 0.0) / forward(factor, y, y)  # by infinity: 0
            supremum = -0.5 * n * (math.log(max(q, 1e-300) / n) + 1.0) if n > 0.0 else 0.0
            logs[k] = _log_of_sum(logs[k], density - supremum)


@kernel
def _log_of_sum(a, b):
    """Return log(exp(a) + exp(b))."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))
