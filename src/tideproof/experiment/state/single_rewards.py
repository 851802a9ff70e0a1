"""Third and fourth central moments of single rewards, which intervals for skewed rewards need.

Policies do not need them, so the state does not keep them; they are computed when a fit is read.
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
    """Index of the cell of each pull, to compute the third and fourth moments of cells.

    Pulls that were read once are not read again.
    """

    def __init__(self) -> None:
        self._labels: dict[Any, int] = {}
        self._names: dict[Any, int] = {}
        self._where, self._who = array("q"), array("q")

    def copy_rewards(self, book: Book) -> tuple[Ints, Ints, Floats]:
        """Return environment, arm and reward of each pull of a book, with NaN for missing rewards."""
        for pull in book.pulls[len(self._where) :]:
            self._where.append(self._labels.setdefault(pull.environment, len(self._labels)))
            self._who.append(self._names.setdefault(pull.arm, len(self._names)))
        return np.array(self._where), np.array(self._who), np.array(book.rewards, np.float64)

    def add_moments(self, cells: Cells, pulls: tuple[Ints, Ints, Floats]) -> Cells:
        """Return the cells with third and fourth moments, if all their rewards were told one by one."""
        where, who, reward = pulls
        place = np.full((len(self._labels) + 1, len(self._names) + 1), -1)
        rows, columns = _numbers_of(self._labels, cells.environments), _numbers_of(self._names, cells.arms)
        place[rows[cells.environment], columns[cells.arm]] = np.arange(cells.n.size)
        cell = place[where, who]
        used = (cell >= 0) & ~np.isnan(reward)
        cell, reward = cell[used], reward[used]
        if not np.array_equal(np.bincount(cell, minlength=cells.n.size), cells.n):
            return cells
        deviation = reward - cells.mean[cell]
        cubes, fourths = (sum_by_index(cell, deviation**power, cells.n.size) for power in (3, 4))
        return replace(cells, cubes=cubes, fourths=fourths)


def _numbers_of(known: dict[Any, int], labels: Iterable[Any]) -> Ints:
    """Return the number of each label; unknown labels get the next free number."""
    return np.array([known.get(label, len(known)) for label in labels], np.int64)
