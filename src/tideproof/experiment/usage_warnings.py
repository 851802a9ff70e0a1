"""What users get wrong, noticed from the events of their experiment and said in words.

A `UsageWatch` reads every event once and keeps a few numbers. It is no part of the state:
it needs no lock of the experiment's, and what is loaded is watched anew.
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

MANY = 100  # pulls in a single environment that nobody named
DAY = 86_400.0  # seconds
LOOKS = 5  # at growing data, before something is said
FAR = 10.0  # a reward that lies so many widths of the others' range outside of it
EDGE = 4  # distinct values kept on either side: all but one of them may be far outside
VARIED = 32  # distinct rewards before one of them can be far outside the others


class Facts(NamedTuple):
    """What an experiment says of itself, copied at one moment.

    Attributes
    ----------
    arms : number of those that are played.
    pulls, out, told : asked for so far; of these out; rewards told, of summaries and from before too.
    settled, surplus : pulls told or summarised; rewards beyond.
    budget : number of pulls, None if it is open.
    labels, label : number of environments, and the first of them.
    environments : those with a told reward.
    asked_over : seconds between the first ask and the last.
    late : pulls that were told after their window had closed.
    tide : what is known of it.
    stops : whether it stops by a rule that allows for looks.
    plain : whether such a rule is known for what it goes by.
    done : whether nothing can be asked any more.
    """

    arms: int
    pulls: int
    out: int
    told: int
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


def facts(state: State) -> Facts:
    """Return what the state says."""
    book, numbers = state.book, state.numbers
    labels, times = numbers.places.labels, book.asked_at
    return Facts(
        arms=len(numbers.active),
        pulls=len(book.pulls),
        out=len(book.out),
        told=book.settled + book.surplus + book.warm,
        settled=book.settled,
        surplus=book.surplus,
        budget=book.budget,
        labels=len(labels),
        label=labels[0] if labels else None,
        environments=len(numbers.places.told),
        asked_over=times[-1] - times[0] if times and times[0] else 0.0,
        late=book.late,
        tide=book.tide,
        stops=state.spec.policy.stops or "confidence" in state.created.options,
        plain=state.spec.policy.tide == "labels",
        done=book.remaining == 0 or book.stopped or book.sure is not None,
    )


class UsageWatch:
    """What the events show that the state does not keep.

    Attributes
    ----------
    twins : two labels that look alike, such as 1 and "1"; None if there are none.
    values : the distinct told rewards, until there are many.
    lows, highs : the lowest and the highest distinct rewards, the outermost first.
    looks : how often somebody looked while the data grew.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read = 0
        self._labels: set[Label] = set()
        self._seen = -1  # told rewards at the last look
        self.twins: tuple[Label, Label] | None = None
        self.values: set[float] = set()
        self.lows: list[float] = []
        self.highs: list[float] = []
        self.looks = 0

    def remarks(
        self, happened: Sequence[e.Event], facts: Facts, groups: Groups, looking: bool = True
    ) -> tuple[str, ...]:
        """Read what is new and say what looks wrong.

        `groups` are the arms that can be compared; `looking` counts as a look at the data.
        """
        with self._lock:
            while self._read < len(happened):
                self._take(happened[self._read])
                self._read += 1
            if looking and facts.told > self._seen and facts.told and not facts.done:
                self.looks += 1
                self._seen = facts.told
            return tuple(_said(self, facts, groups))

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
        elif isinstance(event, e.Carried):
            for _, label, _, reward in event.saved["pulls"]:
                self._label(label)
                self._rewards(() if reward is None else (float(reward),))

    def _label(self, label: Label) -> None:
        if label in self._labels or self.twins:
            return
        self._labels.add(label)
        other = _twin(label)
        if other in self._labels:
            self.twins = (other, label) if isinstance(label, str) else (label, other)

    def _rewards(self, rewards: Iterable[float]) -> None:
        distinct = sorted(set(rewards))
        if len(self.values) < VARIED:
            self.values.update(distinct[:VARIED])
        for reward in distinct[:EDGE]:
            _keep(self.lows, reward)
        for reward in distinct[-EDGE:]:
            _keep(self.highs, -reward)

    @property
    def outside(self) -> float | None:
        """A reward far outside all others, if there is one."""
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


