"""Grouping of a log's rows into time bins that serve as environments, for skewed or mostly equal rewards."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.data.cell_assembly import Groups, assemble_cells
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.sources.array_columns import cells_from_arrays
from tideproof.data.time_ordered_rows import TimeOrderedRows
from tideproof.stats.cells import Cells
from tideproof.stats.tide.hidden_tide_estimate import moment_labels
from tideproof.text import format_count

REWARDS_PER_BIN = 25  # intended number of rewards of each arm in a bin
MOST_BINS = 40  # largest number of bins


class TimeBins(NamedTuple):
    """Time bins that serve as environments, with about the same number of rewards in each.

    Attributes
    ----------
    column : the column of times.
    bins : number of bins.
    each : average number of rewards in a bin.
    clock : whether the column holds times; if not, it holds numbers that define an order.
    """

    column: str
    bins: int
    each: int
    clock: bool

    @property
    def sentence(self) -> str:
        """Note for users on why rows were grouped into time bins, and which option may be better."""
        label = f"--environment 'day({self.column})'" if self.clock else "--environment with a column of days"
        return (
            f"The shift cannot be estimated from single rewards that are mostly equal (such as 0/1) or "
            f"skewed. Rows were therefore grouped into {format_count(self.bins, 'time bin')} ({self.column}, "
            f"about {self.each:,} rewards each), which serve as environments. Changes of the shift within a "
            f"bin count as noise; if you know when the shift changes, use {label}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the time bins as a dictionary of plain values, for JSON."""
        return {"binned_by": self.column, "bins": self.bins, "rewards_a_bin": self.each}


def group_into_bins(rows: TimeOrderedRows) -> tuple[Cells, TimeBins]:
    """Group time-ordered rows of a log into time bins, which serve as environments."""
    singles = rows.singles
    if singles is None:
        bin_of, labels = _assign_bins(rows.time, rows.n, len(rows.arms), rows.clock)
        names, keys = [rows.arms[i] for i in rows.arm.tolist()], [(i,) for i in bin_of.tolist()]
        groups = Groups(names, keys, rows.n, rows.mean, rows.squares, ordered=True, dropped=rows.dropped)
        found = assemble_cells(groups, ColumnSpec.of("arm", "bin", "reward"))
    else:
        order = np.argsort(singles.time, kind="stable")
        arm, reward = singles.arm[order], singles.reward[order]
        bin_of, labels = _assign_bins(singles.time[order], np.ones(arm.size), len(rows.arms), rows.clock)
        found = cells_from_arrays(arm, bin_of, reward)
        found = replace(found, arms=[rows.arms[i] for i in found.arms], dropped=rows.dropped)
    found = replace(found, environments=labels)
    each = round(float(found.n.sum()) / len(labels))
    return found, TimeBins(rows.column, len(labels), each, rows.clock)


def _assign_bins(time: Floats, n: Floats, arms: int, clock: bool) -> tuple[Ints, list[Any]]:
    """Return the time bin of each row of a log, and the start of each bin.

    Rows of the same time share a bin. Rows must be sorted by time.

    >>> _assign_bins(np.array([0.0, 1.0, 1.0, 2.0, 3.0]), np.ones(5), 2, False)
    (array([0, 0, 0, 1, 1]), [0, 2])
    """
    total = float(n.sum())
    count = min(max(int(total / (REWARDS_PER_BIN * arms)), 2), MOST_BINS)
    moment = np.cumsum(np.diff(time, prepend=time[0]) > 0.0)
    first = np.searchsorted(moment, np.arange(int(moment[-1]) + 1))  # first row of each time
    before = (np.cumsum(n) - n)[first]
    _, start, of = np.unique(np.floor(count * before / total), return_index=True, return_inverse=True)
    return of[moment], moment_labels(time[first[start]], clock)
