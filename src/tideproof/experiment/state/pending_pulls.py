"""Policy state that includes pending pulls: their effect on the design matrix, and the next choices.

`memory_with_pending` has the estimates of `memory`, and a design matrix that also counts pending pulls.
Recording the reward of a pending pull does not change the design. So the design is updated ask by ask, and
recomputed only after pulls were removed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints, allocate
from tideproof.experiment.compiled_asks import compiled_asks
from tideproof.experiment.lookahead import Lookahead
from tideproof.experiment.pull import Label
from tideproof.experiment.state.running_laplacian import Values
from tideproof.experiment.state.told_rewards import DeferredUpdate, ToldRewards
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.simulate.threefry import ASK, TELL

FEW_SLOTS = 3  # slots that are laid one by one


class AskDraft(NamedTuple):
    """The row for which arms are chosen, whether it is new, and copies from before the choice."""

    row: int
    is_new: bool
    floats: Floats
    ints: Ints
    slot_floats: Floats
    slot_ints: Ints


class PendingPulls(ToldRewards):
    """Policy state with pending pulls, from which the policy chooses the next arms."""

    def ask(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Choose the next arms and add them as pending pulls, or none of them if the policy stops before.

        `first` is the number of the first of these pulls, which selects the random draws. `play` maps the arm
        that the policy chooses to the arm that is played.
        """
        draft = self._begin_draft(label)
        places = self._choose_places(draft.row, n, first, play)
        if len(places) < n:
            self._drop_draft(draft)
        else:
            self._note_batch(draft.row, places)
        return [self.active[place] for place in places]

    def choose(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Return the next arms, fewer than `n` if the policy stops; nothing is asked."""
        draft = self._begin_draft(label)
        places = self._choose_places(draft.row, n, first, play)
        self._drop_draft(draft)
        return [self.active[place] for place in places]

    def _begin_draft(self, label: Label) -> AskDraft:
        """Return copies of everything that choosing arms for this environment changes."""
        self.look_ahead()
        is_new = self.environments.find(label) is None
        row = self.environments.row(label)
        slot, own = self.environments.pending_slot(row).memory, self.memory_with_pending
        return AskDraft(row, is_new, own.floats.copy(), own.ints.copy(), slot.floats.copy(), slot.ints.copy())

    def _drop_draft(self, draft: AskDraft) -> None:
        """Leave nothing of arms that were chosen since `_begin_draft`."""
        slot, own = self.environments.pending_slot(draft.row).memory, self.memory_with_pending
        own.floats[:], own.ints[:] = draft.floats, draft.ints
        slot.floats[:], slot.ints[:] = draft.slot_floats, draft.slot_ints
        if draft.is_new:
            self.environments.drop_last()

    def _choose_places(self, row: int, n: int, first: int, play: Callable[[int], int] | None) -> list[int]:
        """Return the indices of the next arms; all but the last are also added to the design."""
        if n > 1 and play is None:
            found = np.zeros(n, np.int64)
            return [int(place) for place in found[: self._choose_batch(row, first, found)]]
        run, slot = self._kernel_views[1], self.environments.pending_slot(row).kernels
        expected, places = self.batches + sum(self._pending_counts), list[int]()
        for step in range(n):
            if places:
                draw = self._draw(TELL, expected + step - 1)
                self.program.expect(self.params, run.state, run.data, slot, places[-1], 1, draw)
            place = int(
                self.program.ask(self.params, run.state, run.data, slot, self._draw(ASK, first + step))
            )
            if place < 0:
                break
            places.append(place if play is None else self._arm_index[play(self.active[place])])
        return places

    def _choose_batch(self, row: int, first: int, places: Ints) -> int:
        """Write the indices of the next arms into an array and return their number.

        All but the last of these pulls are also added to the design.
        """
        run, slot = self.memory_with_pending.view, self.environments.pending_slot(row)
        steps = [np.uint64(step) for step in (self.seed, first, self.batches + sum(self._pending_counts))]
        program = compiled_asks(
            self.spec, places.size, self.params, run.state, run.data, slot.memory.view, *steps
        )
        if program is not None:
            count = program(self.params, run.state, run.data, slot.memory.view, *steps, places)
        else:
            run = self._kernel_views[1]
            count = self.program.ask_many(
                self.params, run.state, run.data, slot.kernels, *steps, self._to_kernel(places)
            )
        if count < places.size:  # it stopped, or what it returned is refused here
            draw = self._draw(ASK, first + int(count))
            self.program.ask(self.params, *self._kernel_views[1][:2], slot.kernels, draw)
        return int(count)

    def next_arm(self, label: Label, step: int) -> int:
        """Return the next arm, or -1 if the policy has stopped."""
        self.look_ahead()
        row = self.environments.find(label)
        slot = self._empty_slot if row is None else self.environments.pending_slot(row).kernels
        run = self._kernel_views[1]
        place = int(self.program.ask(self.params, run.state, run.data, slot, self._draw(ASK, step)))
        return self.active[place] if place >= 0 else -1

    def lookahead(self, label: Label, step: int) -> Lookahead:
        """Return a copy of the policy state, on which the next choices can be simulated."""
        self.look_ahead()
        row, places = self.environments.find(label), len(self.active)
        run, slot = allocate(self.spec.layout(), places), allocate(Slot, places)
        run.copy_from(self.memory_with_pending)
        if row is not None:
            slot.copy_from(self.environments.pending_slot(row).memory)
        expected = self.batches + sum(self._pending_counts)
        arms = self.environments.rows.n.shape[1]
        seen = self._to_kernel(run.view), self._to_kernel(slot.view)
        return Lookahead(self.program, self.params, *seen, self.seed, step, expected, self.active, arms)

    def expect(self, row: int, arm: int) -> None:
        """Add a pending pull; `look_ahead` adds it to the design later."""
        self.environments.rows.pending[row, arm] += 1
        if arm in self._arm_index:
            place = self._arm_index[arm]
            self._new_pending.append((row, place))
            self._pending_counts[place] += 1
            self._last_rows[place] = row
            self._last_arm = place
            self._design_sums.changed.add(row)

    def _note_batch(self, row: int, places: list[int]) -> None:
        """Add pending pulls of these arms, of which all but the last are in the design already."""
        if places:
            out, last = self.environments.rows.pending[row], places[-1]
            for place in set(places):
                n = places.count(place)
                out[self.active[place]] += n
                self._pending_counts[place] += n
                self._last_rows[place] = row
            self._last_arm = last
            self._new_pending.append((row, last))
            self._design_sums.changed.add(row)

    def _add_new_pending(self) -> None:
        """Add new pending pulls to the design and to the policy's state, which is otherwise up to date."""
        if not self._new_pending:
            return
        run, out = self._kernel_views[1], sum(self._pending_counts) - len(self._new_pending)
        for step, (row, place) in enumerate(self._new_pending, self.batches + out):
            slot = self.environments.pending_slot(row).kernels
            self.program.expect(self.params, run.state, run.data, slot, place, 1, self._draw(TELL, step))
        self._new_pending.clear()

    def _settle(self, row: int, arm: int, n: int) -> None:
        self.environments.rows.pending[row, arm] -= n
        if arm in self._arm_index:
            self._pending_counts[self._arm_index[arm]] -= n

    def look_ahead(self) -> None:
        """Update the policy state that includes pending pulls."""
        if self._pending_is_current:
            self._apply_deferred()
            self._add_new_pending()
        else:
            self._update_slots()
            self._update_rest()

    def make_ready(self) -> None:
        """Update the design as an ask did that is being replayed.

        If the rest can be computed later to the same bits, it is deferred until the state is read. Mostly
        another reward arrives before, and the work is saved.
        """
        if self._pending_is_current or not self._can_defer():
            self.look_ahead()
        else:
            self._update_slots()
            self._deferred = DeferredUpdate(
                self._pending_counts.copy(), self._last_rows.copy(), self._last_arm
            )
            self._pending_is_current = True

    def _can_defer(self) -> bool:
        """Return whether the next changes of the design do not depend on what would be deferred.

        On the ratio and odds scales they do: all pending pulls, including later ones, are added to a new fit.
        """
        plain = self.spec.policy.tide == "labels" and self.scale == "difference"
        return plain and self._design_is_current and any(self._pending_counts)

    def _apply_deferred(self) -> None:
        """Do the deferred part of an update; only asks may have come since."""
        if self._deferred is not None:
            now = self._pending_counts, self._last_rows, self._last_arm
            self._pending_counts, self._last_rows, self._last_arm = self._deferred
            self._update_rest()
            self._pending_counts, self._last_rows, self._last_arm = now

    def _update_slots(self) -> None:
        """Add new pending pulls to the design, and recompute the outdated slots with pending pulls."""
        out = any(self._pending_counts)
        for row, place in self._new_pending if out else ():  # told meanwhile or not, it has its place
            self.program.reserve(
                self._kernel_views[1].data, self.environments.pending_slot(row).kernels, place, 1
            )
        self._new_pending.clear()
        if len(self._stale_rows) > FEW_SLOTS:
            self.environments.fill_pending_slots(self._stale_rows, self.active, self._uses_cells)
        else:
            for row in self._stale_rows:
                self._update_slot(row)
        self._stale_rows = set()

    def _update_rest(self) -> None:
        """Copy the estimates of recorded rewards, keep the design, and report pending pulls to the policy."""
        design: Any = None
        data, out = self.memory_with_pending.view.data, any(self._pending_counts)
        if self._uses_fit and self._design_is_current and out:
            design = data.fit.P.copy(), data.fit.group.copy(), data.fit.joins.copy()
        self.memory_with_pending.copy_from(self.memory)
        found = self.rescaled()
        if found is not None:
            found.write(data.fit, self.sign)
        if out:
            if self._uses_fit:
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
            run = self._kernel_views[1]
            draw = self._draw(TELL, self.batches)
            self.program.notice(self.params, run.state, run.data, self._empty_slot, self._last_arm, 0, draw)
        self._pending_is_current, self._design_is_current, self._deferred = True, found is None, None

    def finish(self) -> None:
        """Complete an event: update the design sums, so that their bits do not depend on reads.

        If a checkpoint of the e-process is due, it is taken here.
        """
        if self._uses_fit and not self._design_is_current:
            self._design_sums.update(self._design_counts)
        self._take_checkpoint()

    def _add_all_pending(self) -> None:
        """Add all pending pulls to the design of recorded rewards."""
        data, rows = self.memory_with_pending.view.data, self.environments.rows
        slot = allocate(Slot, len(self.active))
        pulls, kernels = data.pulls.copy(), self._to_kernel(slot.view)
        for row in np.flatnonzero(rows.pending[: len(self.environments.labels)].any(axis=1)).tolist():
            slot.copy_from(self.environments.slot(row).memory)
            for place, n in enumerate(rows.pending[row, self.active].tolist()):
                if n:
                    self.program.reserve(self._kernel_views[1].data, kernels, place, n)
        data.pulls[:] = pulls  # who notices them counts them

    def _solve_design(self) -> tuple[Any, Any, Any]:
        found = self._design_sums.solve(self._design_counts)
        return found.P, found.group, found.joins

    def _design_counts(self, which: Ints) -> Values:
        """Return the counts of recorded and pending pulls in these rows, with zero means and squares."""
        at = self.environments.at(which, self.active)
        counts = self.environments.rows.n[at] + self.environments.rows.pending[at]
        zero = np.broadcast_to(0.0, counts.shape)
        return counts, zero, zero

    def _update_slot(self, row: int) -> None:
        """Recompute one slot with pending pulls from the slot of recorded rewards."""
        ahead, counts = self.environments.pending_slot(row), self.environments.rows.pending[row].tolist()
        ahead.memory.copy_from(self.environments.slot(row).memory)
        out = counts if self._all_active else [counts[arm] for arm in self.active]
        if not any(out):
            return
        if self._uses_cells:
            self.program.enter_pending(ahead.kernels, self._to_kernel(np.array(out)))
            return
        slot = ahead.kernels  # what `enter_pending` does, at once
        slot.counts[:] = [n + more for n, more in zip(slot.counts[:], out, strict=True)]
        slot.size[0] += sum(out)
        slot.each[0] = 1.0 / slot.size[0]
        slot.mean[0] += 0.0  # no zero is negative after a sum
        slot.arm[0] = max(place for place, n in enumerate(out) if n)

    def _update_first(self, fit: Any) -> None:
        """Count pending pulls in the environment of the first reward, which fixes the zero of the shifts."""
        for row in self.environments.with_rewards[:1]:
            slot = self.environments.pending_slot(row).memory.view
            if slot.first[0] == 1:
                fit.first[:], fit.first_size[0] = slot.counts, slot.size[0]

    def _notify_policy(self) -> None:
        """Report pending pulls to the policy: in one batch if the policy can merge them, else arm by arm."""
        run, out, merges = self._kernel_views[1], self._pending_counts, self.spec.policy.merges
        pulls = run.data.pulls
        pulls[:] = [n + more for n, more in zip(pulls[:], out, strict=True)]
        order = [place for place, n in enumerate(out) if n and place != self._last_arm]
        if out[self._last_arm]:
            order.append(self._last_arm)
        batches = [(place, out[place]) for place in order]
        if merges is not None and merges(run.state):
            batches = [(order[-1], sum(out))]
        for step, (place, n) in enumerate(batches):
            slot = self.environments.pending_slot(self._last_rows[place]).kernels
            if place == self._last_arm and slot.size[0] <= 1.0:  # the first pull of its environment
                slot = self._empty_slot
            draw = self._draw(TELL, self.batches + step)
            self.program.notice(self.params, run.state, run.data, slot, place, n, draw)
