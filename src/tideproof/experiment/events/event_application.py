"""Application of events to the book of pulls and to the statistics of the policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import PullStatus
from tideproof.experiment.settings import ExperimentSettings
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book, SharePlan, Summary
from tideproof.policies.policy_spec import PolicySpec


class EventApplier:
    """Base class of the state of an experiment with one method for each kind of event.

    Attributes
    ----------
    spec : the policy with its options.
    settings : the settings of the experiment.
    has_window : whether rewards count only when the lease of their pull is over.
    book : the pulls of the experiment and their status.
    policy_state : the statistics of the policy.
    """

    spec: PolicySpec
    book: Book
    policy_state: PolicyState
    settings: ExperimentSettings
    has_window: bool

    @property
    def open_ended(self) -> bool:
        """Whether the policy ignores the budget, which is then only an upper limit for a stopping rule."""
        policy = self.spec.policy
        return self.settings.confidence is not None and (policy.anytime or not policy.needs_horizon)

    def params(self, arms: int, horizon: int | None) -> Any:
        """Return the parameters of the policy for a number of arms and a horizon, or raise an error."""
        return self.spec.params(arms, None if self.open_ended else horizon)

    def apply(self, event: e.Event, touched: Sequence[int]) -> None:
        """Apply an event to the book and the policy state; `touched` has the numbers of changed pulls."""
        if type(event) is e.Summarised:
            self._apply_summarised(event, touched)
        else:
            self._METHODS[type(event)](self, event)

    def touched(self, event: e.Event) -> Sequence[int]:
        """Return the numbers of the pulls that an event changes."""
        if isinstance(event, (e.Told, e.Added, e.Cancelled, e.Expired, e.Exposed)):
            return event.pulls
        if isinstance(event, e.Summarised):
            out = self.policy_state.environments.pending_count(event.label, event.arm)
            return self.book.oldest_pending(self.book.arms[event.arm], event.label, min(event.n, out))
        return (event.pull,) if isinstance(event, e.Corrected) else ()

    def _apply_asked(self, event: e.Asked) -> None:
        self.policy_state.make_ready()
        row = self.policy_state.environments.row(event.label)
        for arm in event.arms:
            self.policy_state.expect(row, arm)
        self.book.ask(event.arms, event.label, event.at, event.unit)

    def _apply_told(self, event: e.Told) -> None:
        for number, reward in zip(event.pulls, event.rewards, strict=True):
            self._receive(number, reward)
        self._update_horizon()

    def _receive(self, number: int, reward: float) -> None:
        """Record the reward of a pull, hold it back until the end of its window, or mark it as late."""
        book, was = self.book, self.book.status[number]
        if self.has_window and was == PullStatus.PENDING:
            book.rewards[number] = reward
        elif self.has_window:
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
            at_most_one = self.settings.rewards == "conversions"
            self._receive(number, max(before, reward) if at_most_one else before + reward)
        self._update_horizon()

    def _apply_shared(self, event: e.Shared) -> None:
        self.book.plans[event.label] = SharePlan(event.shares, event.n)

    def _apply_unlabelled(self, event: e.Unlabelled) -> None:
        self.book.tide = "hidden"
        self.reset_policy_state()
        self._set_arms()

    def reset_policy_state(self) -> None:
        """Replace the policy state by an empty one for the current tide model."""
        raise NotImplementedError

    def _record_reward(self, number: int, status: PullStatus, reward: float) -> None:
        was_out = self.book.settle(number, status, reward)
        pull = self.book.pulls[number]
        arm = self.book.arms.index(pull.arm)
        self.policy_state.take(pull.environment, arm, 1, reward, 0.0, was_out, number)

    def _apply_summarised(self, event: e.Summarised, settled: Sequence[int]) -> None:
        book, arm = self.book, self.book.arms[event.arm]
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
        self.policy_state.forget(pull.environment, self.book.arms.index(pull.arm))

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
        """Update the policy's horizon if it can differ from the initial budget.

        It differs only after summaries and warm starts; `always` is for a changed budget.
        """
        if always or self.book.surplus or self.book.warm:
            self.policy_state.set_params(self.params(len(self.book.active), self.book.horizon))

    def _apply_paused(self, event: e.Event) -> None:
        self.book.paused = isinstance(event, e.Paused)

    def _apply_stopped(self, event: e.Stopped) -> None:
        self.book.stopped = True

    def _apply_sure(self, event: e.Sure) -> None:
        self.book.sure = event

    def _apply_opened(self, event: e.Opened) -> None:
        self.book.session = event.session

    def _apply_salted(self, event: e.Salted) -> None:
        self.book.salt = event.salt
        self.book.units = {}

    def _apply_noted(self, event: e.Noted) -> None:
        pass

    def _apply_warmed(self, event: e.Warmed) -> None:
        self.book.take_label()
        for arm, label, n, mean, squares in event.cells:
            self.policy_state.take(label, arm, n, mean, squares, 0)
            self.book.warm += n
        self._update_horizon()

    _METHODS: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        e.Opened: _apply_opened,
        e.Unlabelled: _apply_unlabelled,
        e.Asked: _apply_asked,
        e.Told: _apply_told,
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
        e.Sure: _apply_sure,
        e.Noted: _apply_noted,
        e.Warmed: _apply_warmed,
        e.Salted: _apply_salted,
        e.Exposed: _apply_exposed,
    }
