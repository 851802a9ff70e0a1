"""Policy state for a hidden tide (shifts at unknown times): a filter over rewards in the order of pulls.

The state of the filter depends on the recorded rewards alone, not on the order in which they arrived. A
reward that arrives in order is one step. A reward that arrives late returns the filter to a checkpoint and
repeats the later steps, which gives exactly the same numbers as if it had come in time. Checkpoints are dense
near the newest reward and sparse far behind it: a reward that comes after d later ones costs at most about
4/3 d + 16 steps.

Pending pulls enter the design matrix as if their rewards came now, all pulls of an arm at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints, allocate
from tideproof.experiment.lookahead import Lookahead
from tideproof.experiment.pull import Label
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book
from tideproof.kernels.fit.policy_data import Slot
from tideproof.kernels.simulate.threefry import ASK, TELL
from tideproof.policies.policy_spec import PolicySpec
from tideproof.stats.tide.tide_visibility import too_coarse

SPACING = 16  # smallest number of rewards between two checkpoints
SPACING_RATIO = 4  # checkpoints are apart by at most their distance to the newest reward over this


class FilterCheckpoint(NamedTuple):
    """Saved copy of the filter that estimates shifts at unknown times from rewards.

    It contains the rewards of all pulls numbered below `upto`. `told` is the number of these rewards, and
    `label` the environment of the last.
    """

    upto: int
    told: int
    label: Label | None
    floats: Floats
    ints: Ints


class HiddenTideState(PolicyState):
    """Policy state for shifts at unknown times, which a filter estimates from the rewards.

    It serves `tide="hidden"`, and `tide="both"`, with which labels change the shift, too. A label that is
    used again begins a new environment: its former shift is not remembered.
    """

    SAVED = (*PolicyState.SAVED, "_processed_until", "_first_unprocessed", "_last_label")

    def __init__(
        self, book: Book, spec: PolicySpec, arms: int, seed: int, sign: float, horizon: int | None
    ) -> None:
        self._book = book
        self._labelled = spec.policy.tide == "both"
        super().__init__(spec, arms, seed, sign, horizon)
        self._reset_filter()

    def _reset_filter(self) -> None:
        self._processed_until = 0  # `memory` has the recorded rewards of all pulls before this number
        self._first_unprocessed: int | None = None  # the first pull whose reward changed since
        self._last_label: Label | None = None  # environment of the last processed reward
        self._filter_checkpoints: tuple[FilterCheckpoint, ...] = ()
        self._counts_pending = False  # whether `memory_with_pending` is up to date
        self._is_coarse: bool | None = None  # None until it is computed after a change

    # -- processing of rewards

    @property
    def behind(self) -> bool:
        """Whether the filter that estimates the hidden tide has yet to process recorded rewards."""
        return self._first_unprocessed is not None

    def catch_up(self) -> None:
        """Update the filter that estimates the hidden tide with all rewards recorded since the last call."""
        if self._first_unprocessed is None:
            return
        if self._first_unprocessed < self._processed_until:
            self._return_to(self._first_unprocessed)
        book, memory = self._book, self.memory
        position_of = {book.arms[arm]: position for position, arm in enumerate(self.active)}
        told, left = int(memory.view.data.fit.told[0]), False
        for number in range(self._processed_until, len(book.pulls)):
            pull, reward = book.pulls[number], book.rewards[number]
            left = left or pull.environment != self._last_label
            if reward is None or pull.arm not in position_of:
                continue
            self._step(number, position_of[pull.arm], reward, pull.environment, left)
            left = False
            told += 1
            if told % SPACING == 0:
                copy = FilterCheckpoint(
                    number + 1, told, self._last_label, memory.floats.copy(), memory.ints.copy()
                )
                self._filter_checkpoints = _thin_checkpoints((*self._filter_checkpoints, copy))
        self.rewards.batches = told
        self._first_unprocessed = None

    def _return_to(self, number: int) -> None:
        """Reset the hidden-tide filter to its newest stored copy before this pull, or else to its start."""
        self._filter_checkpoints = tuple(copy for copy in self._filter_checkpoints if copy.upto <= number)
        if self._filter_checkpoints:
            self._processed_until, _, self._last_label, self.memory.floats[:], self.memory.ints[:] = (
                self._filter_checkpoints[-1]
            )
        else:
            self._processed_until, self._last_label = 0, None
            self.memory.floats[:], self.memory.ints[:] = 0.0, 0

    def _step(self, number: int, position: int, reward: float, label: Label, left: bool) -> None:
        """Update the hidden-tide filter with one reward.

        `left` says if the last environment has ended.
        """
        rewards, run = self.rewards, self.rewards.run
        if self._labelled and left:
            _clear_slot(self.memory.view.slot)
        self._last_label = label
        rewards.program.take(
            rewards.params,
            run.state,
            run.data,
            run.slot,
            position,
            1,
            rewards.sign * reward,
            0.0,
            rewards.draw(TELL, number),
        )
        self._processed_until = number + 1

    # -- pending pulls

    def look_ahead(self) -> None:
        """Update the copy of the policy's statistics that also includes pending pulls."""
        self.catch_up()
        if self._counts_pending:
            return
        self.memory_with_pending.copy_from(self.memory)
        if self._labelled and any(
            pull.environment != self._last_label for pull in self._book.pulls[self._processed_until :]
        ):
            _clear_slot(self.memory_with_pending.view.slot)
        rewards, run, counts = self.rewards, self.pending.run, self.pending.counts
        for step, position in enumerate(self.pending.arms_in_order(), len(self._book.pulls)):
            draw = rewards.draw(TELL, step)
            rewards.program.expect(
                rewards.params, run.state, run.data, run.slot, position, counts[position], draw
            )
        self._counts_pending = True

    def make_ready(self) -> None:
        """Do nothing: this class adds pending pulls to the policy state before each choice."""

    def ask(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Choose arms for the next `n` pulls, and mark the pulls as pending unless the policy stops."""
        arms = self.choose(label, n, first, play)
        if len(arms) == n:
            row = self.environments.row(label)
            for arm in arms:
                self.expect(row, arm)
        return arms

    def choose(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Return the arms of the next `n` pulls without recording the pulls.

        There are fewer arms if the policy stops.
        """
        self.look_ahead()
        self._counts_pending = False  # the choices below are made in `memory_with_pending`
        rewards, run, slot = self.rewards, self.pending.run, self._slot(label)
        program, params, arms = rewards.program, rewards.params, list[int]()
        for step in range(first, first + n):
            position = int(program.ask(params, run.state, run.data, slot, rewards.draw(ASK, step)))
            if position < 0:
                break
            arms.append(self.active[position] if play is None else play(self.active[position]))
            position, draw = rewards.arm_index[arms[-1]], rewards.draw(TELL, step)
            program.expect(params, run.state, run.data, slot, position, 1, draw)
        return arms

    def next_arm(self, label: Label, step: int) -> int:
        """Return the next arm, or -1 if the policy has stopped."""
        self.look_ahead()
        rewards, run = self.rewards, self.pending.run
        slot, draw = self._slot(label), rewards.draw(ASK, step)
        position = int(rewards.program.ask(rewards.params, run.state, run.data, slot, draw))
        return self.active[position] if position >= 0 else -1

    def lookahead(self, label: Label, step: int) -> Lookahead:
        """Return a copy of the policy state, on which the next choices can be simulated."""
        self.look_ahead()
        rewards = self.rewards
        run = allocate(rewards.spec.layout(), len(self.active))
        run.copy_from(self.memory_with_pending)
        seen, arms = rewards.to_kernel(run.view), self.environments.rows.n.shape[1]
        return Lookahead(
            rewards.program,
            rewards.params,
            seen,
            self._slot(label, seen.slot),
            rewards.seed,
            step,
            len(self._book.pulls),
            self.active,
            arms,
        )

    def _slot(self, label: Label, own: Any = None) -> Any:
        """Return the statistics of one environment that the policy reads.

        All are 0 if the environment is new.
        """
        if self._labelled and label != self._book.current:
            return self.rewards.to_kernel(allocate(Slot, len(self.active)).view)
        return self.pending.run.slot if own is None else own

    # -- changes by events

    def expect(self, row: int, arm: int) -> None:
        """Add one to the number of pending pulls of an arm in an environment."""
        self.pending.count(row, arm)
        self._counts_pending = False

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Add a reward to the summary of its arm and environment; the hidden tide is estimated later.

        The filter reads the reward from the book, which has it already.
        """
        row = self.environments.row(label)
        self.environments.record(row, arm, n, mean, squares)
        self.pending.remove(row, arm, settles)
        self._note_change(pull)

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace a reward in the summary of its arm and environment; the hidden tide is estimated later."""
        self.environments.replace_reward(self.environments.row(label), arm, old, new)
        self._note_change(pull)

    def _note_change(self, pull: int) -> None:
        self._first_unprocessed = (
            pull if self._first_unprocessed is None else min(pull, self._first_unprocessed)
        )
        self._counts_pending, self._is_coarse = False, None

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Remove `n` pending pulls, whose rewards will not arrive."""
        self.pending.remove(self.environments.row(label), arm, n)
        self._counts_pending = False

    def set_params(self, params: Any) -> None:
        """Change the parameters of the policy, and mark all rewards as unprocessed."""
        if params != self.rewards.params:
            self.rewards.params = params
            self._filter_checkpoints = ()
            self._note_change(0)

    def rebuild(self, arms: int | None = None) -> None:
        """Rebuild the policy state from all rewards of the active arms."""
        self.rewards.resize(arms or self.environments.rows.n.shape[1])
        self.pending.rebuild()
        self._reset_filter()
        self._note_change(0)

    def finish(self) -> None:
        """Do nothing after an event: rewards are processed when the state is read."""

    def coarse(self) -> bool:
        """Return whether rewards are too skewed, or too often equal, to estimate a hidden tide from them."""
        if self._is_coarse is None:
            self._is_coarse = too_coarse(*self._recorded_rewards())
        return self._is_coarse

    def _recorded_rewards(self) -> tuple[Ints, Floats]:
        """Return the arm index and the reward of each pull that has a reward and whose arm is active."""
        book = self._book
        position_of = {book.arms[arm]: position for position, arm in enumerate(self.active)}
        told = [
            (position_of[pull.arm], reward)
            for pull, reward in zip(book.pulls, book.rewards, strict=True)
            if reward is not None and pull.arm in position_of
        ]
        arm, reward = zip(*told, strict=True) if told else ((), ())
        return np.array(arm, np.int64), np.array(reward, np.float64)

    # -- contents for snapshots

    def refill(self, contents: Any) -> None:
        """Restore the policy state from saved `contents`, without past copies of the hidden-tide filter."""
        self._reset_filter()
        super().refill(contents)


def _clear_slot(slot: Any) -> None:
    """Set all statistics of an environment to zero, because a new environment begins."""
    for array in slot:
        array[:] = 0


def _thin_checkpoints(copies: tuple[FilterCheckpoint, ...]) -> tuple[FilterCheckpoint, ...]:
    """Reduce the stored copies of the hidden-tide filter to many recent ones and few old ones.

    >>> found = ()
    >>> for told in range(16, 1601, 16):
    ...     found = _thin_checkpoints((*found, FilterCheckpoint(told, told, None, None, None)))
    >>> [copy.told for copy in found][:-7]
    [256, 512, 768, 896, 1024, 1152, 1216, 1280, 1344, 1408, 1440, 1472]
    """
    newest, kept = copies[-1].told, list[FilterCheckpoint]()
    for position, copy in enumerate(copies):
        before = kept[-1].told if kept else 0
        after = copies[position + 1].told if position + 1 < len(copies) else None
        if after is None or after - before > max(SPACING, (newest - before) // SPACING_RATIO):
            kept.append(copy)
    return tuple(kept)
