"""Policy state for models in which arms differ in noise or deviate from the shared shift.

Rewards are processed in the order in which they were told, one step each; a summary of n rewards is exact.
Replaced rewards and changes of arms cause a rebuild from the cells of all rewards at the end of the event. So
the state depends on the events alone, not on reads.

Pending pulls are added to a copy of the state, cell by cell, at the first ask after new rewards. They do not
change the estimates of noise and interactions.
"""

from __future__ import annotations

import numpy as np

from tideproof.experiment.pull import Label
from tideproof.experiment.state.pending_pulls import Outdated, PendingPulls
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.kernels.simulate.threefry import TELL


class RecomputedPendingPulls(PendingPulls):
    """Pending pulls, and statistics that include them and are computed anew after each change."""

    def look_ahead(self) -> None:
        """Bring the policy's statistics that include pending pulls up to date."""
        if Outdated.ESTIMATES not in self._outdated:
            return
        rewards, run, cells = self._rewards, self.run, self._cells()
        environments = rewards.environments
        for row in self._stale_rows.union(row for row, _, _ in cells):
            environments.pending_slot(row).memory.copy_from(environments.slot(row).memory)
        self._stale_rows = set()
        self._new.clear()
        self.memory.copy_from(rewards.memory)
        for step, (row, position, n) in enumerate(cells, rewards.batches):
            slot, draw = environments.pending_slot(row).kernels, rewards.draw(TELL, step)
            rewards.program.expect(rewards.params, run.state, run.data, slot, position, n, draw)
        self._outdated = Outdated.NOTHING

    def _cells(self) -> list[tuple[int, int, int]]:
        """Return the number of pending pulls by environment and arm.

        The pair that was asked for last is at the end. Each item is (row of the environment, index of the
        arm, number of pending pulls).
        """
        if not any(self.counts):
            return []
        environments = self._rewards.environments
        out = environments.rows.pending[: len(environments.labels), self._rewards.active]
        found = [(int(row), int(position), int(out[row, position])) for row, position in np.argwhere(out)]
        last = self.last_rows[self.last_arm], self.last_arm
        return sorted(found, key=lambda cell: (cell[0] == last[0], cell[:2] == last))

    def make_ready(self) -> None:
        """Do nothing: the effect of pending pulls is computed again after each choice of arms."""

    def add(self, row: int, arm: int) -> None:
        """Add one to the number of pending pulls of an arm in an environment."""
        super().add(row, arm)
        self.note_rewards(row)

    def add_chosen(self, row: int, positions: list[int]) -> None:
        """Add newly chosen pulls to the numbers of pending pulls of their arms."""
        super().add_chosen(row, positions)
        self.note_rewards(row)


class UnequalNoiseState(PolicyState):
    """Policy state for policies that model unequal noise, or arms that deviate from the shared shift.

    Their options are `noise="by-arm"`, `interaction=` and `robust="cells"`.
    """

    PENDING = RecomputedPendingPulls
    _needs_rebuild = False  # whether the current event has replaced recorded rewards

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one recorded reward by another."""
        self.environments.replace_reward(self.environments.row(label), arm, old, new)
        self._needs_rebuild = self._needs_rebuild or arm in self.rewards.arm_index

    def rebuild(self, arms: int | None = None) -> None:
        """Rebuild the policy state from the summaries of all rewards by arm and environment."""
        super().rebuild(arms)
        self._needs_rebuild = False

    def finish(self) -> None:
        """Finish applying an event: rebuild the state if the event replaced rewards."""
        if self._needs_rebuild:
            self.rebuild()
