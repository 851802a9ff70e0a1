"""The arithmetic of an experiment whose policy doubts equal noise, one tide for all, or that cells are right.

Told rewards are folded in the order in which they were told: a step each, however late, n rewards of a
summary as exactly as one. What replaces told rewards, and an arm that comes or goes, begins anew from the
cells of everything told, at the end of its event: so the numbers are those of the events, whoever looked.

Pulls that are out are laid on a copy of that whenever somebody asks after news, cell by cell; what is learned
of noise and interactions does not move by them.
"""

from __future__ import annotations

import numpy as np

from tideproof.core.array_layout import Ints
from tideproof.experiment.pull import Label
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.kernels.simulate.threefry import TELL
from tideproof.stats.solve.least_squares import group_components


class UnequalNoiseState(PolicyState):
    """Numbers of `noise="by-arm"`, `interaction=` and `robust="cells"`."""

    def _begin(self, places: int) -> None:
        super()._begin(places)
        self._fits = False  # sums over environments that weigh all rewards alike know nothing of it
        self._anew = False  # whether this event replaced told rewards

    def look_ahead(self) -> None:
        """Bring `ahead` up to date: told rewards, and the place of every pull that is out."""
        if self._ready:
            return
        cells = self._cells_out()
        for row in self._moved.union(row for row, _, _ in cells):
            self.places.ahead(row).memory.copy_from(self.places.slot(row).memory)
        self._moved = set()
        self._new.clear()
        self.ahead.copy_from(self.memory)
        run = self._runs[1]
        for step, (row, place, n) in enumerate(cells, self.batches):
            slot, draw = self.places.ahead(row).kernels, self._draw(TELL, step)
            self.program.expect(self.params, run.state, run.data, slot, place, n, draw)
        self._ready = True

    def _cells_out(self) -> list[tuple[int, int, int]]:
        """Return row and place of pulls that are out, and how many there are; that of the last ask last."""
        if not any(self._out):
            return []
        out = self.places.rows.out[: len(self.places.labels), self.active]
        found = [(int(row), int(place), int(out[row, place])) for row, place in np.argwhere(out)]
        last = self._where[self._latest], self._latest
        return sorted(found, key=lambda cell: (cell[0] == last[0], cell[:2] == last))

    def make_ready(self) -> None:
        """Do nothing: the design ahead is made anew after every ask."""

    def expect(self, row: int, arm: int) -> None:
        """Note a pull that is out."""
        super().expect(row, arm)
        self._moved.add(row)
        self._ready = False

    def _note(self, row: int, places: list[int]) -> None:
        super()._note(row, places)
        self._moved.add(row)
        self._ready = False

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one told reward by another."""
        self._correct_cell(self.places.row(label), arm, old, new)
        self._anew = self._anew or arm in self._place

    def finish(self) -> None:
        """End an event: begin anew if it replaced what was told."""
        if self._anew:
            self.rebuild()

    def known(self) -> tuple[int, Ints]:
        """Return how many rewards were told of the arms that are played, and each arm's connected group."""
        fit = self.memory.view.data.fit
        return int(fit.told[0]), group_components(fit.group)
