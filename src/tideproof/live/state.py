"""The state of an experiment: the fold of its events.

Events are the truth; the state follows them one by one. Where that is interrupted, by a signal or an error,
the half of an event that was taken in is taken back before it goes on. So after any call the state is that of
all events or of all but one, never something between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from tideproof.errors import InputError
from tideproof.live import events as e
from tideproof.live.book import Book, Mark, Plan, Summary
from tideproof.live.bounds import checked_bounds
from tideproof.live.numbers import Numbers, Undo
from tideproof.live.pull import CANCELLED, DEFAULTED, EXPIRED, SUMMARISED, TOLD, Label
from tideproof.policies.spec import PolicySpec

T = TypeVar("T")
Check = Callable[["State", e.Event], None]


class _Before(NamedTuple):
    """Where the state stood before the event at that place."""

    place: int
    numbers: Undo | None
    book: Mark


class Silent:
    """Numbers that nobody adds up: for who wants to know who was asked what."""

    def __init__(self, numbers: Numbers) -> None:
        self.active = numbers.active
        self._out: dict[tuple[Label, int], int] = {}

    @property
    def places(self) -> Silent:
        """Environments, of which only the pulls that are out are counted."""
        return self

    def seat(self, arms: int, active: list[int], params: Any) -> None:
        """Note which arms are played."""
        self.active = active

    def out(self, label: Label, arm: int) -> int:
        """Return how many pulls of an arm are out in an environment."""
        return self._out.get((label, arm), 0)

    def row(self, label: Label) -> Label:
        """Return what stands for an environment."""
        return label

    def expect(self, row: Label, arm: int) -> None:
        """Note a pull that is out."""
        self._out[row, arm] = self.out(row, arm) + 1

    def take(self, label: Label, arm: int, n: int, mean: float, squares: float, settles: int) -> None:
        """Note that pulls are not out any more."""
        self._out[label, arm] = self.out(label, arm) - settles

    def forget(self, label: Label, arm: int) -> None:
        """Note that a pull is not out any more."""
        self.take(label, arm, 0, 0.0, 0.0, 1)

    def __getattr__(self, name: str) -> Any:
        return lambda *args: None


class State:
    """What the events of one experiment add up to.

    Attributes
    ----------
    events : all of them, those already taken in first.
    book : who was asked what, and what became of it.
    numbers : what the policy knows.
    bounds : floors and caps of the arms.
    """

    def __init__(self, created: e.Created, spec: PolicySpec) -> None:
        self.events: list[e.Event] = [created]
        self.created, self.spec = created, spec
        self._done = 0
        self._before: _Before | None = None
        self.begin()

    def begin(self) -> None:
        """Start from nothing: the next `fold` takes in all events."""
        made = self.created
        sign = 1.0 if made.direction == "maximize" else -1.0
        self.book = Book(made.arms, made.budget, made.session, made.options.get("salt", ""))
        self.bounds = checked_bounds(made.options.get("floors"), made.options.get("caps"), made.arms)
        self.numbers = Numbers(self.spec, len(made.arms), made.seed, sign, made.budget)
        self._done = 1
        self._before = None  # last: an interrupted beginning is begun again

    def fold(self, check: Check | None = None) -> None:
        """Take in all events, each checked first where they come from outside; undo what was interrupted."""
        self.go_back()
        while self._done < len(self.events):
            event = self.events[self._done]
            if check is not None:
                check(self, event)
            self.mark(event)
            self._apply(event)
            self._done += 1

    def skip_to_end(self, contents: Any, check: Check) -> None:
        """Take in all events at once, their arithmetic done by who saved `contents`."""
        numbers, self.numbers = self.numbers, cast(Numbers, Silent(self.numbers))
        try:
            for event in self.events[1:]:
                check(self, event)
                _APPLY[type(event)](self, event)
            book = self.book
            params = self.spec.params(len(book.active), book.horizon)
            numbers.refill(len(book.arms), book.active, params, contents)
        except BaseException:
            self.begin()
            raise
        self.numbers = numbers
        self._done = len(self.events)

    def add(self, event: e.Event) -> None:
        """Take in a new event: the whole of it or, where that fails, nothing."""
        _check_by(event.by)
        self.fold()
        self.mark(event)
        try:
            self._apply(event)
        except BaseException:
            self.go_back()
            raise
        self._append(event)

    def _apply(self, event: e.Event) -> None:
        _APPLY[type(event)](self, event)
        self.numbers.finish()

    def look(self, read: Callable[[], T]) -> T:
        """Return what `read` says of what is ahead; where it is interrupted, nothing has changed."""
        self.fold()
        self._before = _Before(self._done, self.numbers.save(()), self.book.save(()))
        try:
            found = read()
        except BaseException:
            self.go_back()
            raise
        self._before = None
        return found

    def ask(self, label: Label, n: int, at: float, by: str | None, unit: str | None) -> e.Asked | None:
        """Let the policy choose `n` arms and note them; None, and nothing is noted, if it stops before."""
        _check_by(by)
        self.fold()
        event = e.Asked(at, by, label, (), unit)
        self.mark(event)
        try:
            arms = self.numbers.ask(label, n, len(self.book.pulls), self.play())
            if len(arms) < n:
                self.go_back()
                return None
            event = event._replace(arms=tuple(arms))
            self.book.ask(arms, label, at, unit)
        except BaseException:
            self.go_back()
            raise
        self._append(event)
        return event

    def play(self) -> Callable[[int], int] | None:
        """Return what floors and caps make of the policy's next choices; None without any."""
        return self.bounds.rule(self.book.asked, self.book.active) if self.bounds else None

    def _append(self, event: e.Event) -> None:
        self.events.append(event)
        self._done = len(self.events)

    def mark(self, event: e.Event) -> None:
        """Remember the state before what this event touches."""
        touched = self._touched(event)
        labels = {self.book.pulls[number].environment for number in touched}
        if isinstance(event, (e.Asked, e.Summarised)):
            labels = {event.label}
        whole = isinstance(event, _WHOLE) or self._replaces(event)
        numbers = None if whole else self.numbers.save(labels)
        self._before = _Before(self._done, numbers, self.book.save(touched, *_unit_and_label(event)))

    def _touched(self, event: e.Event) -> Sequence[int]:
        """Return the numbers of the pulls that an event speaks of or settles."""
        if isinstance(event, (e.Told, e.Added, e.Cancelled, e.Expired)):
            return event.pulls
        if isinstance(event, e.Summarised):
            out = self.numbers.places.out(event.label, event.arm)
            return self.book.oldest_out(self.book.arms[event.arm], event.label, min(event.n, out))
        return (event.pull,) if isinstance(event, e.Corrected) else ()

    def _replaces(self, event: e.Event) -> bool:
        """Return whether rewards take the place of others, as a correction does."""
        status = self.book.status
        if isinstance(event, e.Told):
            return any(status[number] == DEFAULTED for number in event.pulls)
        if isinstance(event, e.Added):
            twice = len(set(event.pulls)) < len(event.pulls)
            return twice or any(status[number] in (TOLD, DEFAULTED) for number in event.pulls)
        return False

    def go_back(self) -> None:
        """Undo what was changed for an event that was not finished."""
        before = self._before
        if before is None:
            return
        if before.place == self._done:
            if before.numbers is None:  # it would have changed everything: begin anew
                self.begin()
                self.fold()
                return
            self.numbers.restore(before.numbers)
            self.book.restore(before.book)
        self._before = None

    # -- what each event does

    def _asked(self, event: e.Asked) -> None:
        self.numbers.look_ahead()
        row = self.numbers.places.row(event.label)
        for arm in event.arms:
            self.numbers.expect(row, arm)
        self.book.ask(event.arms, event.label, event.at, event.unit)

    def _told(self, event: e.Told) -> None:
        for number, reward in zip(event.pulls, event.rewards, strict=True):
            if self.book.status[number] == DEFAULTED:
                self._replace(number, reward)
            else:
                self._tell(number, TOLD, reward)
        self._reckon()

    def _added(self, event: e.Added) -> None:
        book = self.book
        for number, reward, key in zip(event.pulls, event.rewards, event.keys, strict=True):
            if key is not None:
                book.added[number, key] = reward
            before = book.rewards[number] if book.status[number] == TOLD else None
            if before is not None:
                self._replace(number, before + reward)
            elif book.status[number] == DEFAULTED:
                self._replace(number, reward)
            else:
                self._tell(number, TOLD, reward)
        self._reckon()

    def _shared(self, event: e.Shared) -> None:
        self.book.plans[event.label] = Plan(event.shares, event.n)

    def _tell(self, number: int, status: str, reward: float) -> None:
        was_out = self.book.settle(number, status, reward)
        pull = self.book.pulls[number]
        arm = self.book.arms.index(pull.arm)
        self.numbers.take(pull.environment, arm, 1, reward, 0.0, was_out)

    def _summarised(self, event: e.Summarised) -> None:
        book, arm = self.book, self.book.arms[event.arm]
        settled = self._touched(event) if self._before is None else list(self._before.book.touched)
        for number in settled:
            book.settle(number, SUMMARISED)
        book.surplus += event.n - len(settled)
        if event.key is not None:
            book.keyed[event.key] = len(book.summaries)
        told = Summary(arm, event.label, event.n, event.mean, event.variance)
        book.summaries.append((event.key, told, event.at))
        squares = (event.n - 1) * event.variance
        self.numbers.take(event.label, event.arm, event.n, event.mean, squares, len(settled))
        self._reckon()

    def _cancelled(self, event: e.Cancelled) -> None:
        for number in event.pulls:
            self._forget(number, CANCELLED)

    def _expired(self, event: e.Expired) -> None:
        for number in event.pulls:
            if event.reward is None:
                self._forget(number, EXPIRED)
            else:
                self._tell(number, DEFAULTED, event.reward)
        self._reckon()

    def _forget(self, number: int, status: str) -> None:
        pull = self.book.pulls[number]
        self.book.settle(number, status)
        self.numbers.forget(pull.environment, self.book.arms.index(pull.arm))

    def _corrected(self, event: e.Corrected) -> None:
        self._replace(event.pull, event.reward)

    def _replace(self, number: int, reward: float) -> None:
        pull, old = self.book.pulls[number], self.book.rewards[number]
        assert old is not None
        self.book.status[number], self.book.rewards[number] = TOLD, reward
        if reward != old:
            self.numbers.correct(pull.environment, self.book.arms.index(pull.arm), old, reward)

    def _arm_added(self, event: e.ArmAdded) -> None:
        self.book.arms.append(event.arm)
        self.book.asked.append(0)
        self._seat()

    def _arm_retired(self, event: e.ArmRetired) -> None:
        self.book.retired.append(event.arm)
        self._seat()

    def _seat(self) -> None:
        self.book.plans = {}
        active = self.book.active
        params = self.spec.params(len(active), self.book.horizon)
        self.numbers.seat(len(self.book.arms), active, params)

    def _extended(self, event: e.Extended) -> None:
        self.book.budget = event.budget
        self._reckon(always=True)

    def _reckon(self, always: bool = False) -> None:
        """Tell the policy its horizon, where that is not just the budget it began with."""
        if always or self.book.surplus or self.book.warm:
            self.numbers.set_params(self.spec.params(len(self.numbers.active), self.book.horizon))

    def _paused(self, event: e.Event) -> None:
        self.book.paused = isinstance(event, e.Paused)

    def _stopped(self, event: e.Stopped) -> None:
        self.book.stopped = True

    def _opened(self, event: e.Opened) -> None:
        self.book.session = event.session

    def _salted(self, event: e.Salted) -> None:
        self.book.salt = event.salt
        self.book.units = {}

    def _noted(self, event: e.Noted) -> None:
        pass

    def _warmed(self, event: e.Warmed) -> None:
        for arm, label, n, mean, squares in event.cells:
            self.numbers.take(label, arm, n, mean, squares, 0)
            self.book.warm += n
        self._reckon()

    def _carried(self, event: e.Carried) -> None:
        from tideproof.live.format_2 import refill

        refill(self, event.saved)


