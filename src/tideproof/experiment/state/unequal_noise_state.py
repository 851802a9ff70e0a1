"""Policy state for policies that model unequal noise, interactions or outlying cells.

Rewards are processed in the order in which they were told, one step each; a summary of n rewards is exact.
Replaced rewards and changes of arms cause a rebuild from the cells of all rewards at the end of the event. So
the state depends on the events alone, not on reads.

Pending pulls are added to a copy of the state, cell by cell, at the first ask after new rewards. They do not
change the estimates of noise and interactions.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Ints
from tideproof.experiment.pull import Label
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.kernels.simulate.threefry import TELL
from tideproof.stats.solve.least_squares import group_components


class UnequalNoiseState(PolicyState):
    """Policy state for the options `noise="by-arm"`, `interaction=` and `robust="cells"`."""

    def _begin(self, places: int) -> None:
        super()._begin(places)
        self._uses_fit = False  # sums over environments that weigh all rewards alike know nothing of it
        self._needs_rebuild = False  # whether this event replaced told rewards

    def look_ahead(self) -> None:
        """Update the policy state that includes pending pulls."""
        if self._pending_is_current:
            return
        cells = self._pending_cells()
        for row in self._stale_rows.union(row for row, _, _ in cells):
            self.environments.pending_slot(row).memory.copy_from(self.environments.slot(row).memory)
        self._stale_rows = set()
        self._new_pending.clear()
        self.memory_with_pending.copy_from(self.memory)
        run = self._kernel_views[1]
        for step, (row, place, n) in enumerate(cells, self.batches):
            slot, draw = self.environments.pending_slot(row).kernels, self._draw(TELL, step)
            self.program.expect(self.params, run.state, run.data, slot, place, n, draw)
        self._pending_is_current = True

    def _pending_cells(self) -> list[tuple[int, int, int]]:
        """Return row, arm index and number of pending pulls of each cell, that of the last ask at the end."""
        if not any(self._pending_counts):
            return []
        out = self.environments.rows.pending[: len(self.environments.labels), self.active]
        found = [(int(row), int(place), int(out[row, place])) for row, place in np.argwhere(out)]
        last = self._last_rows[self._last_arm], self._last_arm
        return sorted(found, key=lambda cell: (cell[0] == last[0], cell[:2] == last))

    def make_ready(self) -> None:
        """Do nothing: this class recomputes the effect of pending pulls after each ask."""

    def expect(self, row: int, arm: int) -> None:
        """Add a pending pull."""
        super().expect(row, arm)
        self._stale_rows.add(row)
        self._pending_is_current = False

    def _note_batch(self, row: int, places: list[int]) -> None:
        super()._note_batch(row, places)
        self._stale_rows.add(row)
        self._pending_is_current = False

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one recorded reward by another."""
        self._correct_cell(self.environments.row(label), arm, old, new)
        self._needs_rebuild = self._needs_rebuild or arm in self._arm_index

    def finish(self) -> None:
        """Complete an event: rebuild the state if the event replaced rewards."""
        if self._needs_rebuild:
            self.rebuild()

    def known(self) -> tuple[int, Ints]:
        """Return the number of rewards of the active arms, and the connected group of each arm."""
        fit = self.memory.view.data.fit
        return int(fit.told[0]), group_components(fit.group)
