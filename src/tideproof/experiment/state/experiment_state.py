"""State of an experiment, computed by applying its events one by one.

If applying an event is interrupted by a signal or an error, its partial changes are rolled back before the
next step. So after each call the state corresponds to all events, or to all but the last.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import Any, NamedTuple, TypeVar, cast

from tideproof.errors import InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_application import EventApplier
from tideproof.experiment.events.event_log import EventLog
from tideproof.experiment.pull import Label, PullStatus
from tideproof.experiment.share_bounds import checked_bounds
from tideproof.experiment.snapshots.book_columns import restore_book
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.experiment.state.null_state import NullState
from tideproof.experiment.state.policy_state import PolicyState, PolicyUndo
from tideproof.experiment.state.pulls_book import Book, BookUndo
from tideproof.experiment.state.unequal_noise_state import UnequalNoiseState
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS

T = TypeVar("T")
Check = Callable[["State", e.Event], None]


class NeedsLock(Exception):
    """Raised when a method that only reads must record an event: it is run again with write access."""


class _RollbackPoint(NamedTuple):
    """Undo record of the event at one position: the book and the policy state before it."""

    position: int
    policy_state: PolicyUndo | None
    book: BookUndo


class State(EventApplier):
    """State of an experiment: its events, the book of pulls, and the statistics of the policy.

    Attributes
    ----------
    events : all events, those already applied first.
    bounds : minimum and maximum shares of the arms.
    read_only : whether recording events is forbidden now, because the caller holds no write lock.
    """

    def __init__(self, created: e.Created, spec: PolicySpec) -> None:
        self.events: MutableSequence[e.Event] = EventLog([created])
        self.read_only = False
        self.created, self.spec = created, spec
        self._applied = 0
        self._rollback_point: _RollbackPoint | None = None
        self.begin()

    def begin(self) -> None:
        """Reset the state, so that the next `fold` applies all events again."""
        made = self.created
        options = made.options
        self.book = Book(
            made.arms, made.budget, made.session, options.get("salt", ""), options.get("tide", "labels")
        )
        self.book.reserves = "reserve" in options
        self.bounds = checked_bounds(made.options.get("floors"), made.options.get("caps"), made.arms)
        self.policy_state = self._new_policy_state()
        self._applied = 1
        self._rollback_point = None  # last: an interrupted beginning is begun again

    def _new_policy_state(self) -> PolicyState:
        """Return an empty policy state for the tide model in the book."""
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

    def reset_policy_state(self) -> None:
        """Replace the policy state by an empty one for the tide model in the book."""
        if not isinstance(self.policy_state, NullState):
            self.policy_state = self._new_policy_state()

    def update_policy_state(self) -> None:
        """Apply all recorded rewards to the policy state before it is read."""
        if self.policy_state.behind:
            self.run_with_rollback(self.policy_state.catch_up)

    def fold(self, check: Check | None = None) -> None:
        """Apply all new events, and roll back an interrupted one; `check` validates events from outside."""
        self.roll_back()
        while self._applied < len(self.events):
            event = self.events[self._applied]
            if check is not None:
                check(self, event)
            self._apply(event)
            self._applied += 1

    def append_events(self, happened: Sequence[e.Event], between: Callable[[], None] = lambda: None) -> None:
        """Apply events that other processes recorded and validated; `between` is called after each.

        No undo records are kept, because they would cost a quarter of the time. If this is interrupted, the
        state is invalid and the log must be read again.
        """
        self.fold()
        for event in happened:
            self.events.append(event)
            self.apply(event, self.touched(event))
            self.policy_state.finish()
            self._applied += 1
            between()
        self._rollback_point = None
        self.policy_state.save(())  # forgets the steps since the last copy

    def restore_policy_state(self, contents: Any, check: Check) -> None:
        """Apply all events to the book only, and restore the policy state from `contents`."""
        self.policy_state = cast(PolicyState, NullState())
        try:
            for event in self.events[1:]:
                check(self, event)
                self.apply(event, self.touched(event))
            book = self.book
            params, numbers = self.params(len(book.active), book.horizon), self._new_policy_state()
            numbers.refill(len(book.arms), book.active, params, contents)
        except BaseException:
            self.begin()
            raise
        self.policy_state = numbers
        self._applied = len(self.events)

    def restore(self, happened: EventLog, book: Any, numbers: Any) -> None:
        """Restore the book of pulls and the policy state from a snapshot taken after all these events."""
        restore_book(self.book, book)
        self.policy_state = self._new_policy_state()
        params = self.params(len(self.book.active), self.book.horizon)
        self.policy_state.refill(len(self.book.arms), self.book.active, params, numbers)
        self.events = happened
        self._applied = len(happened)

    def undo_last_event(self) -> bool:
        """Undo the last event if its undo record is available; return whether it was undone."""
        before = self._rollback_point
        if before is None or before.policy_state is None or before.position != self._applied - 1:
            return False
        del self.events[-1]
        self._applied = before.position
        self.roll_back()
        return True

    def add(self, event: e.Event) -> None:
        """Apply and record a new event; roll back if that fails."""
        self._check_writable(event.by)
        self.fold()
        try:
            self._apply(event)
        except BaseException:
            self.roll_back()
            raise
        self._append(event)

    def _apply(self, event: e.Event) -> None:
        self.apply(event, self.save_undo(event))
        self.policy_state.finish()

    def run_with_rollback(self, read: Callable[[], T]) -> T:
        """Return the result of `read`, which may change the policy state; roll back if it is interrupted."""
        self.fold()
        self._rollback_point = _RollbackPoint(self._applied, self.policy_state.save(()), self.book.save(()))
        try:
            found = read()
        except BaseException:
            self.roll_back()
            raise
        self._rollback_point = None
        return found

    def ask(self, label: Label, n: int, at: float, by: str | None, unit: str | None) -> e.Asked | None:
        """Let the policy choose `n` arms and record the ask; return None if the policy stops before."""
        self._check_writable(by)
        self.fold()
        event = e.Asked(at, by, label, (), unit)
        self.save_undo(event)
        try:
            arms = self.policy_state.ask(label, n, len(self.book.pulls), self.play())
            if len(arms) < n:
                self.roll_back()
                return None
            event = event._replace(arms=tuple(arms))
            self.book.ask(arms, label, at, unit)
        except BaseException:
            self.roll_back()
            raise
        self._append(event)
        return event

    def _check_writable(self, by: Any) -> None:
        _check_by(by)
        if self.read_only:
            raise NeedsLock

    def play(self) -> Callable[[int], int] | None:
        """Return a function that applies minimum and maximum shares to the policy's choices, or None."""
        return self.bounds.rule(self.book.asked, self.book.active) if self.bounds else None

    def _append(self, event: e.Event) -> None:
        self.events.append(event)
        self._applied = len(self.events)

    def save_undo(self, event: e.Event) -> Sequence[int]:
        """Save an undo record for an event, and return the numbers of the pulls that it changes."""
        touched = self.touched(event)
        if isinstance(event, (e.Asked, e.Summarised)):
            labels = {event.label}
        else:
            labels = {self.book.pulls[number].environment for number in touched}
        whole = isinstance(event, _REBUILDING_EVENTS) or self._replaces(event)
        numbers = None if whole else self.policy_state.save(labels)
        self._rollback_point = _RollbackPoint(
            self._applied, numbers, self.book.save(touched, *_unit_and_label(event))
        )
        return touched

    def _replaces(self, event: e.Event) -> bool:
        """Return whether an event replaces rewards that were recorded before."""
        status = self.book.status
        if self.window:  # what is late does not count
            return False
        if isinstance(event, e.Told):
            return any(status[number] == PullStatus.DEFAULTED for number in event.pulls)
        if isinstance(event, e.Added):
            twice = len(set(event.pulls)) < len(event.pulls)
            return twice or any(
                status[number] in (PullStatus.TOLD, PullStatus.DEFAULTED) for number in event.pulls
            )
        return False

    def roll_back(self) -> None:
        """Roll back the changes of an event that was not completed."""
        before = self._rollback_point
        if before is None:
            return
        if before.position == self._applied:
            if before.policy_state is None:  # it would have changed everything: begin anew
                self.begin()
                self.fold()
                return
            self.policy_state.restore(before.policy_state)
            self.book.restore(before.book)
        self._rollback_point = None


_REBUILDING_EVENTS = (
    e.Unlabelled,
    e.ArmAdded,
    e.ArmRetired,
    e.Warmed,
    e.Corrected,
    e.Salted,
)  # change much at once


def _check_by(by: Any) -> None:
    if by is not None and not isinstance(by, str):
        raise InputError(f"by must be a string that says who, not {describe_value(by)}")


def _unit_and_label(event: e.Event) -> tuple[str | None, Label | None]:
    """Return the unit, and the environment whose planned shares an event changes."""
    if isinstance(event, e.Shared):
        return None, event.label
    if isinstance(event, e.Asked) and event.unit is not None:
        return event.unit, event.label
    return None, None