_WHOLE = (e.ArmAdded, e.ArmRetired, e.Warmed, e.Carried, e.Corrected, e.Salted)  # change much at once


def _check_by(by: Any) -> None:
    if by is not None and not isinstance(by, str):
        raise InputError(f"by must be a string that says who, not {by!r}")


def _unit_and_label(event: e.Event) -> tuple[str | None, Label | None]:
    """Return the unit, and the environment whose plan an event changes."""
    if isinstance(event, e.Shared):
        return None, event.label
    if isinstance(event, e.Asked) and event.unit is not None:
        return event.unit, event.label
    return None, None


_APPLY: dict[type[Any], Callable[[State, Any], None]] = {
    e.Opened: State._opened,
    e.Asked: State._asked,
    e.Told: State._told,
    e.Added: State._added,
    e.Shared: State._shared,
    e.Summarised: State._summarised,
    e.Cancelled: State._cancelled,
    e.Expired: State._expired,
    e.Corrected: State._corrected,
    e.ArmAdded: State._arm_added,
    e.ArmRetired: State._arm_retired,
    e.Extended: State._extended,
    e.Paused: State._paused,
    e.Resumed: State._paused,
    e.Stopped: State._stopped,
    e.Noted: State._noted,
    e.Warmed: State._warmed,
    e.Salted: State._salted,
    e.Carried: State._carried,
}
