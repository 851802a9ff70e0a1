"""Pending pulls, and the statistics that include them, from which a policy chooses the next arms.

The statistics have the estimates of recorded rewards, and a design matrix that also counts pending pulls.
Recording the reward of a pending pull does not change the design. So the design is updated ask by ask, and
computed again only after it has changed in another way, for example because pulls were cancelled.
"""

from __future__ import annotations

from enum import Flag, auto
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Ints, allocate
from tideproof.experiment.state.recorded_rewards import RecordedRewards
from tideproof.experiment.state.running_laplacian import RunningLaplacian, Values
from tideproof.experiment.state.saved_fields import SavedFields
from tideproof.kernels.fit.policy_data import Slot
from tideproof.kernels.simulate.threefry import TELL

FEW_SLOTS = 3  # up to this many environments are updated one by one


class Outdated(Flag):
    """Flags that say which statistics must be updated because of pending pulls."""

    NOTHING = 0
    ESTIMATES = auto()
    DESIGN = auto()


class PostponedUpdate(NamedTuple):
    """Copy of the counts of pending pulls, made when an update of the statistics was postponed.

    The update runs when the statistics are next used. All other data that it reads must be unchanged then,
    see `PendingPulls._can_postpone`.
    """

    counts: list[int]
    last_rows: list[int]
    last_arm: int


