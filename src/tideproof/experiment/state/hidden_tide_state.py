"""The arithmetic of an experiment that follows its tide: rewards in the order in which they were asked for.

A filter must hear of rewards in the order of their pulls. So its numbers are a function of the book alone:
the fold of all told rewards, pull by pull, however late each came. What comes in order is one step. What
comes late goes back to a copy that was kept, and the steps after it are taken again, to the same bytes as if
it had come in time. Copies are dense behind the newest reward and sparse far behind it: a reward that is late
by d others costs at most about 4/3 d + 16 steps.

Pulls that are out stand in the design as if their rewards came now, all of an arm at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints, allocate
from tideproof.experiment.lookahead import Trial
from tideproof.experiment.pull import Label
from tideproof.experiment.state.policy_state import PolicyState, Undo
from tideproof.experiment.state.pulls_book import Book
from tideproof.kernels.fit.environment_slot import Slot
from tideproof.kernels.simulate.threefry import ASK, TELL
from tideproof.policies.policy_spec import PolicySpec
from tideproof.stats.solve.least_squares import group_components
from tideproof.stats.tide.tide_visibility import too_coarse

NEAR = 16  # rewards between two copies, at least
FAR = 4  # ... and at most the distance to the newest reward over that


class Copy(NamedTuple):
    """What was known of all pulls before `upto`, `told` rewards of them; `here` is where the last was."""

    upto: int
    told: int
    here: Label | None
    floats: Floats
    ints: Ints


class FollowedUndo(NamedTuple):
    """What `HiddenTideState.restore` needs to go back."""

    numbers: Undo
    where: tuple[int, int | None, Label | None]
    copies: tuple[Copy, ...]


class HiddenTideState(PolicyState):
    """Numbers of a tide that is followed, `"hidden"` or, where labels say when it jumps, `"both"`.

    A label that comes back begins a new environment: the tide it had is not remembered.
    """

    def __init__(
        self, book: Book, spec: PolicySpec, arms: int, seed: int, sign: float, horizon: int | None
    ) -> None:
        self._book = book
        self._labelled = spec.policy.tide == "both"
        super().__init__(spec, arms, seed, sign, horizon)

    def _begin(self, places: int) -> None:
        super()._begin(places)
        self._fits = False  # there is no design to keep
        self._upto = 0  # `memory` has the told rewards of all pulls before
        self._news: int | None = None  # the first pull with news
        self._here: Label | None = None  # where the last of them was
        self._copies: tuple[Copy, ...] = ()
        self._coarse: bool | None = None  # not looked at since the last news

    # -- the fold

    @property
    def behind(self) -> bool:
        """Whether something was told that `memory` does not have."""
        return self._news is not None

    def catch_up(self) -> None:
        """Take in what was told since."""
        if self._news is None:
            return
        if self._news < self._upto:
            self._return_to(self._news)
        book, memory = self._book, self.memory
        place_of = {book.arms[arm]: place for place, arm in enumerate(self.active)}
        told, left = int(memory.view.data.fit.told[0]), False
        for number in range(self._upto, len(book.pulls)):
            pull, reward = book.pulls[number], book.rewards[number]
            left = left or pull.environment != self._here
            if reward is None or pull.arm not in place_of:
                continue
            self._step(number, place_of[pull.arm], reward, pull.environment, left)
            left = False
            told += 1
            if told % NEAR == 0:
                copy = Copy(number + 1, told, self._here, memory.floats.copy(), memory.ints.copy())
                self._copies = _thinned((*self._copies, copy))
        self.batches = told
        self._news = None

    def _return_to(self, number: int) -> None:
        """Go back to the newest copy without that pull."""
        self._copies = tuple(copy for copy in self._copies if copy.upto <= number)
        if self._copies:
            self._upto, _, self._here, self.memory.floats[:], self.memory.ints[:] = self._copies[-1]
        else:
            self._upto, self._here = 0, None
            self.memory.floats[:], self.memory.ints[:] = 0.0, 0

    def _step(self, number: int, place: int, reward: float, label: Label, left: bool) -> None:
        """Take in the reward of a pull; `left`: there was another label since the one before it."""
        run = self._runs[0]
        if self._labelled and left:
            _empty(self.memory.view.slot)
        self._here = label
        draw = self._draw(TELL, number)
        self.program.take(self.params, run.state, run.data, run.slot, place, 1, self.sign * reward, 0.0, draw)
        self._upto = number + 1

    # -- pulls that are out

    def look_ahead(self) -> None:
        """Bring `ahead` up to date: told rewards, and the place of every pull that is out."""
        self.catch_up()
        if self._ready:
            return
        self.ahead.copy_from(self.memory)
        if self._labelled and any(pull.environment != self._here for pull in self._book.pulls[self._upto :]):
            _empty(self.ahead.view.slot)
        run, out = self._runs[1], self._out
        order = [place for place, n in enumerate(out) if n and place != self._latest]
        if out[self._latest]:
            order.append(self._latest)
        for step, place in enumerate(order, len(self._book.pulls)):
            draw = self._draw(TELL, step)
            self.program.expect(self.params, run.state, run.data, run.slot, place, out[place], draw)
        self._ready = True

    def make_ready(self) -> None:
        """Do nothing: the design ahead is made anew after every ask."""

    def ask(self, label: Label, n: int, first: int, play: Callable[[int], int] | None = None) -> list[int]:
        """Return the next arms, which are then out; fewer than `n` if the policy stops."""
        self.look_ahead()
        row, run, slot = self.places.row(label), self._runs[1], self._slot(label)
        asked: list[int] = []
        for step in range(first, first + n):
            place = int(self.program.ask(self.params, run.state, run.data, slot, self._draw(ASK, step)))
            if place < 0:
                break
            arm = self.active[place] if play is None else play(self.active[place])
            asked.append(arm)
            draw = self._draw(TELL, step)
            self.program.expect(self.params, run.state, run.data, slot, self._place[arm], 1, draw)
        for arm in asked:
            self.expect(row, arm)
        return asked

    def next_arm(self, label: Label, step: int) -> int:
        """Return the next arm, or -1 if the policy has stopped."""
        self.look_ahead()
        run, draw = self._runs[1], self._draw(ASK, step)
        place = int(self.program.ask(self.params, run.state, run.data, self._slot(label), draw))
        return self.active[place] if place >= 0 else -1

    def trial(self, label: Label, step: int) -> Trial:
        """Return a copy of what the policy knows, to play on."""
        self.look_ahead()
        run = allocate(self.spec.layout(), len(self.active))
        run.copy_from(self.ahead)
        seen, arms = self._shown(run.view), self.places.rows.n.shape[1]
        slot = self._slot(label, seen.slot)
        expected = len(self._book.pulls)
        return Trial(self.program, self.params, seen, slot, self.seed, step, expected, self.active, arms)

    def _slot(self, label: Label, own: Any = None) -> Any:
        """Return the slot of that environment: an empty one if it is new."""
        if self._labelled and label != self._book.current:
            return self._shown(allocate(Slot, len(self.active)).view)
        return self._runs[1].slot if own is None else own

    # -- what events change

    def expect(self, row: int, arm: int) -> None:
        """Note a pull that is out."""
        self.places.rows.out[row, arm] += 1
        if arm in self._place:
            self._latest = self._place[arm]
            self._out[self._latest] += 1
        self._ready = False

    def take(
        self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int, pull: int = -1
    ) -> None:
        """Take in the reward of a pull, which the book has already."""
        row = self.places.row(label)
        self._record(row, arm, n, mean, squares)
        self._settle(row, arm, settles)
        self._hear(pull)

    def correct(self, label: Label, arm: int, old: float, new: float, pull: int = -1) -> None:
        """Replace one told reward by another, which the book has already."""
        self._correct_cell(self.places.row(label), arm, old, new)
        self._hear(pull)

    def _hear(self, pull: int) -> None:
        self._news = pull if self._news is None else min(pull, self._news)
        self._ready, self._coarse = False, None

    def forget(self, label: Label, arm: int, n: int = 1) -> None:
        """Take the places of `n` pulls that are out away: their rewards will not come."""
        self._settle(self.places.row(label), arm, n)
        self._ready = False

    def set_params(self, params: Any) -> None:
        """Give the policy other params, its horizon being another: it hears of everything again."""
        if params != self.params:
            self.params = params
            self._copies = ()
            self._hear(0)

    def rebuild(self, arms: int | None = None) -> None:
        """Begin the policy anew with everything told of the arms that are played."""
        self.places.reseat(arms or self.places.rows.n.shape[1], len(self.active))
        self._begin(len(self.active))
        self._out = self.places.rows.out[:, self.active].sum(axis=0).tolist()
        self._hear(0)

    def finish(self) -> None:
        """End an event: there is nothing to do before somebody looks."""

    def known(self) -> tuple[int, Ints]:
        """Return how many rewards were told of the arms that are played, and each arm's connected group."""
        fit = self.memory.view.data.fit
        return int(fit.told[0]), group_components(fit.group)

    def coarse(self) -> bool:
        """Tell whether told rewards are such that the filter takes them for jumps of the tide."""
        if self._coarse is None:
            self._coarse = too_coarse(*self._rewards_told())
        return self._coarse

    def _rewards_told(self) -> tuple[Ints, Floats]:
        """Return the place of the arm and the reward of each pull that was told, of arms that are played."""
        book = self._book
        place_of = {book.arms[arm]: place for place, arm in enumerate(self.active)}
        told = [
            (place_of[pull.arm], reward)
            for pull, reward in zip(book.pulls, book.rewards, strict=True)
            if reward is not None and pull.arm in place_of
        ]
        arm, reward = zip(*told, strict=True) if told else ((), ())
        return np.array(arm, np.int64), np.array(reward, np.float64)

    # -- going back, and all of it

    def save(self, labels: Collection[Label]) -> Any:
        """Return what to go back to."""
        return FollowedUndo(super().save(labels), (self._upto, self._news, self._here), self._copies)

    def restore(self, undo: Any) -> None:
        """Go back; may be done again where it was interrupted."""
        super().restore(undo.numbers)
        self._upto, self._news, self._here = undo.where
        self._copies, self._coarse = undo.copies, None

    def contents(self) -> list[Any]:
        """Return everything but parameters and copies, to be given to `refill`."""
        return [super().contents(), self._upto, self._news, self._here]

    def refill(self, arms: int, active: list[int], params: Any, contents: Any) -> None:
        """Be what another was."""
        numbers, upto, news, here = contents
        super().refill(arms, active, params, numbers)
        self._upto, self._news, self._here = upto, news, here
        self._coarse = None


def _empty(slot: Any) -> None:
    """Empty a slot: a new environment begins."""
    for array in slot:
        array[:] = 0


def _thinned(copies: tuple[Copy, ...]) -> tuple[Copy, ...]:
    """Drop copies that lie closer together than their distance to the newest reward needs.

    >>> found = ()
    >>> for told in range(16, 1601, 16):
    ...     found = _thinned((*found, Copy(told, told, None, None, None)))
    >>> [copy.told for copy in found][:-7]
    [256, 512, 768, 896, 1024, 1152, 1216, 1280, 1344, 1408, 1440, 1472]
    """
    newest, kept = copies[-1].told, list[Copy]()
    for place, copy in enumerate(copies):
        before = kept[-1].told if kept else 0
        after = copies[place + 1].told if place + 1 < len(copies) else None
        if after is None or after - before > max(NEAR, (newest - before) // FAR):
            kept.append(copy)
    return tuple(kept)
