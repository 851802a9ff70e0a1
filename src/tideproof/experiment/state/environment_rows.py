"""Table with one row per environment: summaries of its rewards by arm, and statistics for the policy.

The rewards of one arm in one environment are a cell: their number, mean and sum of squared deviations. The
statistics of an environment are a slot, as the kernels of a policy read it. Each row has two slots: one of
recorded rewards, and one that also counts pending pulls. The rows are in arrays that grow, so that a call
costs the same with ten or a hundred thousand environments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints, Memory, count_elements, view_buffers
from tideproof.experiment.pull import Label
from tideproof.kernels.fit.policy_data import Slot, record
from tideproof.stats.cells import Cells

_CACHED_SLOTS = 256  # number of slots for which views are kept


class EnvironmentArrays(NamedTuple):
    """Reward summaries, pending pulls and policy statistics as arrays with one row per environment.

    The first two have the columns of all others, which are views of them.

    Attributes
    ----------
    all_floats, all_ints : all columns.
    n, mean, squares : (rows, arms) number, mean and sum of squared deviations of the rewards in each cell.
    pending : (rows, arms) number of pending pulls.
    floats, ints : slots of recorded rewards.
    pending_floats, pending_ints : slots that also count pending pulls.
    """

    all_floats: Floats
    all_ints: Ints
    n: Floats
    mean: Floats
    squares: Floats
    floats: Floats
    pending_floats: Floats
    pending: Ints
    ints: Ints
    pending_ints: Ints


class SlotView(NamedTuple):
    """Statistics of one environment, as arrays and in the form that numerical kernels read."""

    memory: Memory[Slot]
    kernels: Any


class _Cell(NamedTuple):
    """Summary of one arm's rewards in one environment: number, mean and squared deviations.

    Each is in a list, so that it can be changed.
    """

    told: Any
    mean: Any
    squares: Any


class EnvironmentTable:
    """Table with one row per environment: summaries of its rewards by arm, and statistics for the policy.

    Attributes
    ----------
    labels : label of each row.
    with_rewards : numbers of the rows that have rewards, in the order of their first reward.
    """

    def __init__(self, arms: int, active_arms: int, to_kernel: Callable[[Any], Any]) -> None:
        """Create a table of environments without rows, for the given number of arms.

        The policy's statistics are those of the active arms (not retired); `active_arms` is their number.
        `to_kernel` converts a slot to the form that kernels take.
        """
        self._to_kernel = to_kernel
        self.labels: list[Label] = []
        self.with_rewards: list[int] = []
        self._rows: dict[Label, int] = {}
        self._active_arms = active_arms
        self._set(_empty_arrays(0, arms, active_arms))

    def _set(self, rows: EnvironmentArrays) -> None:
        self._current: tuple[EnvironmentArrays, dict[int, tuple[SlotView, SlotView]]] = rows, {}

    @property
    def rows(self) -> EnvironmentArrays:
        """Reward summaries and policy statistics as arrays with one row per environment.

        Longer arrays replace them when there are more rows.
        """
        return self._current[0]

    def resize(self, arms: int, active_arms: int) -> None:
        """Change the number of arms: keep the rewards, and reset the statistics for the policy."""
        old = self.rows
        new = _empty_arrays(len(old.n), arms, active_arms)
        for name in ("n", "mean", "squares", "pending"):
            before = getattr(old, name)
            getattr(new, name)[:, : before.shape[1]] = before
        self._active_arms = active_arms
        self._set(new)

    def find(self, label: Label) -> int | None:
        """Return the row number of an environment label, or None if the label is new."""
        return self._rows.get(label)

    def row(self, label: Label) -> int:
        """Return the row number of an environment label; add a row if the label is new."""
        found = self._rows.get(label)
        if found is not None:
            return found
        row = len(self.labels)
        if row == len(self.rows.n):
            old = self.rows
            longer = _empty_arrays(max(16, 2 * row), old.n.shape[1], self._active_arms)
            longer.all_floats[:row], longer.all_ints[:row] = old.all_floats, old.all_ints
            self._set(longer)
        self.labels.append(label)
        self._rows[label] = row
        return row

    def record(self, row: int, arm: int, n: int, mean: float, squares: float) -> None:
        """Add `n` rewards of one arm to the summary of its rewards in one environment."""
        rows = self.rows
        tables = rows.n, rows.mean, rows.squares
        if rows.n[row, arm] == 0.0 and not rows.n[row].any():
            self.with_rewards.append(row)
        cell = _Cell(*([table.item(row, arm)] for table in tables))  # plain numbers are quicker
        record(cell, 0, n, mean, squares)
        for table, (value,) in zip(tables, cell, strict=True):
            table[row, arm] = value

    def replace_reward(self, row: int, arm: int, old: float, new: float) -> None:
        """Replace one reward by another in the summary of its arm and environment."""
        rows = self.rows
        n, mean = rows.n[row, arm], rows.mean[row, arm]
        centre = mean + (new - old) / n
        spread = (new - centre) * (new - mean) - (old - centre) * (old - mean)
        rows.squares[row, arm] = max(0.0, rows.squares[row, arm] + spread) if n > 1 else 0.0
        rows.mean[row, arm] = centre if n > 1 else new

    def pending_count(self, label: Label, arm: int) -> int:
        """Return the number of pending pulls of an arm in an environment."""
        row = self._rows.get(label)
        return 0 if row is None else int(self.rows.pending[row, arm])

    def at(self, which: Ints, active: list[int]) -> Any:
        """Return a NumPy index that selects given environments (rows) and arms (columns).

        If all arms are active, the index consists of the rows only, which is faster.
        """
        return which if len(active) == self.rows.n.shape[1] else np.ix_(which, np.array(active))

    def slot(self, row: int) -> SlotView:
        """Return the statistics of the recorded rewards of one environment.

        `row` is its row in the table.
        """
        return self._slot_views(row)[0]

    def pending_slot(self, row: int) -> SlotView:
        """Return the statistics of one environment that also include its pending pulls.

        `row` is its row in the table.
        """
        return self._slot_views(row)[1]

    def _slot_views(self, row: int) -> tuple[SlotView, SlotView]:
        rows, views = self._current
        found = views.get(row)
        if found is None:
            if len(views) >= _CACHED_SLOTS:
                del views[next(iter(views))]  # the oldest
            found = views[row] = (
                self._view_slot(rows.floats[row], rows.ints[row]),
                self._view_slot(rows.pending_floats[row], rows.pending_ints[row]),
            )
        return found

    def _view_slot(self, floats: Floats, ints: Ints) -> SlotView:
        memory = view_buffers(Slot, self._active_arms, floats, ints)
        return SlotView(memory, self._to_kernel(memory.view))

    def fill_pending_slots(self, which: Collection[int], active: list[int], cells: bool) -> None:
        """Recompute the statistics that include pending pulls, for several environments at once.

        The kernel `enter_pending` does the same for one row. `active` are the arms in the slots; `cells` says
        whether the policy reads the mean of each cell.
        """
        rows, found = self.rows, np.fromiter(which, np.int64, len(which))
        rows.pending_floats[found], rows.pending_ints[found] = rows.floats[found], rows.ints[found]
        out = rows.pending[self.at(found, active)]
        has_pending = out.any(axis=1)
        found, out = found[has_pending], out[has_pending]
        slot = view_buffers(Slot, self._active_arms, rows.pending_floats, rows.pending_ints).view
        slot.counts[found] += out
        slot.size[found] += out.sum(axis=1, keepdims=True)
        slot.each[found] = 1.0 / slot.size[found]
        slot.mean[found] += 0.0  # turns -0.0 into 0.0, as the sum in the kernel does
        slot.arm[found, 0] = out.shape[1] - 1 - (out[:, ::-1] > 0).argmax(axis=1)  # the last pending arm
        if cells:
            at = found[(chosen := np.nonzero(out))[0]], chosen[1]
            slot.means[at] += (slot.mean[at[0], 0] - slot.means[at]) * (out[chosen] / slot.counts[at])

    def drop_last(self) -> None:
        """Remove the last environment from the table; it must have neither rewards nor pending pulls."""
        row = len(self.labels) - 1
        self.rows.all_floats[row], self.rows.all_ints[row] = 0.0, 0
        del self._rows[self.labels.pop()]

    def contents(self) -> list[Any]:
        """Return all data of the environment table as lists and arrays, from which `refill` restores them."""
        count = len(self.labels)
        return [
            list(self.labels),
            list(self.with_rewards),
            self.rows.all_floats[:count],
            self.rows.all_ints[:count],
        ]

    def refill(self, contents: Any) -> None:
        """Fill an empty environment table with the data that `contents` returned.

        Both must have the same number of arms.
        """
        labels, told, floats, ints = contents
        for label in labels:
            self.row(label)
        self.rows.all_floats[: len(labels)], self.rows.all_ints[: len(labels)] = floats, ints
        self.with_rewards[:] = told

    def fill(self, rows: Ints, n: Floats, mean: Floats) -> int:
        """Compute the policy statistics of several environments from the summaries of their rewards.

        `rows` are the rows of the environments in the table. The result is the index in `rows` of the first
        environment that has rewards.
        """
        slot = view_buffers(Slot, self._active_arms, self.rows.floats, self.rows.ints).view
        size = n.sum(axis=1)
        each = 1.0 / np.where(size > 0.0, size, np.inf)
        slot.counts[rows], slot.size[rows, 0], slot.each[rows, 0] = n, size, each
        slot.mean[rows, 0] = (n * mean).sum(axis=1) * each
        slot.arm[rows, 0] = n.argmax(axis=1)
        first = int(np.argmax(size > 0.0))
        slot.first[rows[first], 0] = 1
        return first

    def cells(self, names: list[Any], arms: Sequence[int]) -> Cells:
        """Return the reward summaries of the given arms by environment.

        `names` are the names of the arms.
        """
        rows, own = self.rows, np.array(arms, np.int64)
        told = np.array(self.with_rewards, np.int64)
        told = told[rows.n[np.ix_(told, own)].any(axis=1)]
        environment, arm = np.nonzero(rows.n[np.ix_(told, own)])
        at = told[environment], own[arm]
        labels = [self.labels[row] for row in told.tolist()]
        return Cells(names, labels, arm, environment, rows.n[at], rows.mean[at], rows.squares[at])


def _empty_arrays(rows: int, arms: int, active_arms: int) -> EnvironmentArrays:
    floats, ints = count_elements(Slot, active_arms)
    all_floats = np.zeros((rows, 3 * arms + 2 * floats))
    all_ints = np.zeros((rows, arms + 2 * ints), np.int64)
    numbers: Any = np.split(all_floats, np.cumsum([arms, arms, arms, floats]), axis=1)
    counts: Any = np.split(all_ints, [arms, arms + ints], axis=1)
    return EnvironmentArrays(all_floats, all_ints, *numbers, *counts)
