"""Warnings about likely mistakes in the use of an experiment, found in its events.

A `UsageMonitor` reads each event once and keeps a few numbers. It is not part of the state: it needs no lock,
and starts again when an experiment is loaded.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import Label
from tideproof.experiment.state.experiment_state import State
from tideproof.text import format_count, format_rounded

Groups = Sequence[Sequence[str]]

MANY = 100  # pulls in one environment with the default label
DAY = 86_400.0  # seconds
MINIMUM_LOOKS = 5  # inspections of growing data before the warning
FAR = 10.0  # distance of an outlying reward from the range of the others, in widths of that range
EDGE = 4  # number of extreme distinct rewards kept on each side
VARIED = 32  # distinct rewards before one of them can be called outlying


class UsageFacts(NamedTuple):
    """Counts and settings of an experiment at one point in time, from which warnings are derived.

    Attributes
    ----------
    arms : number of active arms.
    pulls, pending, recorded : number of pulls asked for; of pending pulls; of rewards recorded, including
        summaries and warm-start rewards.
    settled, surplus : pulls with a reward, single or in a summary; rewards of summaries beyond their pulls.
    budget : number of pulls; None without a limit.
    labels, label : number of environments, and the label of the first.
    environments : number of environments with at least one reward.
    asked_over : seconds between the first and the last ask.
    late : number of pulls with a reward that arrived after their window had closed.
    tide : the tide option of the experiment.
    stops : whether the experiment stops by a rule that allows for repeated inspection.
    plain : whether such a rule is available for the policy's model.
    done : whether no further pull can be asked for.
    """

    arms: int
    pulls: int
    pending: int
    recorded: int
    settled: int
    surplus: int
    budget: int | None
    labels: int
    label: Label | None
    environments: int
    asked_over: float
    late: int
    tide: str
    stops: bool
    plain: bool
    done: bool


def usage_facts(state: State) -> UsageFacts:
    """Return the counts and settings of an experiment from which usage warnings are derived."""
    book, numbers = state.book, state.policy_state
    labels, times = numbers.environments.labels, book.asked_at
    return UsageFacts(
        arms=len(numbers.active),
        pulls=len(book.pulls),
        pending=len(book.pending),
        recorded=book.settled + book.surplus + book.warm,
        settled=book.settled,
        surplus=book.surplus,
        budget=book.budget,
        labels=len(labels),
        label=labels[0] if labels else None,
        environments=len(numbers.environments.with_rewards),
        asked_over=times[-1] - times[0] if times and times[0] else 0.0,
        late=book.late,
        tide=book.tide,
        stops=state.spec.policy.stops or state.settings.confidence is not None,
        plain=state.spec.policy.tide == "labels",
        done=book.remaining == 0 or book.stopped or book.sure is not None,
    )


class UsageMonitor:
    """Reader of an experiment's events, which collects facts for usage warnings.

    Attributes
    ----------
    similar_labels : two labels that look alike, such as 1 and "1"; None if there are none.
    values : distinct recorded rewards, up to a maximum number.
    lows, highs : the lowest and the highest distinct rewards, the most extreme first.
    looks : how often results were inspected while data were growing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read = 0
        self._labels: set[Label] = set()
        self._recorded_at_last_look = -1  # number of rewards at the last inspection
        self.similar_labels: tuple[Label, Label] | None = None
        self.values: set[float] = set()
        self.lows: list[float] = []
        self.highs: list[float] = []
        self.looks = 0

    def count_look(self, facts: UsageFacts) -> None:
        """Count an inspection of the results, if there are new rewards since the last one."""
        with self._lock:
            if facts.recorded > self._recorded_at_last_look and facts.recorded and not facts.done:
                self.looks += 1
                self._recorded_at_last_look = facts.recorded

    def remarks(
        self,
        happened: Sequence[e.Event],
        facts: UsageFacts,
        groups: Groups,
        looks: int = 0,
        count: int | None = None,
    ) -> tuple[str, ...]:
        """Return warnings about likely mistakes in the use of an experiment, found in its events.

        Only the first `count` events are read, or all if it is None. `groups` are the groups of comparable
        arms, and `looks` is the number of inspections of the results.
        """
        count = len(happened) if count is None else count
        with self._lock:
            known = self if self._read <= count else UsageMonitor()  # another call has read later events
            known.read_events(happened, count)
            return tuple(_warnings(known, facts, groups, looks))

    def read_events(self, happened: Sequence[e.Event], count: int) -> None:
        """Read the experiment's events that have not been read yet, up to the first `count`.

        The caller must hold the lock.
        """
        while self._read < count:
            self._take(happened[self._read])
            self._read += 1

    def _take(self, event: e.Event) -> None:
        if isinstance(event, (e.Asked, e.Summarised)):
            self._label(event.label)
        elif isinstance(event, (e.Told, e.Added)):
            self._rewards(event.rewards)
        elif isinstance(event, (e.Corrected, e.Expired)):
            self._rewards(() if event.reward is None else (event.reward,))
        elif isinstance(event, e.Warmed):
            for _, label, *_ in event.cells:
                self._label(label)

    def _label(self, label: Label) -> None:
        if label in self._labels or self.similar_labels:
            return
        self._labels.add(label)
        other = _similar_label(label)
        if other in self._labels:
            self.similar_labels = (other, label) if isinstance(label, str) else (label, other)

    def _rewards(self, rewards: Iterable[float]) -> None:
        distinct = sorted(set(rewards))
        if len(self.values) < VARIED:
            self.values.update(distinct[:VARIED])
        for reward in distinct[:EDGE]:
            _keep_lowest(self.lows, reward)
        for reward in distinct[-EDGE:]:
            _keep_lowest(self.highs, -reward)

    @property
    def outlying_reward(self) -> float | None:
        """Reward that is far outside the range of all others, or None."""
        if len(self.values) < VARIED or len(self.lows) < EDGE:
            return None
        low, high = self.lows[-1], -self.highs[-1]
        reach = FAR * (high - low)
        if reach <= 0.0:
            return None
        above, below = -self.highs[0] - high, low - self.lows[0]
        if max(above, below) <= reach:
            return None
        return -self.highs[0] if above > below else self.lows[0]


