"""The paper's least-squares regression, with dummy variables for arms and all environments but one."""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Floats


def dummies(counts: Floats, gauge: int = 0) -> tuple[Floats, Floats]:
    """Return the dummy matrix X with a row for each cell (arm and environment), and the pulls of each cell.

    The shift of environment `gauge` is zero.
    """
    environment, arm = np.nonzero(counts)
    J, K = counts.shape
    X = np.hstack([np.eye(K)[arm], np.delete(np.eye(J)[environment], gauge, axis=1)])
    return X, counts[environment, arm]


def covariance(counts: Floats) -> Floats:
    """Return the covariance (X'X)^-1 of the estimated K means and J - 1 shifts, for noise of variance 1.

    The design must connect all arms.
    """
    X, n = dummies(counts)
    return np.asarray(np.linalg.inv(X.T @ (n[:, None] * X)))


def estimate(counts: Floats, cell_means: Floats, gauge: int = 0) -> Floats:
    """Return least-squares estimates of K means and J - 1 shifts from mean rewards by arm and environment."""
    X, n = dummies(counts, gauge)
    return np.asarray(np.linalg.solve(X.T @ (n[:, None] * X), X.T @ (n * cell_means)))
