"""Third and fourth moments of rewards that were told one by one, which limits of skewed rewards need.

A policy needs none of them, so that no state keeps them; they are added up when somebody reads.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.experiment.state.pulls_book import Book
from tideproof.stats.cells import Cells, sum_by_index


class SingleRewards:
    """Where each pull was played; what was read once is not read again."""

    def __init__(self) -> None:
        self._labels: dict[Any, int] = {}
        self._names: dict[Any, int] = {}
        self._where, self._who = array("q"), array("q")

    def copied(self, book: Book) -> tuple[Ints, Ints, Floats]:
        """Return environment, arm and reward of every pull, NaN where there is none, of a book at rest."""
        for pull in book.pulls[len(self._where) :]:
            self._where.append(self._labels.setdefault(pull.environment, len(self._labels)))
            self._who.append(self._names.setdefault(pull.arm, len(self._names)))
        return np.array(self._where), np.array(self._who), np.array(book.rewards, np.float64)

    def added(self, cells: Cells, pulls: tuple[Ints, Ints, Floats]) -> Cells:
        """Return the cells with their higher moments, if all of their rewards were told one by one."""
        where, who, reward = pulls
        place = np.full((len(self._labels) + 1, len(self._names) + 1), -1)
        rows, columns = _among(self._labels, cells.environments), _among(self._names, cells.arms)
        place[rows[cells.environment], columns[cells.arm]] = np.arange(cells.n.size)
        cell = place[where, who]
        used = (cell >= 0) & ~np.isnan(reward)
        cell, reward = cell[used], reward[used]
        if not np.array_equal(np.bincount(cell, minlength=cells.n.size), cells.n):
            return cells
        deviation = reward - cells.mean[cell]
        cubes, fourths = (sum_by_index(cell, deviation**power, cells.n.size) for power in (3, 4))
        return replace(cells, cubes=cubes, fourths=fourths)


def _among(known: dict[Any, int], labels: Iterable[Any]) -> Ints:
    """Return the number of each label; one after all if it is unknown."""
    return np.array([known.get(label, len(known)) for label in labels], np.int64)
