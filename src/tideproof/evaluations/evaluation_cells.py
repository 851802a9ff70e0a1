"""Statistics of each model on each test item, from the rows of an evaluation log as arrays of indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, UnitRewards, sum_by_index

_DENSE = 8  # A dense index of all pairs of a model and an item may have this many numbers per row.


class IndexedColumn(NamedTuple):
    """Column of labels stored as its distinct labels and, for each row, the index of the label."""

    labels: list[Any]
    codes: Ints

    @classmethod
    def of(cls, values: Sequence[Any]) -> IndexedColumn:
        """Number the distinct labels of a column.

        >>> IndexedColumn.of(["b", "a", "b"])
        IndexedColumn(labels=['b', 'a'], codes=array([0, 1, 0]))
        """
        number = {label: i for i, label in enumerate(dict.fromkeys(values))}
        return cls(list(number), np.fromiter(map(number.__getitem__, values), np.int64, len(values)))

    def select(self, rows: Any) -> IndexedColumn:
        """Return the column of labels for some of its rows, without labels that no longer occur."""
        left, first, own = np.unique(self.codes[rows], return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(left.size, np.int64)
        place[order] = np.arange(left.size)
        return IndexedColumn([self.labels[i] for i in left[order].tolist()], place[own])


def evaluation_cells(
    models: IndexedColumn,
    items: IndexedColumn,
    score: Floats,
    graders: IndexedColumn | None = None,
    clusters: IndexedColumn | None = None,
) -> Cells:
    """Return statistics of the scores of each model on each item, from a table with one score per row.

    An item that several graders have scored is an environment for each grader, so that models are compared
    under the same grader; these environments are a cluster. `clusters` are groups of items, such as passages.
    """
    arm, K = models.codes, len(models.labels)
    environment, labels = items.codes, items.labels
    cluster = None if clusters is None else clusters.codes
    if graders is not None and len(graders.labels) > 1:
        pair = items.codes * len(graders.labels) + graders.codes
        seen, _first, environment = np.unique(pair, return_index=True, return_inverse=True)
        labels = [
            f"{items.labels[i]}:{graders.labels[g]}"
            for i, g in zip(*np.divmod(seen, len(graders.labels)), strict=True)
        ]
        cluster = items.codes if cluster is None else cluster
    J = len(labels)
    key = environment * K + arm
    if _DENSE * key.size >= J * K:
        count = np.bincount(key, minlength=J * K)
        at = np.flatnonzero(count)
        place = np.zeros(J * K, np.int64)
        place[at] = np.arange(at.size)
        cell, n = place[key], count[at].astype(np.float64)
    else:
        at, cell, counted = np.unique(key, return_inverse=True, return_counts=True)
        n = counted.astype(np.float64)
    if at.size == key.size:  # one score of each model on each item
        mean, squares = np.empty(at.size), np.zeros(at.size)
        mean[cell] = score
        low = high = mean
    else:
        mean = sum_by_index(cell, score, at.size) / n
        squares = sum_by_index(cell, (score - mean[cell]) ** 2, at.size)
        low, high = np.full(at.size, np.inf), np.full(at.size, -np.inf)
        np.minimum.at(low, cell, score)
        np.maximum.at(high, cell, score)
    units = None
    if cluster is not None:
        of = np.zeros(J, np.int64)
        of[environment] = cluster
        if np.any(of[environment] != cluster):
            row = int(np.flatnonzero(of[environment] != cluster)[0])
            raise InputError(f"item {labels[environment[row]]!r} belongs to several groups")
        units = UnitRewards(of[at // K], np.arange(at.size), n, mean)
    return Cells(models.labels, labels, at % K, at // K, n, mean, squares, low=low, high=high, units=units)
