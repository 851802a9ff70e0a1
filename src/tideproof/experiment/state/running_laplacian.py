"""Laplacian matrix of the arms and its right-hand side, kept as running sums over environments.

When an environment changes, its old contribution is subtracted and its new one added. So a new solution costs
the number of changed environments, and the cube of the number of arms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.solve.laplacian import connected_components, invert_laplacian
from tideproof.stats.solve.least_squares import Solution, group_labels

Values = tuple[Floats, Floats, Floats]  # n, mean and squares


class _LaplacianSums(NamedTuple):
    """Sums over environments: shared environments, links, right-hand side, squares and counts."""

    meetings: Ints
    links: Floats
    right: Floats
    squares: float
    told: float
    environments: int


class _LaplacianUpdate(NamedTuple):
    """Sums after an update, with the rows that it changed: their new and old values.

    The rows are written to the table of known values later, so that an interrupted update can be repeated.
    """

    totals: _LaplacianSums
    rows: Ints
    values: Values
    old: Values


class QuadraticForm(NamedTuple):
    """Coefficients of the quadratic form Q(mu) = c - 2 b'mu + mu'L mu of n rewards."""

    L: Floats
    b: Floats
    c: float
    n: float


class LaplacianUndo(NamedTuple):
    """Undo record of a `RunningLaplacian`."""

    last_update: _LaplacianUpdate
    changed: set[int]
    outdated: set[int]


class RunningLaplacian:
    """Running sums over environments of (rows, K) tables of counts, means and squared deviations.

    The owner changes the tables, and adds the numbers of changed rows to `changed`.
    """

    def __init__(self, arms: int) -> None:
        zero = np.zeros((0, arms))
        self._stored: Values = (zero, zero, zero)  # what the totals are made of
        self._last_update = _LaplacianUpdate(
            _contribution(zero, zero, zero), np.zeros(0, np.int64), self._stored, self._stored
        )
        self._updates_since_save: list[_LaplacianUpdate] = []  # steps after the last `save`
        self.changed: set[int] = set()

    def save(self, rows: Iterable[int]) -> LaplacianUndo:
        """Return an undo record for changes to these rows and for new rows."""
        self._updates_since_save = []
        return LaplacianUndo(self._last_update, self.changed, self.changed.intersection(rows))

    def restore(self, kept: LaplacianUndo, rows: Iterable[int]) -> None:
        """Undo the changes to these rows since `save`; it may be repeated after an interruption."""
        for step in reversed(self._updates_since_save):
            _write_rows(self._stored, step.rows, step.old)
        self._last_update, self.changed = kept.last_update, kept.changed
        self.changed.difference_update(set(rows) - kept.outdated)

    def contents(self) -> list[Any]:
        """Return all data as lists and arrays, for `refill`."""
        self._store_values()
        return [list(self._last_update.totals), list(self._stored), sorted(self.changed)]

    def refill(self, contents: Any) -> None:
        """Restore the sums from `contents`."""
        totals, known, changed = contents
        meetings, links, right, squares, told, environments = totals
        n, mean, spread = known
        none: Values = (n[:0], mean[:0], spread[:0])
        self._stored = n, mean, spread
        self._last_update = _LaplacianUpdate(
            _LaplacianSums(meetings, links, right, squares, told, environments),
            np.zeros(0, np.int64),
            none,
            none,
        )
        self.changed = set(changed)

    def solve(self, read: Callable[[Ints], Values]) -> Solution:
        """Update the sums with the changed rows, which `read` returns, and return the solution."""
        self.update(read)
        return self.solution()

    @property
    def quadratic(self) -> QuadraticForm:
        """Quadratic form of the squared deviations from given means, after the shifts are removed."""
        totals, (_, between) = self._last_update.totals, self._links()
        laplacian = np.diag(between.sum(axis=1)) - between
        return QuadraticForm(laplacian, totals.right, totals.squares, totals.told - totals.environments)

    def _links(self) -> tuple[NDArray[np.bool_], Floats]:
        """Return which pairs of arms share an environment, and the weight of each pair."""
        linked = self._last_update.totals.meetings > 0
        np.fill_diagonal(linked, False)
        return linked, np.where(linked, self._last_update.totals.links, 0.0)

    def solution(self) -> Solution:
        """Return the least-squares solution for the present sums."""
        totals, laplacian, (linked, between) = self._last_update.totals, self.quadratic.L, self._links()
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
        """Update the sums with the changed rows, which `read` returns; completely or not at all."""
        self._store_values()
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
            old = n[rows], mean[rows], squares[rows]
            before = _contribution(*old)
        else:  # as after a start: the totals have none of these rows
            zero = np.broadcast_to(0.0, values[0].shape)
            old = zero, zero, zero
            before = _contribution(zero[:0], zero[:0], zero[:0])
        after = _contribution(*values)
        parts: Any = zip(self._last_update.totals, after, before, strict=True)
        totals = _LaplacianSums(*(total + (new - old) for total, new, old in parts))
        step = _LaplacianUpdate(totals, rows, values, old)
        self._updates_since_save.append(step)
        self._last_update = step
        self._store_values()
        self.changed = set()

    def _store_values(self) -> None:
        """Write the values of the last update into the table of known values; may be repeated."""
        _write_rows(self._stored, self._last_update.rows, self._last_update.values)


def _write_rows(known: Values, rows: Ints, values: Values) -> None:
    for own, new in zip(known, values, strict=True):
        own[rows] = new


def _contribution(n: Floats, mean: Floats, squares: Floats) -> _LaplacianSums:
    """Return what these environments contribute to the sums."""
    size = n.sum(axis=1)
    share = n / np.where(size > 0.0, size, 1.0)[:, None]
    told = n > 0.0
    centred = np.zeros_like(n)
    np.subtract(mean, (share * mean).sum(axis=1)[:, None], out=centred, where=told)
    weighted = n * centred
    seen = told.astype(np.float64)  # products of floats are quick, and exact for whole numbers
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