def _keep(lowest: list[float], value: float) -> None:
    """Keep the lowest distinct values, the lowest first."""
    if len(lowest) == EDGE and value >= lowest[-1]:
        return
    place = bisect_left(lowest, value)
    if place == len(lowest) or lowest[place] != value:
        lowest.insert(place, value)
        del lowest[EDGE:]


def _twin(label: Label) -> Label | None:
    """Return the label of the other type that is written alike.

    >>> _twin(1), _twin("-7"), _twin("01"), _twin("mon")
    ('1', -7, None, None)
    """
    if isinstance(label, int):
        return str(label)
    try:
        number = int(label)
    except ValueError:
        return None
    return number if str(number) == label else None


def _said(watch: UsageWatch, facts: Facts, groups: Groups) -> Iterable[str]:
    yield from _labels(watch, facts)
    yield from _meetings(facts, groups)
    yield from _rewards(watch, facts)
    yield from _looks(watch, facts)


def _labels(watch: UsageWatch, facts: Facts) -> Iterable[str]:
    days = facts.asked_over / DAY
    if (
        facts.tide != "hidden"
        and facts.labels == 1
        and facts.pulls > MANY
        and (facts.label == 1 or days > 1.0)
    ):
        over = f", asked for over {days:.0f} days," if days > 1.5 else ""
        yield (
            f"all {facts.pulls:,} pulls{over} are in one environment, {facts.label!r}: were labels "
            f"forgotten? ask(environment=...) says when or where a pull is played"
        )
    if facts.told >= 20 and facts.environments > 0.8 * facts.told:
        yield (
            f"{facts.environments:,} environments for {format_count(facts.told, 'reward')}: with a label "
            "for each "
            f"pull nothing can be compared; an environment is a stretch of time that several pulls share"
        )
    if watch.twins:
        number, text = watch.twins
        yield f"the labels {number!r} and {text!r} are both used: they are two environments"


def _meetings(facts: Facts, groups: Groups) -> Iterable[str]:
    if len(groups) > 1 and facts.told >= 10 * facts.arms:
        one, other = (group[0] for group in groups[:2])
        yield (
            f"{one} and {other} never met: both must be told in the same environment, or each beside a third "
            f"arm, before they can be compared"
        )


def _rewards(watch: UsageWatch, facts: Facts) -> Iterable[str]:
    if len(watch.values) == 1 and facts.settled >= 20 and facts.out >= max(MANY, 3 * facts.settled):
        yield (
            f"{facts.out:,} pulls are out and every told reward is {format_rounded(*watch.values)}: is "
            "only success "
            f"told? Tell 0 for the others, or begin with Experiment(..., lease=seconds, default=0)"
        )
    if facts.late:
        yield (
            f"what was told of {format_count(facts.late, 'pull')} after the lease was over does not count: "
            f"is it too short? correct(pull, reward) takes in what happened in time"
        )
    if watch.outside is not None:
        yield (
            f"a reward of {watch.outside:g} lies far outside all others: correct(pull, reward) mends it, "
            f"limits=(low, high) refuses such rewards"
        )
    if facts.budget is not None and facts.surplus > 2 * facts.budget:
        yield (
            f"summaries brought {facts.surplus:,} rewards beyond the {format_count(facts.settled, 'pull')} "
            "they "
            f"settled, with a budget of {facts.budget:,}: the budget counts pulls, so a pull is taken to "
            f"stand for that many rewards; if rewards were meant, extend(budget)"
        )


def _looks(watch: UsageWatch, facts: Facts) -> Iterable[str]:
    if watch.looks >= LOOKS and not facts.stops:
        rest = "" if facts.plain else ", with labels and a policy without options"
        yield (
            f"this is look {watch.looks} at growing data: interval and probability are right for one look, "
            f"at a moment chosen beforehand; stopping when they look good errs more often, unless by a rule: "
            f"Experiment(..., confidence=0.95){rest}"
        )