class PendingPulls(SavedFields):
    """Pending pulls of the active arms, and the policy's statistics that include them.

    Attributes
    ----------
    memory, run : the statistics, as arrays and in the form that the kernels take; read them after
        `look_ahead`.
    empty_slot : statistics of an environment without pulls.
    counts : number of pending pulls of each active arm.
    last_rows, last_arm : row of the last pull asked for each active arm; index of the arm asked last.
    """

    SAVED = ("memory", "counts", "last_rows", "last_arm", "_new", "_stale_rows", "_outdated", "_sums")

    def __init__(self, rewards: RecordedRewards) -> None:
        self._rewards = rewards
        self.reset()

    def reset(self) -> None:
        """Forget all pending pulls, and set the statistics to zero for the active arms."""
        rewards, arms = self._rewards, len(self._rewards.active)
        self.memory = allocate(rewards.spec.layout(), arms)
        self.run = rewards.to_kernel(self.memory.view)
        self.empty_slot = rewards.to_kernel(allocate(Slot, arms).view)
        self.counts, self.last_rows, self.last_arm = [0] * arms, [0] * arms, 0
        self._uses_cells = rewards.spec.fill()["CELLS"]
        self._all_active = arms == rewards.environments.rows.n.shape[1]
        self._new = list[list[int]]()  # [row, arm index] of pulls that the design does not count yet
        self._stale_rows = set[int]()  # environments whose statistics with pending pulls are outdated
        self._outdated = Outdated.NOTHING
        self._postponed: PostponedUpdate | None = None  # never set while the estimates are outdated
        self._sums = RunningLaplacian(arms)  # of the design with pending pulls

    def rebuild(self) -> None:
        """Recount the pending pulls from the table of environments.

        The statistics that include them are marked as outdated.
        """
        self.reset()
        environments = self._rewards.environments
        self.counts = environments.rows.pending[:, self._rewards.active].sum(axis=0).tolist()
        self._stale_rows = set(range(len(environments.labels)))
        self._sums.changed = set(self._stale_rows)
        self._outdated = Outdated.ESTIMATES | Outdated.DESIGN

    def contents(self) -> list[Any]:
        """Return the pending pulls and their statistics for saving, after completing a postponed update."""
        self._complete_postponed()
        return super().contents()

    @property
    def expected_batches(self) -> int:
        """Number of recorded batches of rewards, plus one for each pending pull."""
        return self._rewards.batches + sum(self.counts)

    # -- changes

    def count(self, row: int, arm: int) -> int | None:
        """Add one to the number of pending pulls of an arm in an environment.

        Return the index of the arm, or None if the arm is not active.
        """
        self._rewards.environments.rows.pending[row, arm] += 1
        position = self._rewards.arm_index.get(arm)
        if position is not None:
            self.counts[position] += 1
            self.last_rows[position], self.last_arm = row, position
        return position

    def add(self, row: int, arm: int) -> None:
        """Add one to the number of pending pulls of an arm in an environment.

        The design matrix is updated before the next choice.
        """
        position = self.count(row, arm)
        if position is not None:
            self._new.append([row, position])
            self._sums.changed.add(row)

    def add_chosen(self, row: int, positions: list[int]) -> None:
        """Add newly chosen pulls to the numbers of pending pulls of their arms.

        The last of them is added to the design matrix later. The others were added to it while the arms were
        chosen.
        """
        if positions:
            pending, active = self._rewards.environments.rows.pending[row], self._rewards.active
            for position in set(positions):
                n = positions.count(position)
                pending[active[position]] += n
                self.counts[position] += n
                self.last_rows[position] = row
            self.last_arm = positions[-1]
            self._new.append([row, positions[-1]])
            self._sums.changed.add(row)

    def remove(self, row: int, arm: int, n: int) -> None:
        """Subtract `n` from the number of pending pulls of an arm in an environment.

        Their rewards were recorded or will not arrive.
        """
        self._rewards.environments.rows.pending[row, arm] -= n
        position = self._rewards.arm_index.get(arm)
        if position is not None:
            self.counts[position] -= n

    def note_params(self) -> None:
        """Mark the estimates as outdated, because the parameters of the policy have changed."""
        self._outdated |= Outdated.ESTIMATES
        self._postponed = None

    def note_rewards(self, row: int) -> None:
        """Mark the estimates as outdated, because the recorded rewards of an environment have changed."""
        self._outdated |= Outdated.ESTIMATES
        self._postponed = None
        self._stale_rows.add(row)

    def note_counts(self, row: int) -> None:
        """Mark estimates and design matrix as outdated, because the pull counts of an environment changed."""
        self.note_rewards(row)
        self._outdated |= Outdated.DESIGN
        self._sums.changed.add(row)

    def note_solution(self) -> None:
        """Mark the design matrix as outdated, because all estimates were computed anew."""
        self._outdated |= Outdated.DESIGN

    def finish(self) -> None:
        """Update the normal equations after an event, if the design matrix with pending pulls is outdated.

        That happens after each event and not at reads, so that a replay gives exactly the same numbers.
        """
        if self._rewards.uses_fit and Outdated.DESIGN in self._outdated:
            self._sums.update(self._design_counts)

    # -- the statistics

    def look_ahead(self) -> None:
        """Bring the policy's statistics that include pending pulls up to date."""
        if Outdated.ESTIMATES in self._outdated:
            self._update_slots()
            self._update_rest()
        else:
            self._complete_postponed()
            self._add_new()

    def make_ready(self) -> None:
        """Update the design matrix of the least-squares fit before a past choice of arms is replayed.

        The original ask did the same.

        If the rest can be computed later to the same bits, it is postponed until the statistics are read.
        Mostly another reward arrives before, and the work is saved.
        """
        if Outdated.ESTIMATES not in self._outdated or not self._can_postpone():
            self.look_ahead()
        else:
            self._update_slots()
            self._postponed = PostponedUpdate(self.counts.copy(), self.last_rows.copy(), self.last_arm)
            self._outdated = Outdated.NOTHING

    def _can_postpone(self) -> bool:
        """Return whether updating the estimates can wait until they are read, without changing the result.

        On the ratio and odds scales it cannot: all pending pulls, including later ones, are added to a new
        fit.
        """
        rewards = self._rewards
        plain = rewards.spec.policy.tide == "labels" and rewards.scale == "difference"
        return plain and Outdated.DESIGN not in self._outdated and any(self.counts)

    def _complete_postponed(self) -> None:
        """Complete a postponed update of the statistics that include pending pulls.

        Only asks may have happened in the meantime.
        """
        if self._postponed is not None:
            now = self.counts, self.last_rows, self.last_arm
            self.counts, self.last_rows, self.last_arm = self._postponed
            self._update_rest()
            self.counts, self.last_rows, self.last_arm = now

    def _add_new(self) -> None:
        """Add new pending pulls to the design matrix, and inform the policy of them."""
        if not self._new:
            return
        rewards, run = self._rewards, self.run
        for step, (row, position) in enumerate(self._new, self.expected_batches - len(self._new)):
            slot, draw = rewards.environments.pending_slot(row).kernels, rewards.draw(TELL, step)
            rewards.program.expect(rewards.params, run.state, run.data, slot, position, 1, draw)
        self._new.clear()

    def _update_slots(self) -> None:
        """Add new pending pulls to the design matrix, and recompute outdated environment statistics."""
        rewards, out = self._rewards, any(self.counts)
        for row, position in self._new if out else ():  # even if its reward was recorded meanwhile
            slot = rewards.environments.pending_slot(row).kernels
            rewards.program.reserve(self.run.data, slot, position, 1)
        self._new.clear()
        if len(self._stale_rows) > FEW_SLOTS:
            rewards.environments.fill_pending_slots(self._stale_rows, rewards.active, self._uses_cells)
        else:
            for row in self._stale_rows:
                self._update_slot(row)
        self._stale_rows = set()

    def _update_slot(self, row: int) -> None:
        """Recompute the statistics of one environment that also include its pending pulls."""
        rewards, environments = self._rewards, self._rewards.environments
        ahead, counts = environments.pending_slot(row), environments.rows.pending[row].tolist()
        ahead.memory.copy_from(environments.slot(row).memory)
        out = counts if self._all_active else [counts[arm] for arm in rewards.active]
        if not any(out):
            return
        if self._uses_cells:
            rewards.program.enter_pending(ahead.kernels, rewards.to_kernel(np.array(out)))
            return
        slot = ahead.kernels  # the same as the kernel `enter_pending`, for all arms at once
        slot.counts[:] = [n + more for n, more in zip(slot.counts[:], out, strict=True)]
        slot.size[0] += sum(out)
        slot.each[0] = 1.0 / slot.size[0]
        slot.mean[0] += 0.0  # turns -0.0 into 0.0, as the sum in the kernel does
        slot.arm[0] = max(position for position, n in enumerate(out) if n)

    def _update_rest(self) -> None:
        """Copy the estimates from recorded rewards, and inform the policy of all pending pulls.

        The design matrix with pending pulls is kept if it is current, and else computed again.
        """
        rewards, data, out = self._rewards, self.memory.view.data, any(self.counts)
        design: Any = None
        if rewards.uses_fit and Outdated.DESIGN not in self._outdated and out:
            design = data.fit.P.copy(), data.fit.group.copy(), data.fit.joins.copy()
        self.memory.copy_from(rewards.memory)
        found = rewards.rescaled()
        if found is not None:
            found.write(data.fit, rewards.sign)
        if out:
            if rewards.uses_fit:
                fit = data.fit
                if found is not None:
                    self._add_all_pending()
                else:
                    fit.P[:], fit.group[:], fit.joins[:] = (
                        design if design is not None else self._solve_design()
                    )
                self._update_first(fit)
            self._notify_policy()
        elif found is not None:
            self._notify(self.empty_slot, self.last_arm, 0, rewards.batches)
        self._outdated = Outdated.NOTHING if found is None else Outdated.DESIGN
        self._postponed = None

    def _add_all_pending(self) -> None:
        """Add all pending pulls to the design matrix of recorded rewards."""
        rewards, data, rows = self._rewards, self.memory.view.data, self._rewards.environments.rows
        slot = allocate(Slot, len(rewards.active))
        pulls, kernels = data.pulls.copy(), rewards.to_kernel(slot.view)
        for row in np.flatnonzero(rows.pending[: len(rewards.environments.labels)].any(axis=1)).tolist():
            slot.copy_from(rewards.environments.slot(row).memory)
            for position, n in enumerate(rows.pending[row, rewards.active].tolist()):
                if n:
                    rewards.program.reserve(self.run.data, kernels, position, n)
        data.pulls[:] = pulls  # `_notify_policy` counts the pending pulls

    def _solve_design(self) -> tuple[Any, Any, Any]:
        found = self._sums.solve(self._design_counts)
        return found.P, found.group, found.joins

    def _design_counts(self, which: Ints) -> Values:
        """Return the number of recorded and pending pulls by environment and arm.

        Zeros replace the rewards. The design matrix needs the counts only.
        """
        environments = self._rewards.environments
        at = environments.at(which, self._rewards.active)
        counts = environments.rows.n[at] + environments.rows.pending[at]
        zero = np.broadcast_to(0.0, counts.shape)
        return counts, zero, zero

    def _update_first(self, fit: Any) -> None:
        """Add pending pulls to the pull counts of the reference environment, which has the first reward.

        The shift of this environment is the reference of all other shifts.
        """
        environments = self._rewards.environments
        for row in environments.with_rewards[:1]:
            slot = environments.pending_slot(row).memory.view
            if slot.first[0] == 1:
                fit.first[:], fit.first_size[0] = slot.counts, slot.size[0]

    def _notify_policy(self) -> None:
        """Call the policy's function that reacts to new pulls, for all pending pulls.

        They come in one batch if the policy can merge them, else arm by arm.
        """
        rewards, run, out = self._rewards, self.run, self.counts
        merges, pulls = rewards.spec.policy.merges, run.data.pulls
        pulls[:] = [n + more for n, more in zip(pulls[:], out, strict=True)]
        order = self.arms_in_order()
        batches = [(position, out[position]) for position in order]
        if merges is not None and merges(run.state):
            batches = [(order[-1], sum(out))]
        for step, (position, n) in enumerate(batches):
            slot = rewards.environments.pending_slot(self.last_rows[position]).kernels
            if position == self.last_arm and slot.size[0] <= 1.0:  # the first pull of its environment
                slot = self.empty_slot
            self._notify(slot, position, n, rewards.batches + step)

    def _notify(self, slot: Any, position: int, n: int, step: int) -> None:
        rewards, run = self._rewards, self.run
        rewards.program.notice(
            rewards.params, run.state, run.data, slot, position, n, rewards.draw(TELL, step)
        )

    def arms_in_order(self) -> list[int]:
        """Return the indices of the arms with pending pulls; the arm that was chosen last is at the end."""
        order = [position for position, n in enumerate(self.counts) if n and position != self.last_arm]
        return [*order, self.last_arm] if self.counts[self.last_arm] else order
