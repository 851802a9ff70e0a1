"""Means and variances of rewards with the shifts removed, for policies made for worlds without shifts.

Subtracting the estimated shift s_j = rbar_j - n_j'mu/m_j from every reward again after every pull would
cost O(N) per step. But policies read only quantities that are linear or quadratic in mu, with coefficients
that are sums over environments. A pull changes only the contribution of its own environment, which is
subtracted before the pull and added back after it. With g_ij = n_j/m_j - e_i and d_ij = xbar_ij - rbar_j:

    mean_i    = mu_i                                              (+ s_1, the paper's gauge)
    squares_i = within_i + sum_j n_ij (d_ij + g_ij'mu)^2
    sums_i    = sum_j R_ij - W_ij (rbar_j - n_j'mu/m_j - s_1)

with R_ij, W_ij the weighted rewards and weights of the cell. The squares cost O(K^3) per step, in time
and memory; the other moments cost O(K^2).
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import hole, kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, Int1
from tideproof.kernels.choose.connected_start import Start
from tideproof.kernels.fit.fixed_effects import FixedEffects, connected
from tideproof.kernels.fit.policy_data import Moments, Slot

SQUARES = hole("SQUARES")
WEIGHTED = hole("WEIGHTED")


class Reduction(NamedTuple):
    """State of the policy wrapper `reduce`, which gives its inner policy rewards with the shifts removed.

    Attributes
    ----------
    start : Algorithm 1, until the arms are connected.
    moments : the adjusted moments, which the inner policy reads.
    fit : the fit of the adjusted rewards as if all were from one environment, which the inner policy reads.
    slot : that one environment.
    first_mean, first_size : (1,) mean and number of rewards in the first environment, which sets the gauge.
    within : (K,) sums of squared deviations within cells.
    linear, sums_linear : (K, K) coefficients of mu.
    constant, sums_constant : (K,) terms without mu.
    epoch : (1,) the epoch of the weighted sums.
    """

    start: Start
    moments: Moments
    fit: FixedEffects
    slot: Slot
    first_mean: Float1
    first_size: Float1
    within: FloatK
    constant: FloatK
    linear: FloatKK
    sums_constant: FloatK
    sums_linear: FloatKK
    epoch: Int1


@kernel
def adjust(reduction, square, data, slot, arm, n, weight):
    """Add `n` rewards of `arm`, then recompute all arms' means and variances with the shifts removed.

    `square` is the (K, K, K) array of coefficients quadratic in mu. It is used only if the policy reads the
    squares.
    """
    mean = data.reward[0]
    _forget_earlier_epochs(reduction, slot)
    reduction.moments.told[arm] += n
    before = slot.counts[arm]
    gap = mean - slot.means[arm]
    reduction.within[arm] += data.squares[0] + gap * gap * (before * n / (before + n))
    if slot.first[0] == 1:
        reduction.first_size[0] += n
        reduction.first_mean[0] += (mean - reduction.first_mean[0]) * (n / reduction.first_size[0])
    _share(reduction, square, slot, arm, 0.0, 0.0, 0.0, -1.0)
    _share(reduction, square, slot, arm, float(n), mean, weight, 1.0)
    if WEIGHTED:
        slot.sums[arm] += n * mean * weight
        slot.weights[arm] += n * weight
        reduction.moments.weights[arm] += n * weight
    _read(reduction, square, data)


@kernel
def _share(reduction, square, slot, arm, n, mean, weight, sign):
    """Add or subtract an environment's contribution to the sums behind shift-adjusted means and variances.

    It is added if `sign` is 1, and subtracted if it is -1. The contribution includes `n` more rewards of
    `arm`, which the slot does not contain yet.
    """
    size = slot.size[0] + n
    if size == 0.0:
        return
    centre = (slot.size[0] * slot.mean[0] + n * mean) / size
    K = slot.counts.size
    for i in range(K):
        count, average, weighted, weights = slot.counts[i], slot.means[i], slot.sums[i], slot.weights[i]
        if i == arm and n > 0.0:
            average = (count * average + n * mean) / (count + n)
            count += n
            weighted += n * mean * weight
            weights += n * weight
        if count == 0.0:
            continue
        if WEIGHTED:
            reduction.sums_constant[i] += sign * (weighted - weights * centre)
            for k in range(K):
                here = slot.counts[k] + n if k == arm else slot.counts[k]
                reduction.sums_linear[i, k] += sign * weights * here / size
        if SQUARES:
            gap = average - centre
            reduction.constant[i] += sign * count * gap * gap
            for k in range(K):
                g = _offset(slot, arm, n, size, i, k)
                reduction.linear[i, k] += sign * count * gap * g
                for m in range(K):
                    square[i, k, m] += sign * count * g * _offset(slot, arm, n, size, i, m)


@kernel
def _offset(slot, arm, n, size, i, k):
    """Return arm k's share of the rewards in an environment, minus 1 if k equals i.

    The share is that after `n` more rewards of `arm`.
    """
    here = slot.counts[k] + n if k == arm else slot.counts[k]
    return here / size - 1.0 if k == i else here / size


@kernel
def _forget_earlier_epochs(reduction, slot):
    """Reset weighted sums of rewards that are older than the current phase of the wrapped policy.

    Each phase has another number, the epoch. The sums of the reduction and those of the slot are checked
    separately.
    """
    epoch = reduction.moments.epoch[0]
    K = slot.sums.size
    if reduction.epoch[0] != epoch:
        reduction.epoch[0] = epoch
        for i in range(K):
            reduction.sums_constant[i] = 0.0
            for k in range(K):
                reduction.sums_linear[i, k] = 0.0
    if slot.epoch[0] != epoch:
        slot.epoch[0] = epoch
        for i in range(K):
            slot.sums[i] = 0.0
            slot.weights[i] = 0.0


@kernel
def _read(reduction, square, data):
    """Compute shift-adjusted means and variances of rewards from the estimated arm means and stored sums."""
    mu, moments = data.fit.mu, reduction.moments
    K = mu.size
    shift = reduction.first_mean[0]  # s_1 in the gauge of mu
    for k in range(K):
        shift -= data.fit.first[k] / data.fit.first_size[0] * mu[k]
    for i in range(K):
        moments.mean[i] = mu[i] + shift
        if SQUARES:
            total = reduction.within[i] + reduction.constant[i]
            for k in range(K):
                total += 2.0 * reduction.linear[i, k] * mu[k]
                for m in range(K):
                    total += mu[k] * square[i, k, m] * mu[m]
            moments.squares[i] = max(total, 0.0)
        if WEIGHTED:
            total = reduction.sums_constant[i] + moments.weights[i] * shift
            for k in range(K):
                total += reduction.sums_linear[i, k] * mu[k]
            moments.sums[i] = total


@kernel
def flatten(reduction, data):
    """Store estimates for a wrapped policy as if all shift-adjusted rewards came from one environment.

    The covariance is P = diag(1/N_i). The noise variance is RSS/(N - K). As in the paper it is too small,
    because the shifts were estimated.
    """
    flat, pulls = reduction.fit, data.pulls
    K = pulls.size
    total = 0.0
    for i in range(K):
        flat.mu[i] = data.fit.mu[i]
        flat.first[i] = pulls[i]
        flat.group[i] = 1
        if pulls[i] > 0:
            flat.P[i, i] = 1.0 / pulls[i]
        total += pulls[i]
    flat.first_size[0] = total
    flat.rss[0] = data.fit.rss[0]
    flat.told[0] = data.fit.told[0]
    flat.environments[0] = 1
    flat.joins[0] = K - 1 if connected(data.fit) else 0
