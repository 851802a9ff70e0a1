"""What is known of every environment: its slot for the kernels and its cells for fits, one row a label.

Two slots a row: of told rewards, and of these with the pulls that are out. Rows lie in arrays that grow, so
that a hundred thousand environments cost no more a call than ten.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints, Memory, count_elements, view_buffers
from tideproof.experiment.pull import Label
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.stats.cells import Cells

_SEEN = 256  # slots kept ready


class EnvironmentArrays(NamedTuple):
    """The arrays, all of one length, replaced together; the first two hold all, the others are their columns.

    Attributes
    ----------
    all_floats, all_ints : everything.
    n, mean, squares : (rows, arms) told rewards of each cell, their mean and squared deviations.
    out : (rows, arms) pulls that are out.
    floats, ints : of the slots of told rewards.
    ahead_floats, ahead_ints : of the slots that have the pulls that are out, too.
    """

    all_floats: Floats
    all_ints: Ints
    n: Floats
    mean: Floats
    squares: Floats
    floats: Floats
    ahead_floats: Floats
    out: Ints
    ints: Ints
    ahead_ints: Ints


class Saved(NamedTuple):
    """What to go back to: copies of rows, and how many labels and told rows there were."""

    rows: list[tuple[int, Floats, Ints]]
    labels: int
    told: int


class SlotView(NamedTuple):
    """A slot: its memory, and as kernels take it."""

    memory: Memory[Slot]
    kernels: Any


class Environments:
    """Rows of slots and cells, by label.

    Attributes
    ----------
    labels : the label of each row.
    told : rows with a told reward, in the order of their first.
    """

    def __init__(self, arms: int, places: int, shown: Callable[[Any], Any]) -> None:
        """Have room for the cells of `arms` arms, and for slots of a policy that knows `places` of them.

        `shown` makes of a slot what kernels take.
        """
        self._shown = shown
        self.labels: list[Label] = []
        self.told: list[int] = []
        self._rows: dict[Label, int] = {}
        self._places = places
        self._set(_empty(0, arms, places))

    def _set(self, rows: EnvironmentArrays) -> None:
        self._now: tuple[EnvironmentArrays, dict[int, SlotView]] = rows, {}

    @property
    def rows(self) -> EnvironmentArrays:
        """The arrays."""
        return self._now[0]

    def reseat(self, arms: int, places: int) -> None:
        """Have room for the cells of that many arms, and empty slots for a policy that knows `places`."""
        old = self.rows
        new = _empty(len(old.n), arms, places)
        for name in ("n", "mean", "squares", "out"):
            before = getattr(old, name)
            getattr(new, name)[:, : before.shape[1]] = before
        self._places = places
        self._set(new)

    def find(self, label: Label) -> int | None:
        """Return the row of a label, if it has one."""
        return self._rows.get(label)

    def row(self, label: Label) -> int:
        """Return the row of a label, a new one if it has none."""
        found = self._rows.get(label)
        if found is not None:
            return found
        row = len(self.labels)
        if row == len(self.rows.n):
            old = self.rows
            longer = _empty(max(16, 2 * row), old.n.shape[1], self._places)
            longer.all_floats[:row], longer.all_ints[:row] = old.all_floats, old.all_ints
            self._set(longer)
        self.labels.append(label)
        self._rows[label] = row
        return row

    def out(self, label: Label, arm: int) -> int:
        """Return how many pulls of an arm are out in an environment."""
        row = self._rows.get(label)
        return 0 if row is None else int(self.rows.out[row, arm])

    def at(self, which: Ints, active: list[int]) -> Any:
        """Return where these arms of these rows are in a table of cells; all arms are found quicker."""
        return which if len(active) == self.rows.n.shape[1] else np.ix_(which, np.array(active))

    def slot(self, row: int) -> SlotView:
        """Return the slot of told rewards."""
        rows, seen = self._now
        return seen.get(row) or self._see(seen, row, rows.floats[row], rows.ints[row])

    def ahead(self, row: int) -> SlotView:
        """Return the slot that has the pulls that are out, too."""
        rows, seen = self._now
        return seen.get(~row) or self._see(seen, ~row, rows.ahead_floats[row], rows.ahead_ints[row])

    def _see(self, seen: dict[int, SlotView], key: int, floats: Floats, ints: Ints) -> SlotView:
        if len(seen) >= _SEEN:
            del seen[next(iter(seen))]  # the oldest
        memory = view_buffers(Slot, self._places, floats, ints)
        found = seen[key] = SlotView(memory, self._shown(memory.view))
        return found

    def lay(self, which: Collection[int], active: list[int], cells: bool) -> None:
        """Make slots ahead those of told rewards with the pulls that are out: `enter_pending` at once.

        `active` are the arms in the slots; `cells` says whether somebody reads the means of each.
        """
        rows, found = self.rows, np.fromiter(which, np.int64, len(which))
        rows.ahead_floats[found], rows.ahead_ints[found] = rows.floats[found], rows.ints[found]
        out = rows.out[self.at(found, active)]
        waits = out.any(axis=1)
        found, out = found[waits], out[waits]
        slot = view_buffers(Slot, self._places, rows.ahead_floats, rows.ahead_ints).view
        slot.counts[found] += out
        slot.size[found] += out.sum(axis=1, keepdims=True)
        slot.each[found] = 1.0 / slot.size[found]
        slot.mean[found] += 0.0  # no zero is negative after a sum
        slot.arm[found, 0] = out.shape[1] - 1 - (out[:, ::-1] > 0).argmax(axis=1)  # the last of them
        if cells:
            at = found[(seen := np.nonzero(out))[0]], seen[1]
            slot.means[at] += (slot.mean[at[0], 0] - slot.means[at]) * (out[seen] / slot.counts[at])

    def save(self, which: Iterable[int]) -> Saved:
        """Return what `restore` needs after changes to these rows, and new ones."""
        floats, ints = self.rows[:2]
        return Saved([(r, floats[r].copy(), ints[r].copy()) for r in which], len(self.labels), len(self.told))

    def restore(self, saved: Saved) -> None:
        """Go back; may be done again where it was interrupted."""
        floats, ints = self.rows[:2]
        for row, old_floats, old_ints in saved.rows:
            floats[row], ints[row] = old_floats, old_ints
        if len(self.labels) > saved.labels:
            floats[saved.labels :], ints[saved.labels :] = 0.0, 0
            for label in [label for label, row in self._rows.items() if row >= saved.labels]:
                del self._rows[label]
        del self.labels[saved.labels :], self.told[saved.told :]

    def contents(self) -> list[Any]:
        """Return everything, to be given to `refill`."""
        count = len(self.labels)
        return [list(self.labels), list(self.told), self.rows.all_floats[:count], self.rows.all_ints[:count]]

    def refill(self, contents: Any) -> None:
        """Be what another was, for as many arms."""
        labels, told, floats, ints = contents
        for label in labels:
            self.row(label)
        self.rows.all_floats[: len(labels)], self.rows.all_ints[: len(labels)] = floats, ints
        self.told[:] = told

    def fill(self, rows: Ints, n: Floats, mean: Floats) -> int:
        """Make slots of told rewards from cells, and return the place of the first with any in it."""
        slot = view_buffers(Slot, self._places, self.rows.floats, self.rows.ints).view
        size = n.sum(axis=1)
        each = 1.0 / np.where(size > 0.0, size, np.inf)
        slot.counts[rows], slot.size[rows, 0], slot.each[rows, 0] = n, size, each
        slot.mean[rows, 0] = (n * mean).sum(axis=1) * each
        slot.arm[rows, 0] = n.argmax(axis=1)
        first = int(np.argmax(size > 0.0))
        slot.first[rows[first], 0] = 1
        return first

    def cells(self, names: list[Any], arms: Sequence[int]) -> Cells:
        """Return the cells of told rewards of some arms, and what they are called."""
        rows, own = self.rows, np.array(arms, np.int64)
        told = np.array(self.told, np.int64)
        told = told[rows.n[np.ix_(told, own)].any(axis=1)]
        environment, arm = np.nonzero(rows.n[np.ix_(told, own)])
        at = told[environment], own[arm]
        labels = [self.labels[row] for row in told.tolist()]
        return Cells(names, labels, arm, environment, rows.n[at], rows.mean[at], rows.squares[at])


def _empty(rows: int, arms: int, places: int) -> EnvironmentArrays:
    floats, ints = count_elements(Slot, places)
    all_floats = np.zeros((rows, 3 * arms + 2 * floats))
    all_ints = np.zeros((rows, arms + 2 * ints), np.int64)
    numbers: Any = np.split(all_floats, np.cumsum([arms, arms, arms, floats]), axis=1)
    counts: Any = np.split(all_ints, [arms, arms + ints], axis=1)
    return EnvironmentArrays(all_floats, all_ints, *numbers, *counts)
