"""Unequal noise: covariances of the fixed-effects estimator when rewards do not vary alike.

Vectorised NumPy over cells, as in `solve`. A cell has a weight w, in the common model its count; g of
a cell is e_arm - b_j with b_j = w_j/W_j, the shares of the arms in its environment, so that
Cov(muhat, mean the model expects in the cell) = P g.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.stats.solve import Solution, _blocks, residuals, solve, sums


class Weighted(NamedTuple):
    """Weighted least squares with weights from estimated variances.

    Attributes
    ----------
    solution : muhat and P for these weights.
    weight : (C,) count of each cell over its variance.
    covariance : (K, K) of muhat, the weights being estimates.
    freedom : (K, K) degrees of freedom of each contrast.
    """

    solution: Solution
    weight: Floats
    covariance: Floats
    freedom: Floats


def spread(arm: Ints, environment: Ints, share: Floats, q: Floats, arms: int, environments: int) -> Floats:
    """Return sum over cells of q g g': (K, K)."""
    total = np.diag(sums(arm, q, arms))
    size = sums(environment, q, environments)
    both = zip(
        _blocks(arm, environment, q, arms, environments),
        _blocks(arm, environment, share, arms, environments),
        strict=True,
    )
    for (rows, _, charge), (_, _, b) in both:
        cross = charge.T @ b
        total += (b * size[rows, None]).T @ b - cross - cross.T
    return total


def hc3(
    solution: Solution, arm: Ints, environment: Ints, n: Floats, mean: Floats, squares: Floats, J: int
) -> Floats:
    """Return sum of (residual/(1 - leverage))^2 over the observations of each cell: (C,).

    All of a cell share one leverage, h = 1/m_j + g'Pg, and their squared residuals add up to
    squares + n (mean residual)^2. NaN where h = 1: nothing checks the cell.

    References
    ----------
    MacKinnon, White (1985), Some heteroskedasticity-consistent covariance matrix estimators.
    """
    residual, variance = residuals(solution, arm, environment, n, mean, J)
    left = 1.0 - 1.0 / n + variance  # variance = 1/n - h
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > 1e-9, (squares + n * residual**2) / left**2, np.nan)


def scores(
    solution: Solution, arm: Ints, environment: Ints, n: Floats, mean: Floats, arms: int, environments: int
) -> Floats:
    """Return sum_j u_j u_j', u_j the residuals of an environment summed by arm: (K, K)."""
    residual, _ = residuals(solution, arm, environment, n, mean, environments)
    total = np.zeros((arms, arms))
    for _, _, block in _blocks(arm, environment, n * residual, arms, environments):
        total += block.T @ block
    return total


def weighted(
    arm: Ints,
    environment: Ints,
    n: Floats,
    mean: Floats,
    arms: int,
    environments: int,
    part: Ints,
    variance: Floats,
    freedom: Floats,
) -> Weighted:
    """Solve with weights n/variance, `part` being whose variance a cell has: its arm's or environment's.

    Of the parts, each with an independent estimate on `freedom` degrees of freedom, M_p is the
    information. The covariance is P + 4 sum_p (PM_pP - PM_pPM_pP)/freedom_p, half of it because
    the weights are estimates, half because P is one; a contrast c has the degrees of freedom
    (c'Pc)^2 / sum_p (c'PM_pPc)^2/freedom_p.

    References
    ----------
    Kenward, Roger (1997), Small sample inference for fixed effects from restricted maximum
    likelihood; for one mean, Meier (1953), Variance of a weighted mean.
    """
    w = n / variance[part]
    solution = solve(arm, environment, w, mean, np.zeros(n.size), arms, environments)
    P, size = solution.P, sums(environment, w, environments)
    extra, spent = np.zeros_like(P), np.zeros_like(P)
    b = np.zeros((environments, arms))
    b[environment, arm] = w / size[environment]
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(variance.size + 1))
    for p in np.flatnonzero(np.diff(bounds)):
        cells = order[bounds[p] : bounds[p + 1]]
        own, j = w[cells], environment[cells]
        g = -b[j]
        g[np.arange(cells.size), arm[cells]] += 1.0
        X = g @ P  # a row is Pg
        T = (X.T * own) @ X  # PM_pP
        R = (X.T * own) @ g
        shared = np.unique(j)
        at = np.searchsorted(shared, j)
        apart = np.zeros((shared.size, arms))
        np.add.at(apart, at, own[:, None] * X)  # 0 where the part is a whole environment
        both = R @ P @ R.T + (apart.T / size[shared]) @ apart
        extra += 4.0 * (T - both) / freedom[p]
        spent += _pairs(T) ** 2 / freedom[p]
    with np.errstate(divide="ignore", invalid="ignore"):
        nu = np.where(spent > 0.0, _pairs(P) ** 2 / spent, np.inf)
    return Weighted(solution, w, P + extra, nu)


def _pairs(C: Floats) -> Floats:
    """Return the variance of every contrast of two arms: (K, K)."""
    own = np.diag(C)
    return np.asarray(own[:, None] + own - 2.0 * C)