def _keep_lowest(lowest: list[float], value: float) -> None:
    """Insert a value into a sorted list of the lowest distinct values."""
    if len(lowest) == EDGE and value >= lowest[-1]:
        return
    index = bisect_left(lowest, value)
    if index == len(lowest) or lowest[index] != value:
        lowest.insert(index, value)
        del lowest[EDGE:]


def _similar_label(label: Label) -> Label | None:
    """Return the environment label that looks the same but has the other type (`"1"` for 1), or None.

    >>> _similar_label(1), _similar_label("-7"), _similar_label("01"), _similar_label("mon")
    ('1', -7, None, None)
    """
    if isinstance(label, int):
        return str(label)
    try:
        number = int(label)
    except ValueError:
        return None
    return number if str(number) == label else None


def _warnings(watch: UsageMonitor, facts: UsageFacts, groups: Groups, looks: int) -> Iterable[str]:
    yield from _labels(watch, facts)
    yield from _comparability(facts, groups)
    yield from _rewards(watch, facts)
    yield from _looks(looks, facts)


def _labels(watch: UsageMonitor, facts: UsageFacts) -> Iterable[str]:
    days = facts.asked_over / DAY
    if (
        facts.tide != "hidden"
        and facts.labels == 1
        and facts.pulls > MANY
        and (facts.label == 1 or days > 1.0)
    ):
        duration = f", made over {days:.0f} days," if days > 1.5 else ""
        yield (
            f"all {facts.pulls:,} pulls{duration} are in one environment, {facts.label!r}. To separate "
            f"environments, give each pull a label, such as its day or batch: ask(environment=...)"
        )
    if facts.recorded >= 20 and facts.environments > 0.8 * facts.recorded:
        yield (
            f"{format_count(facts.recorded, 'reward')} are spread over {facts.environments:,} environments. "
            f"Arms can be compared only within environments, so use one label for several pulls, such as the "
            f"day"
        )
    if watch.similar_labels:
        number, text = watch.similar_labels
        yield (
            f"the labels {number!r} (a number) and {text!r} (a text) are two different environments: use one "
            f"of them only"
        )


def _comparability(facts: UsageFacts, groups: Groups) -> Iterable[str]:
    if len(groups) > 1 and facts.recorded >= 10 * facts.arms:
        one, other = (group[0] for group in groups[:2])
        yield (
            f"the arms {one} and {other} cannot be compared, because no chain of shared environments "
            f"connects them. Collect rewards of both in one environment, or of each together with a third arm"
        )


def _rewards(watch: UsageMonitor, facts: UsageFacts) -> Iterable[str]:
    if len(watch.values) == 1 and facts.settled >= 20 and facts.pending >= max(MANY, 3 * facts.settled):
        yield (
            f"{facts.pending:,} pulls are pending, and every recorded reward is "
            f"{format_rounded(*watch.values)}. If only successes are recorded, record 0 for the other pulls, "
            f"too, or use Experiment(..., lease=seconds, default=0)"
        )
    if facts.late:
        yield (
            f"rewards of {format_count(facts.late, 'pull')} arrived after the lease (the time limit) and do "
            f"not count. If a reward was earned in time and only reported late, call correct(pull, reward). "
            f"A longer lease avoids this in a new experiment"
        )
    if watch.outlying_reward is not None:
        yield (
            f"a reward of {watch.outlying_reward:g} lies far outside all others. To replace it, call "
            f"correct(pull, reward); to refuse such rewards, use Experiment(..., limits=(low, high))"
        )
    if facts.budget is not None and facts.surplus > 2 * facts.budget:
        yield (
            f"summaries contain {facts.surplus:,} rewards besides those of the "
            f"{format_count(facts.settled, 'pull')} with a reward. The budget of {facts.budget:,} counts "
            f"pulls, not rewards. To change the number of pulls, call extend(budget)"
        )


def _looks(looks: int, facts: UsageFacts) -> Iterable[str]:
    if looks >= MINIMUM_LOOKS and not facts.stops:
        required = "tide='labels' and a policy without noise=, interaction= and robust="
        yield (
            f"the results were inspected {looks} times while the experiment ran. The interval and the "
            f"probability are valid for one inspection at a time fixed in advance. To stop early without "
            f"more errors, use a stopping rule: Experiment(..., confidence=0.95)"
            + ("" if facts.plain else f". It requires {required}")
        )
