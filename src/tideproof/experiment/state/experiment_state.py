"""State of an experiment, computed by applying its events one by one.

A change that a signal or an error interrupts leaves the state damaged. The next access then computes it again
from the events. So each call takes effect completely or not at all, without a record of the changes to undo.
Errors that are expected, such as invalid input, are raised before anything changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, TypeVar, cast

from tideproof.errors import InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_log import EventLog
from tideproof.experiment.options.share_bounds import checked_bounds
from tideproof.experiment.pull import Label, PullStatus
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.experiment.settings import settings_of
from tideproof.experiment.snapshots.pull_columns import restore_book
from tideproof.experiment.state.environment_choice_state import EnvironmentChoiceState
from tideproof.experiment.state.hidden_tide_state import HiddenTideState
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pull_counter import PullCounter
from tideproof.experiment.state.pulls_book import Book, SharePlan, Summary
from tideproof.experiment.state.unequal_noise_state import UnequalNoiseState
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.statistics_models import NOISE_MODELS

T = TypeVar("T")
Check = Callable[["State", e.Event], None]


class NeedsLock(Exception):
    """Error if a read-only call must record an event; the caller then repeats the call with write access."""


class State:
    """State of an experiment: its events, its pulls with their rewards, and the statistics of the policy.

    Attributes
    ----------
    events : all events, those already applied first.
    created, settings : the first event, and the settings in it.
    spec : the policy with its options.
    book : the pulls of the experiment and their status.
    policy_state : the statistics of the policy.
    bounds : minimum and maximum shares of the arms.
    damaged : whether a change was interrupted, so that the state must be computed again.
    """

    def __init__(self, created: e.Created, spec: PolicySpec) -> None:
        self.events: MutableSequence[e.Event] = [created]
        self._is_read_only = False  # whether the caller holds no write lock, so that no event may be recorded
        self.created, self.spec, self.settings = created, spec, settings_of(created)
        self._has_window = self.settings.has_window  # rewards count only when their lease is over
        self._applied = 0
        self.damaged = False
        self.begin()

    def begin(self) -> None:
        """Reset the experiment to its state just after creation, so that later events can be applied again.

        `fold` applies them.
        """
        made, settings = self.created, self.settings
        self.book = Book(list(made.arms), made.budget, made.session, "", settings.tide)
        self.book.reserves = settings.reserve is not None
        self.bounds = checked_bounds(settings.minimum_shares, settings.maximum_shares, made.arms)
        self.policy_state = self._new_policy_state()
        self._applied = 1

    def _new_policy_state(self) -> PolicyState:
        """Return an empty policy state for the current tide model."""
        made, arms, tide = self.created, len(self.created.arms), self.book.tide
        sign = 1.0 if made.direction == "maximize" else -1.0
        horizon = None if self.open_ended else made.budget
        if self.settings.environments is not None:
            return EnvironmentChoiceState(self.spec, arms, made.seed, sign, self.settings)
        if tide in ("hidden", "both"):
            return HiddenTideState(self.book, self.spec.on_tide(tide), arms, made.seed, sign, horizon)
        if self.spec.policy.tide in NOISE_MODELS:
            return UnequalNoiseState(self.spec, arms, made.seed, sign, horizon)
        scale, proves = self.settings.scale, self.settings.has_normal_rule
        return PolicyState(self.spec, arms, made.seed, sign, horizon, scale, proves)

    @property
    def open_ended(self) -> bool:
        """Whether the policy plans without a budget, because a stopping rule ends the experiment.

        The budget is then only an upper limit.
        """
        policy = self.spec.policy
        return self.settings.confidence is not None and (policy.anytime or not policy.needs_horizon)

    def params(self, arms: int, horizon: int | None) -> Any:
        """Return the parameters of the policy for a number of arms and a planned number of rewards."""
        return self.spec.params(arms, None if self.open_ended else horizon)

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
        """Apply events that other processes have validated and recorded.

        `between()` is called after each of them.
        """
        self.fold()
        self.events += happened
        self.fold(between=between)

    def restore_policy_state(self, contents: Any, check: Check) -> None:
        """Restore the pulls by applying all events, and the policy's statistics from saved `contents`."""
        self.policy_state = cast(PolicyState, PullCounter())
        try:
            for event in self.events[1:]:
                check(self, event)
                self.EVENT_METHODS[type(event)](self, event)
            book = self.book
            params, numbers = self.params(len(book.active), book.horizon), self._new_policy_state()
            numbers.restore(len(book.arms), book.active, params, contents)
        except BaseException:
            self.begin()
            raise
        self.policy_state = numbers
        self._applied = len(self.events)

    def restore(self, happened: EventLog, book: Any, numbers: Any) -> None:
        """Restore the pulls and the policy state from a snapshot that was taken after all these events."""
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
        self.EVENT_METHODS[type(event)](self, event)
        self.policy_state.finish()

    def _record(self, event: e.Event) -> None:
        """Add an already applied event to the event log, which makes the change final."""
        self.events.append(event)
        self._applied = len(self.events)
        self.damaged = False

    def read(self, read: Callable[[], T]) -> T:
        """Call a function that reads the state of the experiment, and return its result.

        The function may complete postponed updates of the state.
        """
        self.fold()
        self.damaged = True
        found = read()
        self.damaged = False
        return found

    def ask(self, label: Label, n: int, at: float, by: str | None, unit: str | None) -> e.Asked | None:
        """Let the policy choose the arms of the next `n` pulls, and record these pulls.

        If it chooses fewer, record none and return None.
        """
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

    def ask_pairs(self, n: int, at: float, by: str | None) -> e.AskedPairs | None:
        """Let the policy choose the arm and the environment of each of the next `n` pulls, and record them.

        If it chooses fewer, record none and return None.
        """
        pairs = self.choose_pairs(n)
        if len(pairs) < n:
            return None
        arms, environments = zip(*pairs, strict=True)
        event = e.AskedPairs(at, by, arms, environments)
        self.add(event)
        return event

    def choose_pairs(self, n: int) -> list[tuple[int, int]]:
        """Return the arms and environments that the policy would choose for the next `n` pulls.

        There are fewer if it stops or if no pair is left.
        """
        state = cast(EnvironmentChoiceState, self.policy_state)
        return self.read(lambda: state.choose_pairs(n, self.book.budget))

    def estimated_means(self) -> dict[str, float]:
        """Return the estimated mean of each active arm, for a policy that also chooses environments."""
        state = cast(EnvironmentChoiceState, self.policy_state)
        return {self.book.arms[arm]: mean for arm, mean in self.read(state.estimates).items()}

    def choose_arms(self, label: Label, n: int) -> tuple[int, ...]:
        """Return the arms that the policy would choose for the next `n` pulls, fewer if it stops."""
        return tuple(self.read(lambda: self.policy_state.choose(label, n, len(self.book.pulls), self.play())))

    def _check_writable(self, by: Any) -> None:
        _check_by(by)
        if self._is_read_only:
            raise NeedsLock

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Refuse new events within a `with` block, by the error `NeedsLock`."""
        try:
            self._is_read_only = True
            yield
        finally:
            self._is_read_only = False

    def play(self) -> Callable[[int], int] | None:
        """Return a function that changes the policy's choices to keep arms within their allowed shares.

        It is None if there are no minimum or maximum shares.
        """
        return self.bounds.rule(self.book.asked, self.book.active) if self.bounds else None

    # -- what each event changes in the book and in the statistics of the policy

    def _apply_asked(self, event: e.Asked) -> None:
        self.policy_state.make_ready()
        row = self.policy_state.environments.row(event.label)
        for arm in event.arms:
            self.policy_state.expect(row, arm)
        self.book.ask(event.arms, event.label, event.at, event.unit)

    def _apply_asked_pairs(self, event: e.AskedPairs) -> None:
        labels = self.settings.environments or ()
        for arm, environment in zip(event.arms, event.environments, strict=True):
            label = labels[environment]
            self.policy_state.expect(self.policy_state.environments.row(label), arm)
            self.book.ask((arm,), label, event.at, None)

    def _apply_told(self, event: e.Told) -> None:
        for number, reward in zip(event.pulls, event.rewards, strict=True):
            self._receive(number, reward)
        self._update_horizon()

    def _receive(self, number: int, reward: float) -> None:
        """Process a new reward of a pull: record it, hold it back, or mark the pull as late.

        A reward is held back until the time limit of its pull ends.
        """
        book, was = self.book, self.book.status[number]
        if self._has_window and was == PullStatus.PENDING:
            book.rewards[number] = reward
        elif self._has_window:
            if was == PullStatus.DEFAULTED:
                book.status[number], book.late = PullStatus.LATE, book.late + 1
        elif was in (PullStatus.TOLD, PullStatus.DEFAULTED):
            self._replace(number, reward)
        else:
            self._record_reward(number, PullStatus.TOLD, reward)

    def _apply_added(self, event: e.Added) -> None:
        book = self.book
        for number, reward, key in zip(event.pulls, event.rewards, event.keys, strict=True):
            if key is not None:
                book.added[number, key] = reward
            before = 0.0 if book.status[number] == PullStatus.DEFAULTED else book.rewards[number] or 0.0
            at_most_one = REWARD_KINDS[self.settings.rewards].binary
            self._receive(number, max(before, reward) if at_most_one else before + reward)
        self._update_horizon()

    def _apply_shared(self, event: e.Shared) -> None:
        self.book.plans[event.label] = SharePlan(event.shares, event.n)

    def _apply_unlabelled(self, event: e.Unlabelled) -> None:
        self.book.tide = "hidden"
        if not isinstance(self.policy_state, PullCounter):
            self.policy_state = self._new_policy_state()
        self._set_arms()

    def _record_reward(self, number: int, status: PullStatus, reward: float) -> None:
        was_out = self.book.settle(number, status, reward)
        pull = self.book.pulls[number]
        arm = self.book.arms.index(pull.arm)
        self.policy_state.take(pull.environment, arm, 1, reward, 0.0, was_out, number)

    def _apply_summarised(self, event: e.Summarised) -> None:
        book, arm = self.book, self.book.arms[event.arm]
        pending = self.policy_state.environments.pending_count(event.label, event.arm)
        settled = book.oldest_pending(arm, event.label, min(event.n, pending))
        book.take_label()
        for number in settled:
            book.settle(number, PullStatus.SUMMARISED)
        book.surplus += event.n - len(settled)
        if event.key is not None:
            book.keyed[event.key] = len(book.summaries)
        told = Summary(arm, event.label, event.n, event.mean, event.variance)
        book.summaries.append((event.key, told, event.at))
        squares = (event.n - 1) * event.variance
        self.policy_state.take(event.label, event.arm, event.n, event.mean, squares, len(settled))
        self._update_horizon()

    def _apply_cancelled(self, event: e.Cancelled) -> None:
        for number in event.pulls:
            self._remove(number, PullStatus.CANCELLED)

    def _apply_expired(self, event: e.Expired) -> None:
        for number in event.pulls:
            held = self.book.rewards[number]
            if held is not None:
                self._record_reward(number, PullStatus.TOLD, held)
            elif event.reward is None:
                self._remove(number, PullStatus.EXPIRED)
            else:
                self._record_reward(number, PullStatus.DEFAULTED, event.reward)
        self._update_horizon()

    def _apply_exposed(self, event: e.Exposed) -> None:
        for number in event.pulls:
            self.book.reserved.pop(number, None)

    def _remove(self, number: int, status: PullStatus) -> None:
        pull = self.book.pulls[number]
        self.book.settle(number, status)
        arm = self.book.arms.index(pull.arm)
        self.policy_state.forget(pull.environment, arm)
        if status == PullStatus.CANCELLED:
            self.policy_state.exclude(pull.environment, arm)

    def _apply_corrected(self, event: e.Corrected) -> None:
        if self.book.status[event.pull] == PullStatus.PENDING:  # its window is still open
            self.book.rewards[event.pull] = event.reward
        else:
            self._replace(event.pull, event.reward)
            self.book.sure = None  # it was based on other rewards

    def _replace(self, number: int, reward: float) -> None:
        book = self.book
        pull, old = book.pulls[number], book.rewards[number]
        assert old is not None
        book.late -= book.status[number] == PullStatus.LATE
        book.status[number], book.rewards[number] = PullStatus.TOLD, reward
        if reward != old:
            self.policy_state.correct(pull.environment, self.book.arms.index(pull.arm), old, reward, number)

    def _apply_arm_added(self, event: e.ArmAdded) -> None:
        self.book.arms.append(event.arm)
        self.book.asked.append(0)
        self.book.sure = None  # it compared the other arms only
        self._set_arms()

    def _apply_arm_retired(self, event: e.ArmRetired) -> None:
        self.book.retired.append(event.arm)
        if self.book.sure is not None and self.book.sure.arm == event.arm:
            self.book.sure = None
        self._set_arms()

    def _set_arms(self) -> None:
        self.book.plans = {}
        active = self.book.active
        params = self.params(len(active), self.book.horizon)
        self.policy_state.set_arms(len(self.book.arms), active, params)

    def _apply_extended(self, event: e.Extended) -> None:
        self.book.budget = event.budget
        self._update_horizon(always=True)

    def _update_horizon(self, always: bool = False) -> None:
        """Update the total number of rewards for which the policy plans ahead.

        It differs from the initial budget only after summaries and warm starts; `always` is for a changed
        budget.
        """
        if always or self.book.surplus or self.book.warm:
            self.policy_state.set_params(self.params(len(self.book.active), self.book.horizon))

    def _apply_paused(self, event: e.Event) -> None:
        self.book.paused = isinstance(event, e.Paused)

    def _apply_stopped(self, event: e.Stopped) -> None:
        self.book.stop = event

    def _apply_archived(self, event: e.Archived) -> None:
        self.book.archived_at = event.at

    def _apply_restored(self, event: e.Restored) -> None:
        self.book.archived_at = None

    def _apply_sure(self, event: e.Sure) -> None:
        self.book.sure = event

    def _apply_looked(self, event: e.Looked) -> None:
        book = self.book
        if book.looks and book.looks[-1].look == event.look:
            book.looks.pop()
        book.looks.append(event)
        confidence = self.settings.confidence or 0.0
        sure = None if event.arm is None else e.Sure(event.at, event.by, event.arm, "looks", confidence)
        book.sure = sure

    def _apply_opened(self, event: e.Opened) -> None:
        self.book.session = event.session

    def _apply_salted(self, event: e.Salted) -> None:
        self.book.salt = event.salt
        self.book.units = {}
        self.book.salted_from = len(self.book.pulls)

    def _apply_unit_forgotten(self, event: e.UnitForgotten) -> None:
        units, gone = self.book.units, set(event.pulls)
        for unit in [unit for unit, pull in units.items() if pull in gone]:
            del units[unit]

    def _apply_noted(self, event: e.Noted) -> None:
        pass

    def _apply_warmed(self, event: e.Warmed) -> None:
        self.book.take_label()
        for arm, label, n, mean, squares in event.cells:
            self.policy_state.take(label, arm, n, mean, squares, 0)
            self.book.warm += n
        self._update_horizon()

    EVENT_METHODS: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        e.Opened: _apply_opened,
        e.Unlabelled: _apply_unlabelled,
        e.Asked: _apply_asked,
        e.AskedPairs: _apply_asked_pairs,
        e.Told: _apply_told,
        e.Summarised: _apply_summarised,
        e.Added: _apply_added,
        e.Shared: _apply_shared,
        e.Cancelled: _apply_cancelled,
        e.Expired: _apply_expired,
        e.Corrected: _apply_corrected,
        e.ArmAdded: _apply_arm_added,
        e.ArmRetired: _apply_arm_retired,
        e.Extended: _apply_extended,
        e.Paused: _apply_paused,
        e.Resumed: _apply_paused,
        e.Stopped: _apply_stopped,
        e.Archived: _apply_archived,
        e.Restored: _apply_restored,
        e.Sure: _apply_sure,
        e.Looked: _apply_looked,
        e.Noted: _apply_noted,
        e.Warmed: _apply_warmed,
        e.Salted: _apply_salted,
        e.UnitForgotten: _apply_unit_forgotten,
        e.Exposed: _apply_exposed,
    }


def _check_by(by: Any) -> None:
    if by is not None and not isinstance(by, str):
        raise InputError(f"by must be a string with the name of the caller, not {describe_value(by)}")
