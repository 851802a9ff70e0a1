"""The Laplacian of the arms and its right side, kept as sums over environments.

A change of one environment takes its old share out and puts its new one in, so that a fresh solve costs
what the environments changed since the last one cost, and the number of arms cubed: not all of them.
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


class _Totals(NamedTuple):
    """Sums over environments: who met whom how often, links, right side, squares, rewards, environments."""

    meet: Ints
    links: Floats
    right: Floats
    squares: float
    told: float
    environments: int


class _Step(NamedTuple):
    """Totals, and the rows put in last, as they are and were: they may still have to be noted."""

    totals: _Totals
    rows: Ints
    values: Values
    old: Values


class Quadratic(NamedTuple):
    """Q(mu) = c - 2 b'mu + mu'L mu, of n numbers."""

    L: Floats
    b: Floats
    c: float
    n: float


class LaplacianUndo(NamedTuple):
    """What `RunningLaplacian.restore` needs to go back."""

    step: _Step
    changed: set[int]
    among: set[int]


class RunningLaplacian:
    """Sums over the environments of n, mean and squares, (rows, K) arrays that the owner changes."""

    def __init__(self, arms: int) -> None:
        zero = np.zeros((0, arms))
        self._known: Values = (zero, zero, zero)  # what the totals are made of
        self._step = _Step(_share(zero, zero, zero), np.zeros(0, np.int64), self._known, self._known)
        self._since: list[_Step] = []  # steps after the last `save`
        self.changed: set[int] = set()

    def save(self, rows: Iterable[int]) -> LaplacianUndo:
        """Return what to go back to after changes to these rows, new ones included."""
        self._since = []
        return LaplacianUndo(self._step, self.changed, self.changed.intersection(rows))

    def restore(self, kept: LaplacianUndo, rows: Iterable[int]) -> None:
        """Go back after changes to these rows; may be done again where it was interrupted."""
        for step in reversed(self._since):
            _write(self._known, step.rows, step.old)
        self._step, self.changed = kept.step, kept.changed
        self.changed.difference_update(set(rows) - kept.among)

    def contents(self) -> list[Any]:
        """Return everything, to be given to `refill`."""
        self._note()
        return [list(self._step.totals), list(self._known), sorted(self.changed)]

    def refill(self, contents: Any) -> None:
        """Be what another was."""
        totals, known, changed = contents
        meet, links, right, squares, told, environments = totals
        n, mean, spread = known
        none: Values = (n[:0], mean[:0], spread[:0])
        self._known = n, mean, spread
        self._step = _Step(
            _Totals(meet, links, right, squares, told, environments), np.zeros(0, np.int64), none, none
        )
        self.changed = set(changed)

    def solved(self, read: Callable[[Ints], Values]) -> Solution:
        """Take in the rows that changed, which `read` returns, and solve."""
        self.take_in(read)
        return self.solution()

    @property
    def quadratic(self) -> Quadratic:
        """The squared deviations from any means, once shifts are taken out."""
        totals, (_, between) = self._step.totals, self._links()
        laplacian = np.diag(between.sum(axis=1)) - between
        return Quadratic(laplacian, totals.right, totals.squares, totals.told - totals.environments)

    def _links(self) -> tuple[NDArray[np.bool_], Floats]:
        """Return who met whom, and how closely."""
        linked = self._step.totals.meet > 0
        np.fill_diagonal(linked, False)
        return linked, np.where(linked, self._step.totals.links, 0.0)

    def solution(self) -> Solution:
        """Solve what was taken in."""
        totals, laplacian, (linked, between) = self._step.totals, self.quadratic.L, self._links()
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

    def take_in(self, read: Callable[[Ints], Values]) -> None:
        """Add what changed; all of it or, where it is interrupted, nothing."""
        self._note()
        rows = np.array(sorted(self.changed), np.int64)
        if rows.size == 0:
            return
        needed, known = int(rows[-1]) + 1, len(self._known[0])
        if known < needed:
            n, mean, squares = (_longer(old, 2 * needed) for old in self._known)
            self._known = n, mean, squares
        values = read(rows)
        n, mean, squares = self._known
        if rows[0] < known:
            old = n[rows], mean[rows], squares[rows]
            before = _share(*old)
        else:  # as after a start: the totals have none of these rows
            zero = np.broadcast_to(0.0, values[0].shape)
            old = zero, zero, zero
            before = _share(zero[:0], zero[:0], zero[:0])
        after = _share(*values)
        parts: Any = zip(self._step.totals, after, before, strict=True)
        totals = _Totals(*(total + (new - old) for total, new, old in parts))
        step = _Step(totals, rows, values, old)
        self._since.append(step)
        self._step = step
        self._note()
        self.changed = set()

    def _note(self) -> None:
        """Write down what the totals are made of; harmless if it was done."""
        _write(self._known, self._step.rows, self._step.values)


def _write(known: Values, rows: Ints, values: Values) -> None:
    for own, new in zip(known, values, strict=True):
        own[rows] = new


def _share(n: Floats, mean: Floats, squares: Floats) -> _Totals:
    """Return what these environments add to the totals."""
    size = n.sum(axis=1)
    share = n / np.where(size > 0.0, size, 1.0)[:, None]
    told = n > 0.0
    centred = np.zeros_like(n)
    np.subtract(mean, (share * mean).sum(axis=1)[:, None], out=centred, where=told)
    weighted = n * centred
    seen = told.astype(np.float64)  # products of floats are quick, and exact for whole numbers
    return _Totals(
        meet=(seen.T @ seen).astype(np.int64),
        links=share.T @ n,
        right=weighted.sum(axis=0),
        squares=float((weighted * centred).sum() + squares.sum()),
        told=float(size.sum()),
        environments=int(np.count_nonzero(size)),
    )


def _longer(array: Floats, rows: int) -> Floats:
    grown = np.zeros((rows, array.shape[1]))
    grown[: len(array)] = array
    return grown
