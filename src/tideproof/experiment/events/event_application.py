"""What each event does to the book and to the numbers of an experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import CANCELLED, DEFAULTED, EXPIRED, LATE, OUT, SUMMARISED, TOLD
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book, SharePlan, Summary
from tideproof.policies.policy_spec import PolicySpec


class Effects:
    """A book and numbers, and what events do to them.

    Attributes
    ----------
    spec : the policy.
    book : who was asked what, and what became of it.
    numbers : what the policy knows.
    carried : whether it began with what an older version saved.
    """

    spec: PolicySpec
    book: Book
    numbers: PolicyState
    created: e.Created
    carried: bool

    @property
    def window(self) -> bool:
        """Whether rewards count only once the lease of their pull is over."""
        options = self.created.options
        return options.get("rewards") == "conversions" and "lease" in options

    @property
    def open_ended(self) -> bool:
        """Whether the policy need not know the budget, which is only a cap: a rule may stop it before."""
        policy = self.spec.policy
        return "confidence" in self.created.options and (policy.anytime or not policy.needs_horizon)

    def params(self, arms: int, horizon: int | None) -> Any:
        """Return the numbers of the policy with that many arms, or say what is wrong with them."""
        return self.spec.params(arms, None if self.open_ended else horizon)

    def apply(self, event: e.Event, touched: Sequence[int]) -> None:
        """Take in an event that touches these pulls."""
        if type(event) is e.Summarised:
            self._summarised(event, touched)
        else:
            _EFFECTS[type(event)](self, event)

    def touched(self, event: e.Event) -> Sequence[int]:
        """Return the numbers of the pulls that an event speaks of or settles."""
        if isinstance(event, (e.Told, e.Added, e.Cancelled, e.Expired, e.Exposed)):
            return event.pulls
        if isinstance(event, e.Summarised):
            out = self.numbers.places.out(event.label, event.arm)
            return self.book.oldest_out(self.book.arms[event.arm], event.label, min(event.n, out))
        return (event.pull,) if isinstance(event, e.Corrected) else ()

    def _asked(self, event: e.Asked) -> None:
        self.numbers.make_ready()
        row = self.numbers.places.row(event.label)
        for arm in event.arms:
            self.numbers.expect(row, arm)
        self.book.ask(event.arms, event.label, event.at, event.unit)

    def _told(self, event: e.Told) -> None:
        for number, reward in zip(event.pulls, event.rewards, strict=True):
            self._receive(number, reward)
        self._reckon()

    def _receive(self, number: int, reward: float) -> None:
        """Take in the reward of a pull; or hold it back until its window closes, or note that it is late."""
        book, was = self.book, self.book.status[number]
        if self.window and was == OUT:
            book.rewards[number] = reward
        elif self.window:
            if was == DEFAULTED:
                book.status[number], book.late = LATE, book.late + 1
        elif was in (TOLD, DEFAULTED):
            self._replace(number, reward)
        else:
            self._tell(number, TOLD, reward)

    def _added(self, event: e.Added) -> None:
        book = self.book
        for number, reward, key in zip(event.pulls, event.rewards, event.keys, strict=True):
            if key is not None:
                book.added[number, key] = reward
            before = 0.0 if book.status[number] == DEFAULTED else book.rewards[number] or 0.0
            once = self.created.options.get("rewards") == "conversions"
            self._receive(number, max(before, reward) if once else before + reward)
        self._reckon()

    def _shared(self, event: e.Shared) -> None:
        self.book.plans[event.label] = SharePlan(event.shares, event.n)

    def _unlabelled(self, event: e.Unlabelled) -> None:
        self.book.tide = "hidden"
        self.renew()
        self._seat()

    def renew(self) -> None:
        """Begin with numbers for the tide that the book says."""
        raise NotImplementedError

    def _tell(self, number: int, status: str, reward: float) -> None:
        was_out = self.book.settle(number, status, reward)
        pull = self.book.pulls[number]
        arm = self.book.arms.index(pull.arm)
        self.numbers.take(pull.environment, arm, 1, reward, 0.0, was_out, number)

    def _summarised(self, event: e.Summarised, settled: Sequence[int]) -> None:
        book, arm = self.book, self.book.arms[event.arm]
        book.take_label()
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
            held = self.book.rewards[number]
            if held is not None:
                self._tell(number, TOLD, held)
            elif event.reward is None:
                self._forget(number, EXPIRED)
            else:
                self._tell(number, DEFAULTED, event.reward)
        self._reckon()

    def _exposed(self, event: e.Exposed) -> None:
        for number in event.pulls:
            self.book.reserved.pop(number, None)

    def _forget(self, number: int, status: str) -> None:
        pull = self.book.pulls[number]
        self.book.settle(number, status)
        self.numbers.forget(pull.environment, self.book.arms.index(pull.arm))

    def _corrected(self, event: e.Corrected) -> None:
        if self.book.status[event.pull] == OUT:  # its window is open
            self.book.rewards[event.pull] = event.reward
        else:
            self._replace(event.pull, event.reward)
            self.book.sure = None  # of other rewards

    def _replace(self, number: int, reward: float) -> None:
        book = self.book
        pull, old = book.pulls[number], book.rewards[number]
        assert old is not None
        book.late -= book.status[number] == LATE
        book.status[number], book.rewards[number] = TOLD, reward
        if reward != old:
            self.numbers.correct(pull.environment, self.book.arms.index(pull.arm), old, reward, number)

    def _arm_added(self, event: e.ArmAdded) -> None:
        self.book.arms.append(event.arm)
        self.book.asked.append(0)
        self.book.sure = None  # of the others
        self._seat()

    def _arm_retired(self, event: e.ArmRetired) -> None:
        self.book.retired.append(event.arm)
        if self.book.sure is not None and self.book.sure.arm == event.arm:
            self.book.sure = None
        self._seat()

    def _seat(self) -> None:
        self.book.plans = {}
        active = self.book.active
        params = self.params(len(active), self.book.horizon)
        self.numbers.seat(len(self.book.arms), active, params)

    def _extended(self, event: e.Extended) -> None:
        self.book.budget = event.budget
        self._reckon(always=True)

    def _reckon(self, always: bool = False) -> None:
        """Tell the policy its horizon, where that is not just the budget it began with."""
        if always or self.book.surplus or self.book.warm:
            self.numbers.set_params(self.params(len(self.book.active), self.book.horizon))

    def _paused(self, event: e.Event) -> None:
        self.book.paused = isinstance(event, e.Paused)

    def _stopped(self, event: e.Stopped) -> None:
        self.book.stopped = True

    def _sure(self, event: e.Sure) -> None:
        self.book.sure = event

    def _opened(self, event: e.Opened) -> None:
        self.book.session = event.session

    def _salted(self, event: e.Salted) -> None:
        self.book.salt = event.salt
        self.book.units = {}

    def _noted(self, event: e.Noted) -> None:
        pass

    def _warmed(self, event: e.Warmed) -> None:
        self.book.take_label()
        for arm, label, n, mean, squares in event.cells:
            self.numbers.take(label, arm, n, mean, squares, 0)
            self.book.warm += n
        self._reckon()

    def _carried(self, event: e.Carried) -> None:
        from tideproof.experiment.snapshots.file_format_2 import refill

        self.carried = True
        refill(self, event.saved)


_EFFECTS: dict[type[Any], Callable[[Effects, Any], None]] = {
    e.Opened: Effects._opened,
    e.Unlabelled: Effects._unlabelled,
    e.Asked: Effects._asked,
    e.Told: Effects._told,
    e.Added: Effects._added,
    e.Shared: Effects._shared,
    e.Cancelled: Effects._cancelled,
    e.Expired: Effects._expired,
    e.Corrected: Effects._corrected,
    e.ArmAdded: Effects._arm_added,
    e.ArmRetired: Effects._arm_retired,
    e.Extended: Effects._extended,
    e.Paused: Effects._paused,
    e.Resumed: Effects._paused,
    e.Stopped: Effects._stopped,
    e.Sure: Effects._sure,
    e.Noted: Effects._noted,
    e.Warmed: Effects._warmed,
    e.Salted: Effects._salted,
    e.Exposed: Effects._exposed,
    e.Carried: Effects._carried,
}
