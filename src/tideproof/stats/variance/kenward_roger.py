"""Kenward-Roger covariance and degrees of freedom for weighted least squares with estimated variances.

The variance of a cell's mean is v_c = sum_i theta_i D_ic, and its weight is w = 1/v. g of a cell is e_arm -
b_j as in `sandwich`, so that hat values are h_cd = [same environment]/W_j + g_c'Pg_d, and no array of size C
x C is built. With a_i = w^2 D_i everything depends on

    S_i = sum_c a_i g g'      and      X_ij = sum_environments (sum_c a_i g)(sum_c a_j g)'/W.

References
----------
Kenward, Roger (1997), Small sample inference for fixed effects from restricted maximum likelihood.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.student_inference import pair_variances
from tideproof.stats.cells import Cells, group_members
from tideproof.stats.solve.least_squares import Solution, meat
from tideproof.stats.variance.sandwich import Pools, arm_deviations


class DerivativeSums(NamedTuple):
    """Matrix sums in the Kenward-Roger formulas, from the derivatives of the variances of cell means.

    S and X are the sums of the module's docstring, and D holds the derivatives of the variances of cell means
    by the variance parameters.
    For p variance parameters D is (p, C), S is (p, K, K), and X is (p, p, K, K).
    """

    D: Floats
    S: Floats
    X: Floats


class VarianceCorrection(NamedTuple):
    """Kenward-Roger corrections of the arms' covariance matrix, which allow for estimated variances.

    Attributes
    ----------
    extra : (K, K) term to be added to P.
    doubt : (K, K) half the variance of the estimated variance of each contrast.
    """

    extra: Floats
    doubt: Floats

    def __add__(self, other: VarianceCorrection) -> VarianceCorrection:  # type: ignore[override]
        """Return the sum of two Kenward-Roger corrections."""
        return VarianceCorrection(self.extra + other.extra, self.doubt + other.doubt)


def derivative_sums(cells: Cells, D: Floats) -> DerivativeSums:
    """Compute the matrix sums that the Kenward-Roger formulas need.

    They are S and X of the module's docstring. Takes O(p C K + p^2 J K^2) for p variances.
    """
    a = cells.weight**2 * D
    p, K = len(D), cells.K
    S = np.array([meat(cells, row) for row in a])
    X = np.zeros((p, p, K, K))
    for rows, _, dense in cells.blocks(cells.shares, *a):
        b, W = dense[0], cells.totals[rows, None]
        G = [block - block.sum(axis=1, keepdims=True) * b for block in dense[1:]]
        for i in range(p):
            for j in range(i + 1):
                X[i, j] += (G[i] / np.where(W > 0.0, W, 1.0)).T @ G[j]
                if j < i:
                    X[j, i] = X[i, j].T
    return DerivativeSums(D, S, X)


def information(cells: Cells, solution: Solution, residual_variance: Floats, sums: DerivativeSums) -> Floats:
    """Return the expected REML information that the cell means contain about the variance parameters.

    It is (p, p) for p parameters theta: half of tr(Q D_i Q D_j), with Q = W - WHW the projection onto
    residuals.
    """
    w, P, (D, S, X) = cells.weight, solution.P, sums
    own = (D * (w**2 * (2.0 * w * residual_variance - 1.0))) @ D.T  # w^2 - 2 w^3 h, h = 1/w - variance
    at = np.zeros((len(D), cells.J))
    for i, row in enumerate(D):
        at[i] = cells.by_environment(w**2 * row)
    at /= np.where(cells.totals > 0.0, cells.totals, 1.0)
    PS = P @ S
    return np.asarray(
        0.5 * (own + at @ at.T + 2.0 * np.einsum("kl,ijlk->ij", P, X) + np.einsum("ikl,jlk->ij", PS, PS))
    )


def variance_correction(
    cells: Cells, solution: Solution, sums: DerivativeSums, covariance: Floats
) -> VarianceCorrection:
    """Return the Kenward-Roger corrections that allow for errors of the estimated variance parameters.

    `covariance` is that of the estimates of the parameters theta, (p, p). The corrections are 2 sum_ij Cov_ij
    P (sum_c w^3 D_i D_j gg' - X_ij - S_i P S_j) P, and sum_ij Cov_ij s_i s_j/2 of each contrast, with s_i its
    entry of P S_i P.
    """
    P, (D, S, X) = solution.P, sums
    direct = meat(cells, cells.weight**3 * np.einsum("ic,ij,jc->c", D, covariance, D))
    through = np.einsum("ij,ijkl->kl", covariance, X)
    through += np.einsum("ij,ikl,lm,jmn->kn", covariance, S, P, S, optimize=True)
    s = np.array([pair_variances(P @ each @ P) for each in S])
    doubt = 0.5 * np.einsum("ij,ikl,jkl->kl", covariance, s, s)
    return VarianceCorrection(2.0 * P @ (direct - 0.5 * (through + through.T)) @ P, doubt)


def pooled_variance_correction(cells: Cells, solution: Solution, pools: Pools) -> VarianceCorrection:
    """Return the Kenward-Roger corrections for noise variances estimated by arm or by environment."""
    P, b, n = solution.P, cells.dense_shares(), cells.n
    extra, doubt = np.zeros_like(P), np.zeros_like(P)
    for p, here in group_members(pools.of):
        w, g = cells.weight[here], arm_deviations(cells, b, here)
        share = w * pools.variance[p] / n[here]  # Share of the noise in the cell's variance.
        X = g @ P  # Each row is Pg.
        twice, once = (X.T * (w * share**2)) @ X, (X.T * (w * share)) @ X
        R = (X.T * (w * share)) @ g
        environments, column = np.unique(cells.environment[here], return_inverse=True)
        together = np.zeros((environments.size, cells.K))
        np.add.at(together, column, (w * share)[:, None] * X)
        both = R @ P @ R.T + (together.T / cells.totals[environments]) @ together
        extra += 4.0 * (twice - both) / pools.freedom[p]
        doubt += pair_variances(once) ** 2 / pools.freedom[p]
    return VarianceCorrection(extra, doubt)


def satterthwaite(P: Floats, doubt: Floats) -> Floats:
    """Return Satterthwaite's degrees of freedom, at least 1, of each difference between two arms: (K, K)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(doubt > 0.0, np.maximum(pair_variances(P) ** 2 / doubt, 1.0), np.inf)
