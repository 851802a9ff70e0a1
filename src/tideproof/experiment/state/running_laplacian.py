"""Normal equations for the means of the arms (a Laplacian matrix), kept as sums over environments.

When an environment changes, its old contribution is subtracted and its new one added. So a new solution costs
the number of changed environments, and the cube of the number of arms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.solve.least_squares import Solution, connected_components, group_labels, invert_laplacian

Values = tuple[Floats, Floats, Floats]  # n, mean and squares


class _LaplacianSums(NamedTuple):
    """Sums over environments that form the normal equations of a least-squares fit of the arm means.

    Attributes
    ----------
    meetings : (K, K) number of environments that two arms share.
    links : (K, K) off the diagonal, minus the entries of the Laplacian matrix.
    right : (K,) right-hand side of the normal equations.
    squares : sum of squared deviations from the means of the environments.
    told, environments : number of rewards, and of environments with a reward.
    """

    meetings: Ints
    links: Floats
    right: Floats
    squares: float
    told: float
    environments: int


class QuadraticForm(NamedTuple):
    """Coefficients of the sum of squared residuals as a quadratic function of the arm means.

    It is Q(mu) = c - 2 b'mu + mu'L mu. `n` is the number of rewards minus the number of environments.
    """

    L: Floats
    b: Floats
    c: float
    n: float


class RunningLaplacian:
    """Normal equations of a least-squares fit of the arm means, updated when an environment changes.

    The sums are computed from tables of counts, means and squared deviations, with one row per environment
    and one column per arm. The owner changes the tables, and adds the numbers of changed rows to `changed`.
    """

    def __init__(self, arms: int) -> None:
        zero = np.zeros((0, arms))
        self._stored: Values = (zero, zero, zero)  # the values that the totals contain
        self._totals = _contribution(zero, zero, zero)
        self.changed: set[int] = set()

    def contents(self) -> list[Any]:
        """Return the normal equations as lists and arrays, from which `refill` restores them."""
        return [list(self._totals), list(self._stored), sorted(self.changed)]

    def refill(self, contents: Any) -> None:
        """Restore the normal equations from the lists and arrays that `contents` returned."""
        totals, (n, mean, squares), changed = contents
        self._totals, self._stored, self.changed = _LaplacianSums(*totals), (n, mean, squares), set(changed)

    def solve(self, read: Callable[[Ints], Values]) -> Solution:
        """Update the normal equations with the changed environments, and return the least-squares solution.

        `read` returns the current counts, means and squared deviations of some rows.
        """
        self.update(read)
        return self.solution()

    @property
    def quadratic(self) -> QuadraticForm:
        """Sum of squared residuals as a quadratic function of the arm means, after removing the shifts."""
        totals, (_, between) = self._totals, self._links()
        laplacian = np.diag(between.sum(axis=1)) - between
        return QuadraticForm(laplacian, totals.right, totals.squares, totals.told - totals.environments)

    def _links(self) -> tuple[NDArray[np.bool_], Floats]:
        """Return which pairs of arms share an environment, and each pair's weight in the Laplacian matrix."""
        linked = self._totals.meetings > 0
        np.fill_diagonal(linked, False)
        return linked, np.where(linked, self._totals.links, 0.0)

    def solution(self) -> Solution:
        """Return the least-squares solution of the current normal equations."""
        totals, laplacian, (linked, between) = self._totals, self.quadratic.L, self._links()
        component = connected_components(linked)
        P = invert_laplacian(between, component)
        mu = np.zeros(len(P))
        for _ in range(2):  # once to solve, once more to refine
            mu += P @ (totals.right - laplacian @ mu)
        return Solution(
            P=P,
            mu=mu,
            rss=max(0.0, totals.squares - float(totals.right @ mu)),
            component=component,
            group=group_labels(component),
            told=round(totals.told),
            environments=totals.environments,
            joins=len(P) - int(component.max()) - 1,
        )

    def update(self, read: Callable[[Ints], Values]) -> None:
        """Update the normal equations with the changed environments.

        `read` returns the reward summaries of these environments.
        """
        rows = np.array(sorted(self.changed), np.int64)
        if rows.size == 0:
            return
        needed, known = int(rows[-1]) + 1, len(self._stored[0])
        if known < needed:
            n, mean, squares = (_extend(old, 2 * needed) for old in self._stored)
            self._stored = n, mean, squares
        values = read(rows)
        n, mean, squares = self._stored
        if rows[0] < known:
            before = _contribution(n[rows], mean[rows], squares[rows])
        else:  # the totals contain none of these rows yet
            zero = np.broadcast_to(0.0, values[0].shape)
            before = _contribution(zero[:0], zero[:0], zero[:0])
        after = _contribution(*values)
        parts: Any = zip(self._totals, after, before, strict=True)
        self._totals = _LaplacianSums(*(total + (new - old) for total, new, old in parts))
        for own, new in zip(self._stored, values, strict=True):
            own[rows] = new
        self.changed = set()


def _contribution(n: Floats, mean: Floats, squares: Floats) -> _LaplacianSums:
    """Return the terms that some environments add to the normal equations for the arm means.

    They follow from the number, mean and squared deviations of each arm's rewards in each environment.
    """
    size = n.sum(axis=1)
    share = n / np.where(size > 0.0, size, 1.0)[:, None]
    told = n > 0.0
    centred = np.zeros_like(n)
    np.subtract(mean, (share * mean).sum(axis=1)[:, None], out=centred, where=told)
    weighted = n * centred
    seen = told.astype(np.float64)  # products of floats are fast, and exact for whole numbers
    return _LaplacianSums(
        meetings=(seen.T @ seen).astype(np.int64),
        links=share.T @ n,
        right=weighted.sum(axis=0),
        squares=float((weighted * centred).sum() + squares.sum()),
        told=float(size.sum()),
        environments=int(np.count_nonzero(size)),
    )


def _extend(array: Floats, rows: int) -> Floats:
    grown = np.zeros((rows, array.shape[1]))
    grown[: len(array)] = array
    return grown
