"""Sandwich covariances of the least-squares arm effects, for rewards with unequal variances.

The functions are vectorised over cells. A cell has a weight w, in the common model its count. g of a cell is
e_arm - b_j with b_j = w_j/W_j, the shares of the arms in its environment, so that Cov(muhat, expected mean of
the cell) = P g.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.cells import Cells, group_members
from tideproof.stats.solve.least_squares import Solution, residuals, solve


class Pools(NamedTuple):
    """Pools of cells with a common reward variance: the cells of one arm, or those of one environment.

    Attributes
    ----------
    of : (C,) index of the pool of each cell.
    variance, freedom : (pools,) variance of a reward in each pool, and its degrees of freedom.
    """

    of: Ints
    variance: Floats
    freedom: Floats


class WeightedFit(NamedTuple):
    """Weighted least-squares fit with weights from estimated variances.

    Attributes
    ----------
    cells : cells with the weights, count over variance.
    solution : muhat and P for these weights.
    covariance : (K, K) covariance of muhat that allows for estimated weights.
    freedom : (K, K) degrees of freedom of each contrast.
    """

    cells: Cells
    solution: Solution
    covariance: Floats
    freedom: Floats


def hc3(solution: Solution, cells: Cells) -> Floats:
    """Return the sum of squared HC3 residuals of the rewards of each arm in each environment: (C,).

    The HC3 residual of a reward is residual/(1 - leverage).

    All rewards of a cell have the same leverage, h = 1/m_j + g'Pg, and their squared residuals add up to
    squares + n (mean residual)^2. NaN where h = 1: no other reward checks the cell.

    References
    ----------
    MacKinnon, White (1985), Some heteroskedasticity-consistent covariance matrix estimators.
    """
    residual, variance = residuals(solution, cells)
    left = 1.0 - 1.0 / cells.n + variance  # variance = 1/n - h
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(left > 1e-9, (cells.squares + cells.n * residual**2) / left**2, np.nan)


def environment_scores(solution: Solution, cells: Cells) -> Floats:
    """Return the middle matrix of the sandwich estimator that is clustered by environment: (K, K).

    It is the sum over environments of u u', with u the environment's residuals summed by arm.
    """
    cells.check_one_way("this variance model")
    residual, _ = residuals(solution, cells)
    total = np.zeros((cells.K, cells.K))
    for _, _, (u,) in cells.blocks(cells.n * residual):
        total += u.T @ u
    return total


def weighted_fit(cells: Cells, pools: Pools) -> WeightedFit:
    """Fit arm effects by least squares, weighted by inverse noise variances of arms or of environments.

    The weight of a cell is n/variance, with the variance of the cell's pool.

    The pools have independent variance estimates with `freedom` degrees of freedom, and M_p is the
    information from pool p. The covariance is P + 4 sum_p (PM_pP - PM_pPM_pP)/freedom_p: half of the
    correction is for estimated weights, half for P being an estimate. A contrast c has (c'Pc)^2 / sum_p
    (c'PM_pPc)^2/freedom_p degrees of freedom.

    References
    ----------
    Kenward, Roger (1997), Small sample inference for fixed effects from restricted maximum
    likelihood; for one mean, Meier (1953), Variance of a weighted mean.
    """
    cells = cells.weighted(cells.n / pools.variance[pools.of])
    solution = solve(cells)
    P, own = solution.P, pair_variances(solution.P)
    extra, spent = np.zeros_like(P), np.zeros_like(P)
    b = cells.dense_shares()
    for p, here in group_members(pools.of):
        w, g = cells.weight[here], arm_deviations(cells, b, here)
        X = g @ P  # Each row is Pg.
        T = (X.T * w) @ X  # PM_pP
        R = (X.T * w) @ g
        environments, column = np.unique(cells.environment[here], return_inverse=True)
        together = np.zeros((environments.size, cells.K))
        np.add.at(together, column, w[:, None] * X)  # It is 0 if the pool is an environment.
        both = R @ P @ R.T + (together.T / cells.totals[environments]) @ together
        extra += 4.0 * (T - both) / pools.freedom[p]
        spent += (
            np.divide(pair_variances(T), own, out=np.zeros_like(P), where=own > 0.0) ** 2 / pools.freedom[p]
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        nu = np.where(spent > 0.0, 1.0 / spent, np.inf)
    return WeightedFit(cells, solution, P + extra, nu)


def arm_deviations(cells: Cells, b: Floats, here: Ints) -> Floats:
    """Return rows of the design matrix of the arms, centred by environment.

    There is one row for each index in `here`.

    A row is the unit vector of the cell's arm minus the shares of all arms in the cell's environment.

    `b` holds the share of each arm in each environment, (J, K).
    """
    g = -b[cells.environment[here]]
    g[np.arange(here.size), cells.arm[here]] += 1.0
    return g
