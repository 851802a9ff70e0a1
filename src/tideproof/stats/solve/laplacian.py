"""Graph of the arms: comparisons within environments, connected components, and the inverse of the Laplacian.

Profiling out the shifts from the normal equations leaves the Laplacian L = sum_j diag(w_j) - w_j w_j'/W_j on
the arms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.cells import Cells

_MANY = 500  # With more arms the factored inverse saves time.
_ARMS_PER_ENVIRONMENT = 4  # The factored inverse needs this many arms per environment.


def link_weights(cells: Cells) -> Floats:
    """Return the edge weights of the graph of the arms, the information from direct comparisons: (K, K).

    They are the sum of w_j w_j'/W_j over environments.

    w_j are the weights of the arms in environment j, and W_j is their sum. The entries off the diagonal are
    the edge weights of the Laplacian: the information from direct comparisons of two arms. The matrix is
    symmetric to the last bit.
    """
    total = np.zeros((cells.K, cells.K))
    for _, _, (share, weight) in cells.blocks(cells.shares, cells.weight):
        total += share.T @ weight
    lower = np.tril(total)
    return lower + np.tril(total, -1).T


def laplacian_matrix(cells: Cells) -> Floats:
    """Return the Laplacian L of the arms, (K, K); `invert_laplacian` solves with it without cancellation."""
    return np.asarray(np.diag(cells.by_arm(cells.weight)) - link_weights(cells))


def connected_components(linked: NDArray[np.bool_]) -> Ints:
    """Return the connected component of each node: 0, 1, ... in the order of their first nodes."""
    lowest = np.arange(len(linked))
    while True:  # Each node takes its neighbours' lowest index until none changes.
        near = np.minimum(lowest, np.where(linked, lowest, len(linked)).min(axis=1))
        if np.array_equal(near, lowest):
            return np.unique(lowest, return_inverse=True)[1]
        lowest = near[near]


def invert_laplacian(between: Floats, component: Ints) -> Floats:
    """Return a generalised inverse P of the Laplacian of a graph with the edge weights `between`.

    Rows and columns of reference arms are 0. The reference of each component is the arm with the largest sum
    of edge weights. L is diagonally dominant with zero row sums, so its diagonal is computed as the sum of
    the other entries, without cancellation. P = X'X with X the inverse of a Cholesky factor is symmetric and
    positive semidefinite to the last bit.
    """
    X = _root_of_inverse(between, component)
    return np.asarray(X.T @ X)


def _root_of_inverse(between: Floats, component: Ints) -> Floats:
    """Return a square root X of the Laplacian's generalised inverse: X'X is that of `invert_laplacian`."""
    degree = between.sum(axis=1)
    reference = _references(degree, component)
    laplacian = np.diag(degree) - between
    laplacian[reference, :] = laplacian[:, reference] = 0.0
    laplacian[reference, reference] = 1.0
    X = np.linalg.solve(np.linalg.cholesky(laplacian), np.eye(len(between)))
    X[reference, reference] = 0.0
    return np.asarray(X)


def _references(degree: Floats, component: Ints) -> Ints:
    """Return the arm with the largest sum of edge weights in each component."""
    heaviest = np.lexsort((-degree, component))
    return np.asarray(heaviest[np.unique(component[heaviest], return_index=True)[1]])


class FactoredInverse(NamedTuple):
    """Factored generalised inverse of the Laplacian of many arms that share few environments.

    Eliminating the arms instead of the environments leaves a Laplacian M on the environments, with edge
    weights sum_a w_aj w_al/w_a: of size J instead of K. Let X'X be its inverse and S = X (w_aj/w_a). Then
    diag(1/w_a) + S'S equals the inverse of L up to constants for each row and column of a component.
    Contrasts do not depend on these constants; they are chosen so that the rows of the references are 0.
    Takes O(J K^2) instead of O(K^3).

    Attributes
    ----------
    own : (K,) 1/w_a.
    by : (J, K) S.
    component : (K,) connected component of each arm.
    reference : (groups,) the arm of each component whose row is 0.
    """

    own: Floats
    by: Floats
    component: Ints
    reference: Ints

    def inverse(self) -> Floats:
        """Return the generalised inverse P of the Laplacian as a dense matrix.

        It equals the result of `invert_laplacian` up to rounding.
        """
        P = self.by.T @ self.by
        P[np.diag_indices(self.own.size)] += self.own
        return self._fixed(P)

    def sandwich(self, middle: Floats) -> Floats:
        """Return a sandwich covariance P M P, with M the matrix `middle`, from the factors of P."""
        left = self.own[:, None] * middle + self.by.T @ (self.by @ middle)
        return self._fixed(left * self.own + (left @ self.by.T) @ self.by)

    def solve(self, score: Floats) -> Floats:
        """Solve L x = score for x, with L the Laplacian; `score` must add up to 0 in each component."""
        x = self.own * score + self.by.T @ (self.by @ score)
        return np.asarray(x - x[self.reference][self.component])

    def _fixed(self, P: Floats) -> Floats:
        """Subtract constants from rows and columns of the inverse P, so that reference arms have zeros."""
        level = P[self.reference[self.component], np.arange(self.own.size)]
        level -= 0.5 * level[self.reference][self.component]
        P -= level[:, None] + level
        P[self.reference, :] = P[:, self.reference] = 0.0
        if self.reference.size > 1:
            P[self.component[:, None] != self.component] = 0.0
        return P


def sandwich(P: Floats, middle: Floats, short: FactoredInverse | None) -> Floats:
    """Return a sandwich covariance P M P, with P an inverse of the Laplacian and M the matrix `middle`.

    `middle` is symmetric, and its rows add up to 0 in each component. `short` is the factored form of P,
    which is quicker; None if there is none.
    """
    return P @ middle @ P if short is None else short.sandwich(middle)


def factor_inverse(cells: Cells, component: Ints | None = None) -> FactoredInverse | None:
    """Return the factored inverse of the Laplacian; None unless there are many arms and few environments."""
    if cells.K <= _MANY or _ARMS_PER_ENVIRONMENT * cells.J > cells.K:
        return None
    w = np.zeros((cells.J, cells.K))
    w[cells.environment, cells.arm] = cells.weight
    total = w.sum(axis=0)
    own = np.where(total > 0.0, 1.0 / np.where(total > 0.0, total, 1.0), 0.0)
    between = (w * own) @ w.T
    between = 0.5 * (between + between.T)
    np.fill_diagonal(between, 0.0)
    place = connected_components(between > 0.0)
    if component is None:
        component = _arm_components(cells, place)
    degree = cells.by_arm(cells.weight * (1.0 - cells.shares))
    by = _root_of_inverse(between, place) @ (w * own)
    return FactoredInverse(own, by, component, _references(degree, component))


def _arm_components(cells: Cells, place: Ints) -> Ints:
    """Return the connected component of each arm, from those of the environments."""
    label = cells.J + np.arange(cells.K)  # An arm without rewards is alone.
    label[cells.arm] = place[cells.environment]
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[group])
