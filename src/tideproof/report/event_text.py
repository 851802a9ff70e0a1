"""Events in words."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import TOLD
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.pulls_book import Book
from tideproof.text import format_count, format_rounded, join_names

_FEW = 3  # pulls that are named

_Words = Callable[[Any, Book, int], Iterator[str]]


def story(state: State, count: int) -> list[dict[str, Any]]:
    """Return the last events, the newest last: number, time, who, kind and what happened in words."""
    total, book = len(state.events), state.book
    last = state.events[max(0, total - count) :] if count else []
    pulls = len(book.pulls) - sum(len(event.arms) for event in last if isinstance(event, e.Asked))
    found = []
    for number, event in enumerate(last, total - len(last) + 1):
        closes = isinstance(event, e.Expired) and state.window
        say: _Words = _closed if closes else _SAID[type(event)]
        found.append(
            {
                "number": number,
                "at": event.at,
                "by": event.by,
                "kind": type(event).__name__,
                "said": "".join(say(event, book, pulls)),
            }
        )
        pulls += len(event.arms) if isinstance(event, e.Asked) else 0
    return found


def time_of(at: float) -> str:
    """Return a time of a clock, in UTC; a number where it does not count from 1970.

    >>> time_of(1.7e9), time_of(1e300)
    ('2023-11-14 22:13:20', '1e+300')
    """
    try:
        return f"{datetime.datetime.fromtimestamp(at, datetime.UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{at:g}"


def age(seconds: float) -> str:
    """Return how long that is, in the unit that fits.

    >>> age(0.4), age(59), age(150), age(8000), age(200_000)
    ('0.4 s', '59 s', '2.5 min', '2.2 h', '2.3 d')
    """
    for unit, size in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{format_rounded(max(0.0, seconds))} s"


def _named(book: Book, pulls: Sequence[int]) -> str:
    """Return pulls in words: arm and environment of a single one, the ids of a few, or how many."""
    if len(pulls) == 1:
        pull = book.pulls[pulls[0]]
        return f"{pull.id} ({pull.arm}, {pull.environment!r})"
    if len(pulls) <= _FEW:
        return f"{join_names(book.pulls[number].id for number in pulls)}"
    return format_count(len(pulls), "pull")


def _created(event: e.Created, book: Book, pulls: int) -> Iterator[str]:
    budget = "no budget" if event.budget is None else f"budget {event.budget:,}"
    yield f"began: arms {join_names(event.arms)}; {budget}; policy {event.policy['label']}"


def _opened(event: e.Opened, book: Book, pulls: int) -> Iterator[str]:
    yield f"goes on, with ids that begin with {event.session}"


def _asked(event: e.Asked, book: Book, pulls: int) -> Iterator[str]:
    yield f"asked for {_named(book, range(pulls, pulls + len(event.arms)))}"
    if len(event.arms) > 1:
        counts = {book.arms[arm]: event.arms.count(arm) for arm in sorted(set(event.arms))}
        yield f" in {event.label!r}: {join_names(f'{n} of {arm}' for arm, n in counts.items())}"
    if event.unit is not None:
        yield " for a unit"


def _told(event: e.Told | e.Added, book: Book, pulls: int) -> Iterator[str]:
    if len(event.pulls) <= _FEW:
        rewards = join_names(f"{reward:.6g}" for reward in event.rewards)
        yield f"told {rewards} for {_named(book, event.pulls)}"
    else:
        mean = sum(event.rewards) / len(event.rewards)
        yield f"told {format_count(len(event.pulls), 'reward')}, {mean:.4g} on average"


def _shared(event: e.Shared, book: Book, pulls: int) -> Iterator[str]:
    shares = zip(book.arms, event.shares, strict=False)  # arms may have come since
    yield f"shares of the next {format_count(event.n, 'unit')} in {event.label!r}: "
    yield join_names(f"{arm} {100.0 * share:.3g} %" for arm, share in shares)


def _summarised(event: e.Summarised, book: Book, pulls: int) -> Iterator[str]:
    yield f"told {format_count(event.n, 'reward')} of {book.arms[event.arm]} in {event.label!r} at once: "
    yield f"mean {event.mean:.4g}, variance {event.variance:.4g}"
    yield "" if event.key is None else f" (key {event.key!r})"


def _cancelled(event: e.Cancelled, book: Book, pulls: int) -> Iterator[str]:
    yield f"cancelled {_named(book, event.pulls)}"


def _expired(event: e.Expired, book: Book, pulls: int) -> Iterator[str]:
    yield f"expired: {_named(book, event.pulls)}"
    yield "" if event.reward is None else f", with the reward {event.reward:.6g}"


def _closed(event: e.Expired, book: Book, pulls: int) -> Iterator[str]:
    """Say which windows closed: what was told before counts from then on, and so does silence."""
    told = sum(book.status[number] == TOLD for number in event.pulls)
    many = len(event.pulls) > 1
    yield f"window{'s' if many else ''} closed: {_named(book, event.pulls)}, "
    if not many:
        yield "with a reward told" if told else f"counts as {event.reward or 0.0:.6g}"
        return
    yield f"{told:,} with a reward told"
    if told < len(event.pulls):
        yield f", {'the others' if told else 'all'} count as {event.reward or 0.0:.6g}"


def _corrected(event: e.Corrected, book: Book, pulls: int) -> Iterator[str]:
    yield f"corrected to {event.reward:.6g}: {_named(book, [event.pull])}"


def _arm_added(event: e.ArmAdded, book: Book, pulls: int) -> Iterator[str]:
    yield f"a new arm: {event.arm}"


def _arm_retired(event: e.ArmRetired, book: Book, pulls: int) -> Iterator[str]:
    yield f"retired: {book.arms[event.arm]}"


def _extended(event: e.Extended, book: Book, pulls: int) -> Iterator[str]:
    yield "the budget is open" if event.budget is None else f"the budget is {event.budget:,}"


def _why(what: str) -> _Words:
    def said(event: Any, book: Book, pulls: int) -> Iterator[str]:
        yield f"{what}: {event.why}" if event.why else what

    return said


def _sure(event: e.Sure, book: Book, pulls: int) -> Iterator[str]:
    yield f"sure at {100.0 * event.confidence:.10g} % ({event.rule}): {book.arms[event.arm]}"


def _noted(event: e.Noted, book: Book, pulls: int) -> Iterator[str]:
    yield f"note: {event.text}"


def _warmed(event: e.Warmed, book: Book, pulls: int) -> Iterator[str]:
    yield f"{format_count(sum(n for _, _, n, _, _ in event.cells), 'reward')} from before"


def _salted(event: e.Salted, book: Book, pulls: int) -> Iterator[str]:
    yield f"the salt of units: {'set' if event.salt else 'deleted'}"


def _exposed(event: e.Exposed, book: Book, pulls: int) -> Iterator[str]:
    yield f"seen: {_named(book, event.pulls)}"


def _unlabelled(event: e.Unlabelled, book: Book, pulls: int) -> Iterator[str]:
    yield "asked without an environment: the tide is followed by the rewards"


def _carried(event: e.Carried, book: Book, pulls: int) -> Iterator[str]:
    yield "taken over from the file of an older version"


_SAID: dict[type[Any], _Words] = {
    e.Created: _created,
    e.Opened: _opened,
    e.Asked: _asked,
    e.Told: _told,
    e.Added: _told,
    e.Shared: _shared,
    e.Summarised: _summarised,
    e.Cancelled: _cancelled,
    e.Expired: _expired,
    e.Corrected: _corrected,
    e.ArmAdded: _arm_added,
    e.ArmRetired: _arm_retired,
    e.Extended: _extended,
    e.Paused: _why("paused"),
    e.Resumed: _why("resumed"),
    e.Stopped: _why("stopped"),
    e.Sure: _sure,
    e.Noted: _noted,
    e.Warmed: _warmed,
    e.Salted: _salted,
    e.Exposed: _exposed,
    e.Unlabelled: _unlabelled,
    e.Carried: _carried,
}
