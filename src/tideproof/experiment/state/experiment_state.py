"""The state of an experiment: the fold of its events.

Events are the truth; the state follows them one by one. Where that is interrupted, by a signal or an error,
the half of an event that was taken in is taken back before it goes on. So after any call the state is that of
all events or of all but one, never something between.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from tideproof.errors import InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_application import Effects
from tideproof.experiment.events.event_log import Happened
from tideproof.experiment.pull import DEFAULTED, TOLD, Label
from tideproof.experiment.share_bounds import checked_bounds
from tideproof.experiment.snapshots.book_columns import refill
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.experiment.state.null_state import Silent
from tideproof.experiment.state.policy_state import PolicyState, Undo
from tideproof.experiment.state.pulls_book import Book, BookUndo
from tideproof.experiment.state.unequal_noise_state import UnequalNoiseState
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS

T = TypeVar("T")
Check = Callable[["State", e.Event], None]


class NeedsLock(Exception):
    """Something has happened that must be written down, and whoever looks may not: it must be asked again."""


class _Before(NamedTuple):
    """Where the state stood before the event at that place."""

    place: int
    numbers: Undo | None
    book: BookUndo


class State(Effects):
    """What the events of one experiment add up to.

    Attributes
    ----------
    events : all of them, those already taken in first.
    bounds : floors and caps of the arms.
    read_only : whether nothing may happen now: others write, too, and somebody only looks.
    """

    def __init__(self, created: e.Created, spec: PolicySpec) -> None:
        self.events: MutableSequence[e.Event] = Happened([created])
        self.read_only = False
        self.created, self.spec = created, spec
        self._done = 0
        self._before: _Before | None = None
        self.begin()

    def begin(self) -> None:
        """Start from nothing: the next `fold` takes in all events."""
        made, self.carried = self.created, False
        options = made.options
        self.book = Book(
            made.arms, made.budget, made.session, options.get("salt", ""), options.get("tide", "labels")
        )
        self.book.reserves = "reserve" in options
        self.bounds = checked_bounds(made.options.get("floors"), made.options.get("caps"), made.arms)
        self.numbers = self._fresh()
        self._done = 1
        self._before = None  # last: an interrupted beginning is begun again

    def _fresh(self) -> PolicyState:
        """Return numbers of nothing told, for the tide that the book says."""
        made, arms, tide = self.created, len(self.created.arms), self.book.tide
        sign = 1.0 if made.direction == "maximize" else -1.0
        horizon = None if self.open_ended else made.budget
        if tide in ("hidden", "both"):
            return HiddenTideState(self.book, self.spec.on_tide(tide), arms, made.seed, sign, horizon)
        if self.spec.policy.tide in NOISE_MODELS:
            return UnequalNoiseState(self.spec, arms, made.seed, sign, horizon)
        scale = made.options.get("scale", "difference")
        proves = "confidence" in made.options and "rewards" not in made.options
        return PolicyState(self.spec, arms, made.seed, sign, horizon, scale, proves)

    def renew(self) -> None:
        """Begin with numbers for the tide that the book says."""
        if not isinstance(self.numbers, Silent):
            self.numbers = self._fresh()

    def settle(self) -> None:
        """Let the policy hear of everything told, before somebody reads what it knows."""
        if self.numbers.behind:
            self.look(self.numbers.catch_up)

    def fold(self, check: Check | None = None) -> None:
        """Take in all events, each checked first where they come from outside; undo what was interrupted."""
        self.go_back()
        while self._done < len(self.events):
            event = self.events[self._done]
            if check is not None:
                check(self, event)
            self._apply(event)
            self._done += 1

    def follow(self, happened: Sequence[e.Event], between: Callable[[], None] = lambda: None) -> None:
        """Take in events of others, which were checked when they happened; `between` is called after each.

        Where that is interrupted, half of it is taken in: the log must be read again. Copies to go back to
        would be a quarter of the work.
        """
        self.fold()
        for event in happened:
            self.events.append(event)
            self.apply(event, self.touched(event))
            self.numbers.finish()
            self._done += 1
            between()
        self._before = None
        self.numbers.save(())  # forgets the steps since the last copy

    def skip_to_end(self, contents: Any, check: Check) -> None:
        """Take in all events at once, their arithmetic done by who saved `contents`."""
        self.numbers = cast(PolicyState, Silent())
        try:
            for event in self.events[1:]:
                check(self, event)
                self.apply(event, self.touched(event))
            book = self.book
            params, numbers = self.params(len(book.active), book.horizon), self._fresh()
            numbers.refill(len(book.arms), book.active, params, contents)
        except BaseException:
            self.begin()
            raise
        self.numbers = numbers
        self._done = len(self.events)

    def resume(self, happened: Happened, book: Any, numbers: Any) -> None:
        """Take in all events at once: who folded them kept what book and numbers were."""
        refill(self.book, book)
        self.numbers = self._fresh()
        params = self.params(len(self.book.active), self.book.horizon)
        self.numbers.refill(len(self.book.arms), self.book.active, params, numbers)
        self.events = happened
        self._done = len(happened)

    def take_back(self) -> bool:
        """Undo the last event, if it is known what it changed; False if not."""
        before = self._before
        if before is None or before.numbers is None or before.place != self._done - 1:
            return False
        del self.events[-1]
        self._done = before.place
        self.go_back()
        return True

    def add(self, event: e.Event) -> None:
        """Take in a new event: the whole of it or, where that fails, nothing."""
        self._check_may(event.by)
        self.fold()
        try:
            self._apply(event)
        except BaseException:
            self.go_back()
            raise
        self._append(event)

    def _apply(self, event: e.Event) -> None:
        self.apply(event, self.mark(event))
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
        self._check_may(by)
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

    def _check_may(self, by: Any) -> None:
        _check_by(by)
        if self.read_only:
            raise NeedsLock

    def play(self) -> Callable[[int], int] | None:
        """Return what floors and caps make of the policy's next choices; None without any."""
        return self.bounds.rule(self.book.asked, self.book.active) if self.bounds else None

    def _append(self, event: e.Event) -> None:
        self.events.append(event)
        self._done = len(self.events)

    def mark(self, event: e.Event) -> Sequence[int]:
        """Remember the state before what this event touches, and return the pulls among that."""
        touched = self.touched(event)
        if isinstance(event, (e.Asked, e.Summarised)):
            labels = {event.label}
        else:
            labels = {self.book.pulls[number].environment for number in touched}
        whole = isinstance(event, _WHOLE) or self._replaces(event)
        numbers = None if whole else self.numbers.save(labels)
        self._before = _Before(self._done, numbers, self.book.save(touched, *_unit_and_label(event)))
        return touched

    def _replaces(self, event: e.Event) -> bool:
        """Return whether rewards take the place of others, as a correction does."""
        status = self.book.status
        if self.window:  # what is late does not count
            return False
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


_WHOLE = (
    e.Unlabelled,
    e.ArmAdded,
    e.ArmRetired,
    e.Warmed,
    e.Carried,
    e.Corrected,
    e.Salted,
)  # change much at once


def _check_by(by: Any) -> None:
    if by is not None and not isinstance(by, str):
        raise InputError(f"by must be a string that says who, not {describe_value(by)}")


def _unit_and_label(event: e.Event) -> tuple[str | None, Label | None]:
    """Return the unit, and the environment whose plan an event changes."""
    if isinstance(event, e.Shared):
        return None, event.label
    if isinstance(event, e.Asked) and event.unit is not None:
        return event.unit, event.label
    return None, None
