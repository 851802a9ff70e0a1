"""The graph of the arms: who met whom, how much that tells, who is connected, and the Laplacian inverted.

Profiling out the shifts leaves the Laplacian L = sum_j diag(w_j) - w_j w_j'/W_j on the arms.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tideproof.core.arrays import Floats, Ints
from tideproof.stats.cells import Cells


def links(cells: Cells) -> Floats:
    """Return sum_j w_j w_j'/W_j: (K, K), symmetric to the last bit.

    Off the diagonal that is how much direct comparisons of two arms tell, the weights of the Laplacian.
    """
    total = np.zeros((cells.K, cells.K))
    for _, _, (share, weight) in cells.blocks(cells.shares, cells.weight):
        total += share.T @ weight
    lower = np.tril(total)
    return lower + np.tril(total, -1).T


def laplacian(cells: Cells) -> Floats:
    """Return L: (K, K). To solve with it use `inverse`, which builds it without cancellation."""
    return np.asarray(np.diag(cells.by_arm(cells.weight)) - links(cells))


def components(linked: NDArray[np.bool_]) -> Ints:
    """Count through the connected groups of arms, 0, 1, ... by their first arm; an arm may be alone."""
    lowest = np.arange(len(linked))
    while True:  # every arm takes the lowest arm it knows of, until nobody learns of a lower one
        near = np.minimum(lowest, np.where(linked, lowest, len(linked)).min(axis=1))
        if np.array_equal(near, lowest):
            return np.unique(lowest, return_inverse=True)[1]
        lowest = near[near]


def inverse(between: Floats, component: Ints) -> Floats:
    """Invert the Laplacian with these weights between arms, less one arm a component: that with most links.

    L is diagonally dominant with zero row sums: its diagonal is the sum of its other entries, added up
    without cancellation. P = X'X, X the inverse of a Cholesky factor, is symmetric and positive
    semidefinite to the last bit.
    """
    degree = between.sum(axis=1)
    heaviest = np.lexsort((-degree, component))
    reference = heaviest[np.unique(component[heaviest], return_index=True)[1]]
    laplacian = np.diag(degree) - between
    laplacian[reference, :] = laplacian[:, reference] = 0.0
    laplacian[reference, reference] = 1.0
    X = np.linalg.solve(np.linalg.cholesky(laplacian), np.eye(len(between)))
    X[reference, reference] = 0.0
    return np.asarray(X.T @ X)
