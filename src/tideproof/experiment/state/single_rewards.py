"""Third and fourth central moments of single rewards, which intervals for skewed rewards need.

Policies do not need them, so the state does not keep them; they are computed when a fit is read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

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

    def copy_rewards(self, book: Book) -> CopiedRewards:
        """Return environment, arm and reward of each pull of a book."""
        for pull in book.pulls[len(self._where) :]:
            self._where.append(self._labels.setdefault(pull.environment, len(self._labels)))
            self._who.append(self._names.setdefault(pull.arm, len(self._names)))
        known = self._labels, len(self._labels), self._names, len(self._names)
        rewards = np.array(book.rewards, np.float64)
        return CopiedRewards(*known, np.array(self._where), np.array(self._who), rewards)


class CopiedRewards(NamedTuple):
    """Rewards of all pulls at one moment; the two dictionaries are shared, and only grow afterwards.

    Attributes
    ----------
    labels, label_count : number of each environment label; how many labels there were at that moment.
    names, name_count : number of each arm name; how many names there were at that moment.
    environment, arm, reward : number of the environment, number of the arm and reward of each pull; NaN where
        a pull has no reward.
    """

    labels: dict[Any, int]
    label_count: int
    names: dict[Any, int]
    name_count: int
    environment: Ints
    arm: Ints
    reward: Floats

    def in_order(self, arms: Sequence[str]) -> tuple[Ints, Floats]:
        """Return the index in `arms` and the reward of each pull of these arms that has a reward."""
        index = np.full(self.name_count + 1, -1)
        index[_numbers_of(self.names, self.name_count, arms)] = np.arange(len(arms))
        index[-1] = -1  # arms without a pull
        arm = index[self.arm]
        used = (arm >= 0) & ~np.isnan(self.reward)
        return arm[used], self.reward[used]

    def add_moments(self, cells: Cells) -> Cells:
        """Return the cells with third and fourth moments, if all their rewards were told one by one."""
        place = np.full((self.label_count + 1, self.name_count + 1), -1)
        rows = _numbers_of(self.labels, self.label_count, cells.environments)
        columns = _numbers_of(self.names, self.name_count, cells.arms)
        place[rows[cells.environment], columns[cells.arm]] = np.arange(cells.n.size)
        cell = place[self.environment, self.arm]
        used = (cell >= 0) & ~np.isnan(self.reward)
        cell, reward = cell[used], self.reward[used]
        if not np.array_equal(np.bincount(cell, minlength=cells.n.size), cells.n):
            return cells
        deviation = reward - cells.mean[cell]
        cubes, fourths = (sum_by_index(cell, deviation**power, cells.n.size) for power in (3, 4))
        return replace(cells, cubes=cubes, fourths=fourths)


def _numbers_of(known: dict[Any, int], count: int, labels: Iterable[Any]) -> Ints:
    """Return the number of each label; labels that are not among the first `count` get that number."""
    return np.array([min(known.get(label, count), count) for label in labels], np.int64)
