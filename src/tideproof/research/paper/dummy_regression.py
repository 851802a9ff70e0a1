"""Least-squares regression with dummy variables for all arms and for all environments but one."""

from __future__ import annotations

import numpy as np

from tideproof.core.kernel_state_arrays import Floats


def dummies(counts: Floats, gauge: int = 0) -> tuple[Floats, Floats]:
    """Return the matrix of dummy variables, with one row for each arm-by-environment cell.

    Also return the number of pulls of each cell. The matrix X has one row for each cell with pulls. The shift
    of environment `gauge` is zero.
    """
    environment, arm = np.nonzero(counts)
    J, K = counts.shape
    X = np.hstack([np.eye(K)[arm], np.delete(np.eye(J)[environment], gauge, axis=1)])
    return X, counts[environment, arm]


def covariance(counts: Floats) -> Floats:
    """Return the covariance matrix of the estimated arm means and shifts, for noise of variance 1.

    It is (X'X)^-1, for K means and J - 1 shifts. The design must connect all arms.
    """
    X, n = dummies(counts)
    return np.asarray(np.linalg.inv(X.T @ (n[:, None] * X)))


def estimate(counts: Floats, cell_means: Floats, gauge: int = 0) -> Floats:
    """Estimate arm means and shifts by least squares, from mean rewards by arm and environment.

    The result holds K means and J - 1 shifts.
    """
    X, n = dummies(counts, gauge)
    return np.asarray(np.linalg.solve(X.T @ (n[:, None] * X), X.T @ (n * cell_means)))
