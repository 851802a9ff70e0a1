"""Recursive least squares for arm means and environment shifts: one rank-one update for each observation.

The model is r = mu_arm + s_environment + noise.

Eliminating the shifts leaves a graph Laplacian L on the arms. Its generalised inverse P and the estimate
muhat are updated in O(K^2) per observation without a matrix inverse; the shifts are not stored. Only
differences between arms in the same connected group are meaningful, and these are exact at every time.
All variances here are in units of sigma^2.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_array_access import add_at, along, entry, fetched, less_outer, put, times
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Float1, FloatK, FloatKK, Int1, IntK


class FixedEffects(NamedTuple):
    """State of the fixed-effects estimator of arm means and environment shifts.

    Attributes
    ----------
    P : (K, K) generalised inverse of the Laplacian, with one block for each group of connected arms.
    mu : (K,) muhat, up to a constant for each group.
    first : (K,) observations of each arm in the first environment, n_1.
    first_size : (1,) observations in the first environment, m_1.
    rss : (1,) residual sum of squares.
    work : (K,) scratch.
    group : (K,) number of the arm's group; 0 for an arm that shares no environment with another arm yet.
    told : (1,) number of rewards, N.
    environments : (1,) number of environments with a reward, J.
    joins : (1,) mergers of two groups so far: number of observed arms minus number of groups.
    """

    P: FloatKK
    mu: FloatK
    first: FloatK
    first_size: Float1
    rss: Float1
    work: FloatK
    group: IntK
    told: Int1
    environments: Int1
    joins: Int1


@kernel
def observe(fit, slot, arm, n, mean, squares):
    """Update the fixed-effects fit with `n` new rewards of `arm`.

    This must be called before the statistics of the environment change.

    With g = e_arm - n_j/m_j, w = n m_j/(m_j + n) and the residual e = mean - rbar_j - g'muhat:
    muhat += f e Pg, P -= f (Pg)(Pg)', RSS += squares + f e^2, where f = w/(1 + w g'Pg).
    """
    if fit.told[0] == 0:
        slot.first[0] = 1
    fit.told[0] += n
    fit.rss[0] += squares
    if slot.size[0] == 0.0:
        fit.environments[0] += 1
    _update(fit, slot, arm, n, mean, True)


@kernel
def place(fit, slot, arm, n):
    """Update the fixed-effects fit for `n` pending pulls of `arm`, as if their residual were 0."""
    _update(fit, slot, arm, n, 0.0, False)


@kernel
def _update(fit, slot, arm, n, mean, told):
    """Update the estimated arm means and their covariance for rewards or for pending pulls.

    `told` is False for pending pulls. The estimates are mu and the covariance is P.
    """
    if slot.first[0] == 1:
        add_at(fit.first, arm, n)
        fit.first_size[0] += n
    size, each = slot.size[0], slot.each[0]
    if size == 0.0:  # the first observation of an environment only determines its shift
        return
    P, mu, work, counts = fit.P, fit.mu, fit.work, slot.counts
    K = mu.size

    fitted, quadratic = along(P, mu, arm, counts, each, work)  # g'muhat, g'Pg, and work = Pg
    residual = mean - slot.mean[0] - fitted if told else 0.0
    if fit.joins[0] < K - 1 and not together(fit, arm, slot.arm[0]):
        _join(fit, arm, slot.arm[0], residual, quadratic + (size + n) / (n * size))
        return
    f = n * size / (size + n + n * size * quadratic)
    step = f * residual
    for i in range(K):
        mu[i] += step * work[i]
    less_outer(P, work, f)
    fit.rss[0] += step * residual


@kernel
def _join(fit, arm, other, residual, variance):
    """Merge two groups of comparable arms when an observation links `arm` and `other` for the first time.

    The observation determines the difference between the groups exactly, so it adds nothing to the residual
    sum of squares. With B the 0/1 vector of the group of `arm`: muhat += e B and
    P += -B(Pg)' - (Pg)B' + (g'Pg + 1/w) BB'. Expects work = Pg and variance = g'Pg + 1/w.
    """
    P, mu, work, group = fit.P, fit.mu, fit.work, fit.group
    K = mu.size
    if group[arm] == 0:
        group[arm] = -1  # temporary number for a group of one arm
    own, others = group[arm], group[other]
    for i in range(K):
        if group[i] == own:
            mu[i] += residual
            work[i] -= 0.5 * variance
    for i in range(K):
        for k in range(K):
            B = work[k] if group[i] == own else 0.0
            C = work[i] if group[k] == own else 0.0
            put(P, i, k, entry(P, i, k) - (B + C))
    joined = max(own, others)
    if joined <= 0:
        joined = fit.joins[0] + 1
    for i in range(K):
        if group[i] == own or (others != 0 and group[i] == others):
            group[i] = joined
    group[other] = joined
    fit.joins[0] += 1


@kernel
def together(fit, i, k):
    """Return whether arms i and k are in one group, so that their difference can be estimated."""
    return i == k or (fit.group[i] != 0 and fit.group[i] == fit.group[k])


@kernel
def connected(fit):
    """Return whether all arms are in one group, so that all of them are comparable."""
    return fit.joins[0] == fit.mu.size - 1


@kernel
def degrees_of_freedom(fit):
    """Return the residual degrees of freedom: rewards - observed arms - environments + groups of arms."""
    return fit.told[0] - fit.environments[0] - fit.joins[0]


@kernel
def sigma2(fit):
    """Return the unbiased estimate of the noise variance, which needs at least one degree of freedom."""
    return fit.rss[0] / degrees_of_freedom(fit)


@kernel
def variance_to(P, i, own, row, k):
    """Return the variance of the estimated difference of two arms, in units of the noise variance.

    It is Var(muhat_i - muhat_k). Call `fetch(P, i, row)` before. `own` is P_ii, and k is a loop variable.
    """
    return own + entry(P, k, k) - 2.0 * fetched(P, i, row, k)


@kernel
def pull_here(fit, slot, here):
    """Precompute how much one more pull in this environment would reduce the variances of arm differences.

    Sets here = P n_j/m_j and returns 1 + 1/m_j + n_j'P n_j/m_j^2. A pull of arm a then reduces the variance
    of muhat_i - muhat_k by (P_ai - P_ak - here_i + here_k)^2 over that number + P_aa - 2 here_a.
    """
    each = slot.each[0]
    return 1.0 + each + times(fit.P, slot.counts, each, here)


@kernel
def anchor(fit):
    """Precompute the covariance of the estimated arm means if the first environment's shift counts as 0.

    Takes O(K^2). This is the paper's gauge s_1 = 0. Sets work = P n_1/m_1 and returns a number, `base`.
    Afterwards Cov(muhat_i, muhat_k) = base + P_ik - work_i - work_k, for connected arms. As P -> 0 this
    tends to 1/m_1: Var(muhat_i) never vanishes (Theorem 1 and the appendix).
    """
    each = 1.0 / fit.first_size[0]
    return each + times(fit.P, fit.first, each, fit.work)


@kernel
def pull_noise(fit, slot, arm):
    """Return 0, because in this model no pull has more noise than another."""
    return 0.0
