"""Policy state of an experiment with a hidden tide: a filter over rewards in the order of asking.

The filter must process rewards in the order of their pulls. So its state depends on the book alone, not on
the order in which rewards arrived. A reward that arrives in order is one step. A reward that arrives late
returns the filter to a checkpoint and repeats the later steps, which gives the same bits as if it had come in
time. Checkpoints are dense near the newest reward and sparse far behind it: a reward that is late by d others
costs at most about 4/3 d + 16 steps.

Pending pulls enter the design as if their rewards came now, all pulls of an arm at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints, allocate
from tideproof.experiment.lookahead import Lookahead
from tideproof.experiment.pull import Label
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.simulate.threefry import ASK, TELL
from tideproof.policies.policy_spec import PolicySpec
from tideproof.stats.solve.least_squares import group_components
from tideproof.stats.tide.tide_visibility import too_coarse

SPACING = 16  # rewards between two copies, at least
SPACING_RATIO = 4  # ... and at most the distance to the newest reward over that


class FilterCheckpoint(NamedTuple):
    """Copy of the filter state after the rewards of all pulls before number `upto`.

    `told` is the number of these rewards, and `label` the environment of the last.
    """

    upto: int
    told: int
    label: Label | None
    floats: Floats
    ints: Ints


class HiddenTideState(PolicyState):
    """Policy state for a tide that is `"hidden"`, or `"both"`: labels say when it jumps.

    A label that is used again begins a new environment: its former shift is not remembered.
    """

    def __init__(
        self, book: Book, spec: PolicySpec, arms: int, seed: int, sign: float, horizon: int | None
    ) -> None:
        self._book = book
        self._labelled = spec.policy.tide == "both"
        super().__init__(spec, arms, seed, sign, horizon)

    def _begin(self, places: int) -> None:
        super()._begin(places)
        self._uses_fit = False  # there is no design to keep
        self._processed_until = 0  # `memory` has the told rewards of all pulls before
        self._first_unprocessed: int | None = None  # the first pull with news
        self._last_label: Label | None = None  # where the last of them was
        self._filter_checkpoints: tuple[FilterCheckpoint, ...] = ()
        self._is_coarse: bool | None = None  # not looked at since the last news

    # -- the fold

    @property
    def behind(self) -> bool:
        """Whether rewards were recorded that the filter has not processed yet."""
        return self._first_unprocessed is not None

    def catch_up(self) -> None:
        """Process the rewards that were recorded since the last call."""
        if self._first_unprocessed is None:
            return
        if self._first_unprocessed < self._processed_until:
            self._return_to(self._first_unprocessed)
        book, memory = self._book, self.memory
        place_of = {book.arms[arm]: place for place, arm in enumerate(self.active)}
        told, left = int(memory.view.data.fit.told[0]), False
        for number in range(self._processed_until, len(book.pulls)):
            pull, reward = book.pulls[number], book.rewards[number]
            left = left or pull.environment != self._last_label
            if reward is None or pull.arm not in place_of:
                continue
            self._step(number, place_of[pull.arm], reward, pull.environment, left)
            left = False
            told += 1
            if told % SPACING == 0:
                copy = FilterCheckpoint(
                    number + 1, told, self._last_label, memory.floats.copy(), memory.ints.copy()
                )
                self._filter_checkpoints = _thin_checkpoints((*self._filter_checkpoints, copy))
        self.batches = told
        self._first_unprocessed = None

    def _return_to(self, number: int) -> None:
        """Restore the newest checkpoint that does not include this pull."""
        self._filter_checkpoints = tuple(copy for copy in self._filter_checkpoints if copy.upto <= number)
        if self._filter_checkpoints:
            self._processed_until, _, self._last_label, self.memory.floats[:], self.memory.ints[:] = (
                self._filter_checkpoints[-1]
            )
        else:
            self._processed_until, self._last_label = 0, None
            self.memory.floats[:], self.memory.ints[:] = 0.0, 0

    def _step(self, number: int, place: int, reward: float, label: Label, left: bool) -> None:
        """Process the reward of one pull; `left` says whether the label changed since the last reward."""
        run = self._kernel_views[0]
        if self._labelled and left:
            _clear_slot(self.memory.view.slot)
        self._last_label = label
        draw = self._draw(TELL, number)
        self.program.take(self.params, run.state, run.data, run.slot, place, 1, self.sign * reward, 0.0, draw)
        self._processed_until = number + 1

    # -- pulls that are out

    def look_ahead(self) -> None:
        """Update the policy state that includes pending pulls."""
        self.catch_up()
        if self._pending_is_current:
            return
        self.memory_with_pending.copy_from(self.memory)
        if self._labelled and any(
            pull.environment != self._last_label for pull in self._book.pulls[self._processed_until :]
        ):
            _clear_slot(self.memory_with_pending.view.slot)
        run, out = self._kernel_views[1], self._pending_counts
        order = [place for place, n in enumerate(out) if n and place != self._last_arm]
        if out[self._last_arm]:
            order.append(self._last_arm)
        for step, place in enumerate(order, len(self._book.pulls)):
            draw = self._draw(TELL, step)
            self.program.expect(self.params, run.state, run.data, run.slot, place, out[place], draw)
        self._pending_is_current = True

    def make_ready(self) -> None:
        """Do nothing: this class recomputes the effect of pending pulls after each ask."""

    def ask(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Choose the next arms and add them as pending pulls, or none of them if the policy stops before."""
        arms = self.choose(label, n, first, play)
        if len(arms) == n:
            row = self.environments.row(label)
            for arm in arms:
                self.expect(row, arm)
        return arms

    def choose(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Return the next arms, fewer than `n` if the policy stops; nothing is asked."""
        self.look_ahead()
        self._pending_is_current = False  # the choices below are made in `memory_with_pending`
        run, slot = self._kernel_views[1], self._slot(label)
        arms: list[int] = []
        for step in range(first, first + n):
            place = int(self.program.ask(self.params, run.state, run.data, slot, self._draw(ASK, step)))
            if place < 0:
                break
            arms.append(self.active[place] if play is None else play(self.active[place]))
            draw = self._draw(TELL, step)
            self.program.expect(self.params, run.state, run.data, slot, self._arm_index[arms[-1]], 1, draw)
        return arms

    def next_arm(self, label: Label, step: int) -> int:
        """Return the next arm, or -1 if the policy has stopped."""
        self.look_ahead()
        run, draw = self._kernel_views[1], self._draw(ASK, step)
        place = int(self.program.ask(self.params, run.state, run.data, self._slot(label), draw))
        return self.active[place] if place >= 0 else -1

    def lookahead(self, label: Label, step: int) -> Lookahead:
        """Return a copy of the policy state, on which the next choices can be simulated."""
        self.look_ahead()
        run = allocate(self.spec.layout(), len(self.active))
        run.copy_from(self.memory_with_pending)
        seen, arms = self._to_kernel(run.view), self.environments.rows.n.shape[1]
        slot = self._slot(label, seen.slot)
        expected = len(self._book.pulls)
        return Lookahead(self.program, self.params, seen, slot, self.seed, step, expected, self.active, arms)

    def _slot(self, label: Label, own: Any = None) -> Any:
        """Return the kernel statistics of an environment, empty ones if it is new."""
        if self._labelled and label != self._book.current:
            return self._to_kernel(allocate(Slot, len(self.active)).view)
        return self._kernel_views[1].slot if own is None else own

    # -- what events change

    def expect(self, row: int, arm: int) -> None:
        """Add a pending pull."""
        self.environments.rows.pending[row, arm] += 1
        if arm in self._arm_index:
            self._last_arm = self._arm_index[arm]
            self._pending_counts[self._last_arm] += 1
        self._pending_is_current = False

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Add the reward of a pull, which the book has already."""
        row = self.environments.row(label)
        self._record(row, arm, n, mean, squares)
        self._settle(row, arm, settles)
        self._note_change(pull)

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one reward by another, which the book has already."""
        self._correct_cell(self.environments.row(label), arm, old, new)
        self._note_change(pull)

    def _note_change(self, pull: int) -> None:
        self._first_unprocessed = (
            pull if self._first_unprocessed is None else min(pull, self._first_unprocessed)
        )
        self._pending_is_current, self._is_coarse = False, None

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Remove `n` pending pulls, whose rewards will not arrive."""
        self._settle(self.environments.row(label), arm, n)
        self._pending_is_current = False

    def set_params(self, params: Any) -> None:
        """Change the policy parameters, such as its horizon; the filter then processes all rewards again."""
        if params != self.params:
            self.params = params
            self._filter_checkpoints = ()
            self._note_change(0)

    def rebuild(self, arms: int | None = None) -> None:
        """Rebuild the policy state from all rewards of the active arms."""
        self.environments.resize(arms or self.environments.rows.n.shape[1], len(self.active))
        self._begin(len(self.active))
        self._pending_counts = self.environments.rows.pending[:, self.active].sum(axis=0).tolist()
        self._note_change(0)

    def finish(self) -> None:
        """Complete an event: nothing to do, because rewards are processed when the state is read."""

    def known(self) -> tuple[int, Ints]:
        """Return the number of rewards of the active arms, and the connected group of each arm."""
        fit = self.memory.view.data.fit
        return int(fit.told[0]), group_components(fit.group)

    def coarse(self) -> bool:
        """Return whether rewards are so coarse that the filter would mistake them for jumps of the tide."""
        if self._is_coarse is None:
            self._is_coarse = too_coarse(*self._recorded_rewards())
        return self._is_coarse

    def _recorded_rewards(self) -> tuple[Ints, Floats]:
        """Return the arm index and the reward of each pull of an active arm that has a reward."""
        book = self._book
        place_of = {book.arms[arm]: place for place, arm in enumerate(self.active)}
        told = [
            (place_of[pull.arm], reward)
            for pull, reward in zip(book.pulls, book.rewards, strict=True)
            if reward is not None and pull.arm in place_of
        ]
        arm, reward = zip(*told, strict=True) if told else ((), ())
        return np.array(arm, np.int64), np.array(reward, np.float64)

    # -- contents for snapshots

    def contents(self) -> list[Any]:
        """Return all data but parameters and checkpoints as lists and arrays, for `refill`."""
        return [super().contents(), self._processed_until, self._first_unprocessed, self._last_label]

    def refill(self, arms: int, active: list[int], params: Any, contents: Any) -> None:
        """Restore the policy state from `contents`."""
        numbers, upto, news, here = contents
        super().refill(arms, active, params, numbers)
        self._processed_until, self._first_unprocessed, self._last_label = upto, news, here
        self._is_coarse = None


def _clear_slot(slot: Any) -> None:
    """Set the kernel statistics of an environment to zero, for a new environment."""
    for array in slot:
        array[:] = 0


def _thin_checkpoints(copies: tuple[FilterCheckpoint, ...]) -> tuple[FilterCheckpoint, ...]:
    """Drop checkpoints so that those further in the past are further apart.

    >>> found = ()
    >>> for told in range(16, 1601, 16):
    ...     found = _thin_checkpoints((*found, FilterCheckpoint(told, told, None, None, None)))
    >>> [copy.told for copy in found][:-7]
    [256, 512, 768, 896, 1024, 1152, 1216, 1280, 1344, 1408, 1440, 1472]
    """
    newest, kept = copies[-1].told, list[FilterCheckpoint]()
    for place, copy in enumerate(copies):
        before = kept[-1].told if kept else 0
        after = copies[place + 1].told if place + 1 < len(copies) else None
        if after is None or after - before > max(SPACING, (newest - before) // SPACING_RATIO):
            kept.append(copy)
    return tuple(kept)
