"""E-process for every pair of arms: evidence that stays valid under continuous inspection and adaptive pulls.

After the shifts are removed, Gaussian rewards have n = N - J degrees of freedom and the likelihood

    sigma^-n exp(-Q(mu) / (2 sigma^2)),  Q(mu) = c - 2 b'mu + mu'L mu.

A rule that chooses pulls by differences within environments adds a factor without mu and sigma. Consider
the data after a checkpoint n1. Divide their predictive density, given the data before n1 and a flat prior
on contrasts and log sigma, by their likelihood under the true parameters. This ratio is a martingale that
starts at 1, so it reaches 1/alpha with probability at most alpha (Ville). The likelihood under the true
parameters is at most its supremum over sigma and over all mu in which arm k is not behind the leader. So
if the ratio with that supremum reaches 1/alpha for all k, the leader is the best arm, with error
probability at most alpha in the whole run. One martingale serves all pairs.

With the supremum over all mu in which two arms differ by d, the ratio tests the difference d. The values of
d whose ratio stays below 1/alpha are an interval (the ratio is convex in d). The intervals of all pairs at
all times hold simultaneously.

A late n1 wastes data and an early one predicts badly: the cost is (K - 1)/2 log(n/n1). So the evidence is
the mean over several checkpoints, each twice as late as the one before. A mean of martingales is a
martingale.

An arm that joins later has no density before it shares an environment with another arm. The observation
that links it is left out of the numerator and the denominator, and joins the data before n1 as a basis for
prediction. The martingale pauses at that observation and then continues, so that the evidence on the other
arms is kept. Until then the new arm shares no environment with them, and they are judged without it.
Ignoring its rewards for longer would be wrong: later choices may depend on them, and they share the noise
of their environments.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from tideproof.core.kernel_array_access import entry
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, Floats, Int1
from tideproof.kernels.choose.leader_lead import MINIMUM_FREEDOM, ROUNDING_SHARE
from tideproof.kernels.fit.cholesky import backward, factorise, forward, log_determinant
from tideproof.kernels.fit.fixed_effects import connected, degrees_of_freedom

CHECKPOINTS = 8  # number of checkpoints n1, each twice as late as the one before

_LOG_ZERO = -1e300  # logarithm of zero, but finite
_TERNARY_STEPS = 100  # each step of the ternary search reduces the interval to two thirds

FloatM = Annotated[Floats, np.float64, CHECKPOINTS]
FloatMK = Annotated[Floats, np.float64, CHECKPOINTS, "K"]
FloatMKK = Annotated[Floats, np.float64, CHECKPOINTS, "K", "K"]
FloatM4 = Annotated[Floats, np.float64, CHECKPOINTS, 4]


class EProcess(NamedTuple):
    """State of an e-process: coefficients of the residual sums of squares, now and at earlier times.

    Attributes
    ----------
    L, b, c, n : (K, K), (K,), (1,), (1,) coefficients of Q and degrees of freedom, for all rewards so far.
    checkpoint_L, checkpoint_b, checkpoint_c, checkpoint_n : the same at every checkpoint.
    checkpoint_marginal : (checkpoints,) logarithm of the density of the rewards before each checkpoint.
    moments : (1,) number of checkpoints so far.
    next : (1,) number of rewards at which the next checkpoint is due.
    factor : (K, K) scratch, a Cholesky factor.
    x, y : (K,) scratch.
    logs : (K,) scratch, logarithms of the evidence.
    pair : (checkpoints, 4) scratch, for two arms after each checkpoint: their difference, its precision, the
        smallest Q, and the logarithm of the predictive density.
    """

    L: FloatKK
    b: FloatK
    c: Float1
    n: Float1
    checkpoint_L: FloatMKK  # noqa: N815
    checkpoint_b: FloatMK
    checkpoint_c: FloatM
    checkpoint_n: FloatM
    checkpoint_marginal: FloatM
    moments: Int1
    next: Float1
    factor: FloatKK
    x: FloatK
    y: FloatK
    logs: FloatK
    pair: FloatM4


@kernel
def add_to_e_process(proof, slot, arm, n, mean, squares):
    """Add `n` rewards of `arm` to the sums from which the e-process computes its evidence.

    This must be called before the rewards are added to the statistics of the environment.
    """
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
def store_checkpoint(proof, fit):
    """Store the current sums of the e-process as a new starting point, if enough rewards have arrived.

    The first checkpoint is stored as soon as the data can predict further rewards, and each later one when
    the number of rewards has doubled.
    """
    m, K = proof.moments[0], proof.b.size
    if m == CHECKPOINTS or fit.told[0] < proof.next[0] or fit.rss[0] <= ROUNDING_SHARE * proof.c[0]:
        return
    if not connected(fit) or degrees_of_freedom(fit) < MINIMUM_FREEDOM:
        return
    for i in range(K):
        proof.checkpoint_b[m, i] = proof.b[i]
        for k in range(K):
            proof.checkpoint_L[m, i, k] = proof.L[i, k]
    proof.checkpoint_c[m], proof.checkpoint_n[m] = proof.c[0], proof.n[0]
    proof.checkpoint_marginal[m] = log_marginal(proof, fit)
    proof.moments[0] = m + 1
    proof.next[0] = 2.0 * fit.told[0]


@kernel
def log_marginal(proof, fit):
    """Return the log marginal density of all rewards, without terms that depend on their number alone."""
    factor, half, K = proof.factor, 0.5 * degrees_of_freedom(fit), proof.b.size
    for i in range(K):
        for k in range(K):
            factor[i, k] = proof.L[i, k]
    factorise(factor)
    return math.lgamma(half) - half * math.log(0.5 * fit.rss[0]) - 0.5 * log_determinant(factor)


@kernel
def least_evidence(proof, fit, leader):
    """Return the smallest of the log evidences that the leading arm is better than each of the other arms."""
    logs, K, moments = proof.logs, proof.b.size, proof.moments[0]
    if moments == 0 or fit.rss[0] <= 0.0:
        return 0.0
    for k in range(K):
        logs[k] = _log_pending_share(moments)
    marginal = log_marginal(proof, fit)
    for m in range(moments):
        _add_checkpoint_evidence(
            proof, m, leader, marginal - proof.checkpoint_marginal[m] - math.log(CHECKPOINTS)
        )
    least = math.inf
    for k in range(K):
        least = min(least, logs[k] if k != leader else math.inf)
    return least


@kernel
def _add_checkpoint_evidence(proof, m, leader, density):
    """Add evidence that the leading arm is better than each other arm, from the rewards after a stored time.

    The point is checkpoint m. `density` is the logarithm of the predictive density of these rewards divided
    by the number of checkpoints.
    """
    mu, logs = proof.x, proof.logs
    least = _solve_after(proof, m)
    for k in range(mu.size):
        if k != leader:
            gap = max(mu[leader] - mu[k], 0.0)
            q = least + gap * gap / _variance_after(proof, leader, k)  # infinite variance adds 0
            logs[k] = _log_of_sum(logs[k], density - _log_supremum(proof, m, q))


@kernel
def contrast_bounds(proof, fit, i, k, alpha):
    """Return the confidence bounds of the difference of two arm means, mu_i - mu_k, from the e-process.

    The intervals of all pairs at all times hold simultaneously with probability 1 - alpha. An interval
    contains the differences against which the evidence is below 1/alpha. If there are none, it contains only
    the difference with the least evidence against it.
    """
    if proof.moments[0] == 0 or fit.rss[0] <= 0.0:
        return -math.inf, math.inf
    _read_pair(proof, fit, i, k)
    bound, middle = -math.log(alpha), fit.mu[i] - fit.mu[k]
    if _evidence_against(proof, middle) >= bound:
        middle = _least_contradicted(proof)
    spread = entry(fit.P, i, i) + entry(fit.P, k, k) - 2.0 * entry(fit.P, i, k)
    step = math.sqrt(max(spread, 0.0) * fit.rss[0] / degrees_of_freedom(fit))
    return middle - step * _steps_to_bound(proof, middle, -step, bound), middle + step * _steps_to_bound(
        proof, middle, step, bound
    )


@kernel
def _read_pair(proof, fit, i, k):
    """Estimate the difference of two arms, and its precision, from the rewards after each stored time point.

    The estimates are written to `proof.pair`. `EProcess.pair` describes all columns.
    """
    marginal, pair, mu = log_marginal(proof, fit), proof.pair, proof.x
    for m in range(proof.moments[0]):
        pair[m, 2] = _solve_after(proof, m)
        pair[m, 0] = mu[i] - mu[k]
        pair[m, 1] = 1.0 / _variance_after(proof, i, k)
        pair[m, 3] = marginal - proof.checkpoint_marginal[m] - math.log(CHECKPOINTS)


@kernel
def _evidence_against(proof, gap):
    """Return the log evidence against the hypothesis that the means of two arms differ by `gap`.

    The two arms are those of `proof.pair`.
    """
    pair, moments = proof.pair, proof.moments[0]
    total = _log_pending_share(moments)
    for m in range(moments):
        off = gap - pair[m, 0]
        total = _log_of_sum(total, pair[m, 3] - _log_supremum(proof, m, pair[m, 2] + off * off * pair[m, 1]))
    return total


@kernel
def _least_contradicted(proof):
    """Return the difference between two arm means that the evidence contradicts least."""
    pair = proof.pair
    low, high = math.inf, -math.inf
    for m in range(proof.moments[0]):
        if pair[m, 1] > 0.0:
            low, high = min(low, pair[m, 0]), max(high, pair[m, 0])
    if low > high:  # the two arms shared no environment after any checkpoint
        return 0.0
    for _ in range(_TERNARY_STEPS):
        third = (high - low) / 3.0
        if _evidence_against(proof, low + third) < _evidence_against(proof, high - third):
            high -= third
        else:
            low += third
    return 0.5 * (low + high)


@kernel
def _steps_to_bound(proof, middle, step, bound):
    """Return how far from `middle` the evidence rejects a difference of two arms, in units of `step`.

    The result is infinite if the evidence never reaches the bound.
    """
    inside, outside = 0.0, 1.0
    while _evidence_against(proof, middle + outside * step) < bound:
        inside, outside = outside, 2.0 * outside
        if outside > 1e12:
            return math.inf
    while outside - inside > 1e-9 * outside:
        half = 0.5 * (inside + outside)
        if _evidence_against(proof, middle + half * step) < bound:
            inside = half
        else:
            outside = half
    return outside


@kernel
def _solve_after(proof, m):
    """Estimate the arm means from all rewards after a stored point in time.

    Return the residual sum of squares.

    The point is checkpoint m. The means are written to `proof.x`.
    """
    factor, mu, y = proof.factor, proof.x, proof.y
    for i in range(mu.size):
        for k in range(mu.size):
            factor[i, k] = proof.L[i, k] - proof.checkpoint_L[m, i, k]
        y[i] = proof.b[i] - proof.checkpoint_b[m, i]
    factorise(factor)
    least = proof.c[0] - proof.checkpoint_c[m] - forward(factor, y, y)
    backward(factor, y, mu)
    return least


@kernel
def _variance_after(proof, i, k):
    """Return the variance of the estimated difference of two arms, in units of the noise variance.

    It is divided by sigma^2, and infinite if the difference is not estimable. The checkpoint is that of the
    last `_solve_after`.
    """
    y = proof.y
    for j in range(y.size):
        y[j] = (1.0 if j == i else 0.0) - (1.0 if j == k else 0.0)
    return forward(proof.factor, y, y)


@kernel
def _log_supremum(proof, m, q):
    """Return the maximised log likelihood of all rewards after a stored point in time.

    It is maximised over the noise variance.

    The point is checkpoint m. `q` is the sum of squared residuals of these rewards.
    """
    n = proof.n[0] - proof.checkpoint_n[m]
    return -0.5 * n * (math.log(max(q, 1e-300) / n) + 1.0) if n > 0.0 else 0.0


@kernel
def _log_pending_share(moments):
    """Return the log weight of the e-process's starting points that are still in the future.

    Each of these has evidence of 1 so far.
    """
    return math.log(1.0 - moments / CHECKPOINTS) if moments < CHECKPOINTS else _LOG_ZERO


@kernel
def _log_of_sum(a, b):
    """Return log(exp(a) + exp(b)) without overflow."""
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))
