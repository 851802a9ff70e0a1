"""Code that lets a policy choose the next arms, from statistics that include pending pulls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints, allocate
from tideproof.experiment.compiled_asks import compiled_asks
from tideproof.experiment.lookahead import Lookahead
from tideproof.experiment.pull import Label
from tideproof.experiment.state.pending_pulls import PendingPulls
from tideproof.experiment.state.recorded_rewards import RecordedRewards
from tideproof.kernels.fit.policy_data import Slot
from tideproof.kernels.simulate.threefry import ASK, TELL

Play = Callable[[int], int] | None  # maps the arm that the policy chooses to the arm that is played


class AskDraft(NamedTuple):
    """Copies of a policy's statistics, with which a choice of arms can be undone."""

    row: int
    is_new: bool
    floats: Floats
    ints: Ints
    slot_floats: Floats
    slot_ints: Ints


class NextArms:
    """Methods that let a policy choose the next arms.

    The seed and the number of a pull determine the random draws. `first` and `step` are numbers of pulls.
    """

    def __init__(self, rewards: RecordedRewards, pending: PendingPulls) -> None:
        self._rewards, self._pending = rewards, pending

    def ask(self, label: Label, n: int, first: int, play: Play) -> list[int]:
        """Choose arms for the next `n` pulls, and mark the pulls as pending unless the policy stops."""
        draft = self._begin_draft(label)
        positions = self._choose_places(draft.row, n, first, play)
        if len(positions) < n:
            self._drop_draft(draft)
        else:
            self._pending.add_chosen(draft.row, positions)
        return [self._rewards.active[position] for position in positions]

    def choose(self, label: Label, n: int, first: int, play: Play) -> list[int]:
        """Return the arms of the next `n` pulls without recording the pulls.

        There are fewer arms if the policy stops.
        """
        draft = self._begin_draft(label)
        positions = self._choose_places(draft.row, n, first, play)
        self._drop_draft(draft)
        return [self._rewards.active[position] for position in positions]

    def next_arm(self, label: Label, step: int) -> int:
        """Return the next arm, or -1 if the policy has stopped."""
        self._pending.look_ahead()
        rewards, run = self._rewards, self._pending.run
        row = rewards.environments.find(label)
        slot = self._pending.empty_slot if row is None else rewards.environments.pending_slot(row).kernels
        draw = rewards.draw(ASK, step)
        position = int(rewards.program.ask(rewards.params, run.state, run.data, slot, draw))
        return rewards.active[position] if position >= 0 else -1

    def lookahead(self, label: Label, step: int) -> Lookahead:
        """Return a copy of the policy state, on which the next choices can be simulated."""
        self._pending.look_ahead()
        rewards = self._rewards
        row, positions = rewards.environments.find(label), len(rewards.active)
        run, slot = allocate(rewards.spec.layout(), positions), allocate(Slot, positions)
        run.copy_from(self._pending.memory)
        if row is not None:
            slot.copy_from(rewards.environments.pending_slot(row).memory)
        return Lookahead(
            rewards.program,
            rewards.params,
            rewards.to_kernel(run.view),
            rewards.to_kernel(slot.view),
            rewards.seed,
            step,
            self._pending.expected_batches,
            rewards.active,
            rewards.environments.rows.n.shape[1],
        )

    def _begin_draft(self, label: Label) -> AskDraft:
        """Copy the policy's statistics, so that the next choice of arms can be undone."""
        self._pending.look_ahead()
        environments, own = self._rewards.environments, self._pending.memory
        is_new = environments.find(label) is None
        row = environments.row(label)
        slot = environments.pending_slot(row).memory
        return AskDraft(row, is_new, own.floats.copy(), own.ints.copy(), slot.floats.copy(), slot.ints.copy())

    def _drop_draft(self, draft: AskDraft) -> None:
        """Undo a choice of arms by restoring the copies that were made before it."""
        environments, own = self._rewards.environments, self._pending.memory
        slot = environments.pending_slot(draft.row).memory
        own.floats[:], own.ints[:] = draft.floats, draft.ints
        slot.floats[:], slot.ints[:] = draft.slot_floats, draft.slot_ints
        if draft.is_new:
            environments.drop_last()

    def _choose_places(self, row: int, n: int, first: int, play: Play) -> list[int]:
        """Choose the arms of the next pulls, and return their indices.

        All but the last of these pulls are added to the design matrix.
        """
        if n > 1 and play is None:
            found = np.zeros(n, np.int64)
            return [int(position) for position in found[: self._choose_batch(row, first, found)]]
        rewards, run = self._rewards, self._pending.run
        program, params = rewards.program, rewards.params
        slot = rewards.environments.pending_slot(row).kernels
        expected, positions = self._pending.expected_batches, list[int]()
        for step in range(n):
            if positions:
                draw = rewards.draw(TELL, expected + step - 1)
                program.expect(params, run.state, run.data, slot, positions[-1], 1, draw)
            position = int(program.ask(params, run.state, run.data, slot, rewards.draw(ASK, first + step)))
            if position < 0:
                break
            positions.append(position if play is None else rewards.arm_index[play(rewards.active[position])])
        return positions

    def _choose_batch(self, row: int, first: int, positions: Ints) -> int:
        """Choose the arms of several pulls at once, and write their indices into an array.

        Return how many arms were chosen. All but the last of these pulls are also added to the design.
        """
        rewards, view = self._rewards, self._pending.memory.view
        params, slot = rewards.params, rewards.environments.pending_slot(row)
        steps = [np.uint64(step) for step in (rewards.seed, first, self._pending.expected_batches)]
        arguments: tuple[Any, ...] = (params, view.state, view.data, slot.memory.view, *steps)
        program, run = compiled_asks(rewards.spec, positions.size, *arguments), self._pending.run
        if program is not None:
            count = program(*arguments, positions)
        else:
            count = rewards.program.ask_many(
                params, run.state, run.data, slot.kernels, *steps, rewards.to_kernel(positions)
            )
        if count < positions.size:  # the policy stopped, or the interpreted kernel refuses its answer
            draw = rewards.draw(ASK, first + int(count))
            rewards.program.ask(params, run.state, run.data, slot.kernels, draw)
        return int(count)
