"""State of an experiment, computed by applying its events one by one.

A change that a signal or an error interrupts leaves the state damaged. The next access then computes it again
from the events. So each call takes effect completely or not at all, without a record of the changes to undo.
Errors that are expected, such as invalid input, are raised before anything changes.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from typing import Any, TypeVar, cast

from tideproof.errors import InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_application import EventApplier
from tideproof.experiment.events.event_log import EventLog
from tideproof.experiment.pull import Label
from tideproof.experiment.settings import settings_of
from tideproof.experiment.share_bounds import checked_bounds
from tideproof.experiment.snapshots.book_columns import restore_book
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.experiment.state.null_state import NullState
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book
from tideproof.experiment.state.unequal_noise_state import UnequalNoiseState
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS

T = TypeVar("T")
Check = Callable[["State", e.Event], None]


class NeedsLock(Exception):
    """Raised when a read must record an event; the caller repeats the read with write access."""


class State(EventApplier):
    """State of an experiment: its events, the book of pulls, and the statistics of the policy.

    Attributes
    ----------
    events : all events, those already applied first.
    bounds : minimum and maximum shares of the arms.
    damaged : whether a change was interrupted, so that the state must be computed again.
    read_only : whether recording events is forbidden now, because the caller holds no write lock.
    """

    def __init__(self, created: e.Created, spec: PolicySpec) -> None:
        self.events: MutableSequence[e.Event] = [created]
        self.read_only = False
        self.created, self.spec, self.settings = created, spec, settings_of(created)
        self.has_window = self.settings.has_window
        self._applied = 0
        self.damaged = False
        self.begin()

    def begin(self) -> None:
        """Reset the state to that after creation, so that `fold` applies all later events again."""
        made, settings = self.created, self.settings
        self.book = Book(list(made.arms), made.budget, made.session, "", settings.tide)
        self.book.reserves = settings.reserve is not None
        self.bounds = checked_bounds(settings.floors, settings.caps, made.arms)
        self.policy_state = self._new_policy_state()
        self._applied = 1

    def _new_policy_state(self) -> PolicyState:
        """Return an empty policy state for the current tide model."""
        made, arms, tide = self.created, len(self.created.arms), self.book.tide
        sign = 1.0 if made.direction == "maximize" else -1.0
        horizon = None if self.open_ended else made.budget
        if tide in ("hidden", "both"):
            return HiddenTideState(self.book, self.spec.on_tide(tide), arms, made.seed, sign, horizon)
        if self.spec.policy.tide in NOISE_MODELS:
            return UnequalNoiseState(self.spec, arms, made.seed, sign, horizon)
        scale, proves = self.settings.scale, self.settings.has_normal_rule
        return PolicyState(self.spec, arms, made.seed, sign, horizon, scale, proves)

    def reset_policy_state(self) -> None:
        """Replace the policy state by an empty one for the current tide model."""
        if not isinstance(self.policy_state, NullState):
            self.policy_state = self._new_policy_state()

    def update_policy_state(self) -> None:
        """Apply all recorded rewards to the policy state before it is read."""
        if self.policy_state.behind:
            self.read(lambda: self.policy_state.catch_up())

    def fold(self, check: Check | None = None, between: Callable[[], None] | None = None) -> None:
        """Apply all new events; if the state is damaged, apply all events again.

        `check` validates each event before it is applied. `between` is called after each event.
        """
        if self.damaged:
            self.begin()
            self.damaged = False
        while self._applied < len(self.events):
            event = self.events[self._applied]
            if check is not None:
                check(self, event)
            self.damaged = True
            self._apply(event)
            self._applied += 1
            self.damaged = False
            if between is not None:
                between()

    def append_events(self, happened: Sequence[e.Event], between: Callable[[], None] = lambda: None) -> None:
        """Apply events of other processes, which validated them; call `between` after each event."""
        self.fold()
        self.events += happened
        self.fold(between=between)

    def restore_policy_state(self, contents: Any, check: Check) -> None:
        """Apply all events to the book only, and restore the policy state from `contents`."""
        self.policy_state = cast(PolicyState, NullState())
        try:
            for event in self.events[1:]:
                check(self, event)
                self.apply(event, self.touched(event))
            book = self.book
            params, numbers = self.params(len(book.active), book.horizon), self._new_policy_state()
            numbers.restore(len(book.arms), book.active, params, contents)
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
        self.policy_state.restore(len(self.book.arms), self.book.active, params, numbers)
        self.events = happened
        self._applied = len(happened)

    def add(self, event: e.Event) -> None:
        """Apply and record a new event."""
        self._check_writable(event.by)
        self.fold()
        self.damaged = True
        self._apply(event)
        self._record(event)

    def _apply(self, event: e.Event) -> None:
        self.apply(event, self.touched(event))
        self.policy_state.finish()

    def _record(self, event: e.Event) -> None:
        """Add an already applied event to the event log, which makes the change final."""
        self.events.append(event)
        self._applied = len(self.events)
        self.damaged = False

    def read(self, read: Callable[[], T]) -> T:
        """Return the result of `read`, a function that may complete postponed updates of the state."""
        self.fold()
        self.damaged = True
        found = read()
        self.damaged = False
        return found

    def ask(self, label: Label, n: int, at: float, by: str | None, unit: str | None) -> e.Asked | None:
        """Let the policy choose `n` arms and record the ask; return None if the policy stops before."""
        self._check_writable(by)
        self.fold()
        play = self.play()
        self.damaged = True
        arms = self.policy_state.ask(label, n, len(self.book.pulls), play)
        if len(arms) < n:
            self.damaged = False
            return None
        self.book.ask(arms, label, at, unit)
        event = e.Asked(at, by, label, tuple(arms), unit)
        self._record(event)
        return event

    def choose_arms(self, label: Label, n: int) -> tuple[int, ...]:
        """Return the arms that an ask for `n` pulls would get, fewer if the policy stops before."""
        return tuple(self.read(lambda: self.policy_state.choose(label, n, len(self.book.pulls), self.play())))

    def _check_writable(self, by: Any) -> None:
        _check_by(by)
        if self.read_only:
            raise NeedsLock

    def play(self) -> Callable[[int], int] | None:
        """Return a function that applies minimum and maximum shares to the policy's choices, or None."""
        return self.bounds.rule(self.book.asked, self.book.active) if self.bounds else None


def _check_by(by: Any) -> None:
    if by is not None and not isinstance(by, str):
        raise InputError(f"by must be a string with the name of the caller, not {describe_value(by)}")
