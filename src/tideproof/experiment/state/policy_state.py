"""Policy state: the statistics by which a policy decides and how events change them.

The part about recorded rewards is in `told_rewards.py`, the part about pending pulls in `pending_pulls.py`.
"""

from __future__ import annotations

from typing import Any

from tideproof.experiment.pull import Label
from tideproof.experiment.state.pending_pulls import PendingPulls
from tideproof.experiment.stopping.proof_checkpoints import ProofCheckpoints
from tideproof.kernels.simulate.threefry import TELL


class PolicyState(PendingPulls):
    """Statistics of recorded rewards and pending pulls by which a policy decides, changed by events."""

    @property
    def behind(self) -> bool:
        """Whether rewards were recorded that the policy has not processed yet: never in this class."""
        return False

    def catch_up(self) -> None:
        """Process rewards that were recorded since the last call: nothing to do in this class."""

    # -- changes by events

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Add `n` rewards of an arm, `settles` of which belong to pending pulls."""
        row = self.environments.row(label)
        self._record(row, arm, n, mean, squares)
        self._settle(row, arm, settles)
        if arm in self._arm_index:
            if settles < n:
                self._design_is_current = False
                self._design_sums.changed.add(row)
            self._process(row, self._arm_index[arm], n, mean, squares)

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one recorded reward by another."""
        row = self.environments.row(label)
        self._correct_cell(row, arm, old, new)
        if self.checkpoints is not None:
            self.checkpoints = ProofCheckpoints.begin(self.active)
        if arm not in self._arm_index:
            return
        merges, run = self.spec.policy.merges, self._kernel_views[0]
        if self.spec.reads == {"fit"} and merges is not None and merges(run.state):
            slot = self.environments.slot(row).kernels
            slot.mean[0] += self.sign * (new - old) / slot.size[0]
            self._reward_sums.changed.add(row)
            self._stale_rows.add(row)
            self._refactor()
            draw = self._draw(TELL, self.batches)
            self.program.notice(self.params, run.state, run.data, slot, self._arm_index[arm], 0, draw)
            self._pending_is_current = False
        else:
            self.rebuild()

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Remove `n` pending pulls, whose rewards will not arrive."""
        row = self.environments.row(label)
        self._settle(row, arm, n)
        if arm in self._arm_index:
            self._design_is_current = self._pending_is_current = False
            self._design_sums.changed.add(row)
            self._stale_rows.add(row)

    def set_params(self, params: Any) -> None:
        """Change the policy parameters, such as its horizon."""
        if params != self.params:
            self.params = params
            self._pending_is_current = False

    def set_arms(self, arms: int, active: list[int], params: Any) -> None:
        """Rebuild the policy state for these active arms of `arms` arms, from the cells of all rewards."""
        self.active, self.params = active, params
        if self.checkpoints is not None:
            self.checkpoints = self.checkpoints.with_active(active)
        self.rebuild(arms)

    def rebuild(self, arms: int | None = None) -> None:
        """Rebuild the policy state from the cells of all rewards, for `arms` arms in the experiment."""
        batches = self.batches
        self.environments.resize(arms or self.environments.rows.n.shape[1], len(self.active))
        self._begin(len(self.active))
        rows = self.environments.rows
        if self.spec.reads == {"fit"} and self.spec.policy.merges is not None:
            self._replay_at_once(self.spec.policy.merges)
        else:
            self._replay_cells()
        self.batches = max(batches, self.batches)
        self._pending_counts = rows.pending[:, self.active].sum(axis=0).tolist()
        self._new_pending.clear()
        self._pending_is_current = self._design_is_current = False
        self._stale_rows = set(range(len(self.environments.labels)))
        self._reward_sums.changed = set(self.environments.with_rewards)
        self._design_sums.changed = set(self._stale_rows)

    # -- contents for snapshots

    def contents(self) -> list[Any]:
        """Return all data but parameters as lists and arrays, for `refill`."""
        if self._pending_is_current:
            self._apply_deferred()
        values = [self.batches, self._last_arm, self._pending_is_current, self._design_is_current]
        lists = [self._pending_counts, self._last_rows, self._new_pending, sorted(self._stale_rows)]
        parts = [self.environments.contents(), self._reward_sums.contents(), self._design_sums.contents()]
        checkpoints = None if self.checkpoints is None else self.checkpoints.contents()
        return [self._floats, self._ints, values, lists, parts, checkpoints]

    def refill(self, arms: int, active: list[int], params: Any, contents: Any) -> None:
        """Restore the policy state from `contents`."""
        floats, ints, values, lists, (environments, reward_sums, design_sums), checkpoints = contents
        pending_counts, last_rows, new_pending, stale_rows = lists
        self.active, self.params = active, params
        self.environments.resize(arms, len(active))
        self._begin(len(active))
        self._floats[:], self._ints[:] = floats, ints
        self.batches, self._last_arm, self._pending_is_current, self._design_is_current = values
        self._pending_counts, self._last_rows = list(pending_counts), list(last_rows)
        self._stale_rows = set(stale_rows)
        self._new_pending = [(row, arm) for row, arm in new_pending]
        self.environments.refill(environments)
        self._reward_sums.refill(reward_sums)
        self.checkpoints = None if checkpoints is None else ProofCheckpoints.of(*checkpoints)
        self._design_sums.refill(design_sums)

    def buffers(self) -> list[bytes]:
        """Return the bytes of all numbers of the policy state, to compare two states exactly."""
        self.look_ahead()
        self._clear_scratch()
        count = len(self.environments.labels)
        rows = (array[:count].tobytes() for array in self.environments.rows)
        both = (
            each.tobytes() for m in (self.memory, self.memory_with_pending) for each in (m.floats, m.ints)
        )
        checkpoints = () if self.checkpoints is None else (self.checkpoints.proof.floats.tobytes(),)
        return [*both, *rows, *checkpoints]

    def _clear_scratch(self) -> None:
        """Set the scratch arrays of the kernels to zero, so that the bytes do not depend on reads."""
        for array in self._scratch:
            array.fill(0.0)
