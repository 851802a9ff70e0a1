"""Descriptions in words of the records in an experiment's event log."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tideproof.analysis.words.decision_text import (
    STOP_DIGITS,
    confidence_text,
    winner_text,
)
from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import PullStatus
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.pulls_book import Book
from tideproof.text import format_count, format_rounded, join_labels, join_names, quote_if_needed

_FEW = 3  # largest number of pulls whose IDs are listed

_Description = Callable[[Any, Book, int], Iterator[str]]


def describe_events(state: State, count: int) -> list[dict[str, Any]]:
    """Return the last `count` records of an event log: number, time, author, kind and description."""
    total, book = len(state.events), state.book
    last = state.events[max(0, total - count) :] if count else []
    pulls = len(book.pulls) - sum(e.count_pulls(event) for event in last)
    found = []
    for number, event in enumerate(last, total - len(last) + 1):
        found.append(
            {
                "number": number,
                "at": event.at,
                "by": event.by,
                "kind": type(event).__name__,
                "said": describe_event(event, book, pulls, window=bool(state.settings.has_window)),
            }
        )
        pulls += e.count_pulls(event)
    return found


def describe_event(event: Any, book: Book, pulls: int, window: bool = False) -> str:
    """Describe one record of an event log in words.

    `pulls` is the number of pulls before the event; `window` says whether the experiment has an attribution
    window, so that an expiry closes windows.
    """
    if isinstance(event, e.Expired) and window:
        return "".join(_describe_closed_windows(event, book, pulls))
    return "".join(EVENT_DESCRIPTIONS[type(event)](event, book, pulls))


def format_time(at: float) -> str:
    """Return a timestamp in seconds since 1970 as a date and time in UTC.

    A timestamp that is out of range is returned as a number.

    >>> format_time(1.7e9), format_time(1e300)
    ('2023-11-14 22:13:20', '1e+300')
    """
    try:
        return f"{datetime.datetime.fromtimestamp(at, datetime.UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return f"{at:g}"


def format_age(seconds: float) -> str:
    """Return a duration as text, in the most readable unit.

    >>> format_age(0.4), format_age(59), format_age(150), format_age(8000), format_age(200_000)
    ('0.4 s', '59 s', '2.5 min', '2.2 h', '2.3 d')
    """
    for unit, size in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{format_rounded(max(0.0, seconds))} s"


def _name_pulls(book: Book, pulls: Sequence[int]) -> str:
    """Name pulls (assignments of arms) in a text, or count them if there are many."""
    if len(pulls) == 1:
        pull = book.pulls[pulls[0]]
        return f"{pull.id} ({quote_if_needed(pull.arm)}, {pull.environment!r})"
    if len(pulls) <= _FEW:
        return f"{join_names(book.pulls[number].id for number in pulls)}"
    return format_count(len(pulls), "pull")


def _describe_created(event: e.Created, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: an experiment was created."""
    budget = "no budget" if event.budget is None else f"budget {event.budget:,}"
    yield f"created: arms {join_labels(event.arms)}; {budget}; policy {event.policy['label']}"


def _describe_opened(event: e.Opened, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: a process opened an experiment."""
    yield f"opened by a process whose pull IDs begin with {event.session}"


def _describe_asked(event: e.Asked, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: arms were assigned."""
    yield f"assigned {_name_pulls(book, range(pulls, pulls + len(event.arms)))}"
    if len(event.arms) > 1:
        counts = {book.arms[arm]: event.arms.count(arm) for arm in sorted(set(event.arms))}
        said = join_names(f"{n} of {quote_if_needed(arm)}" for arm, n in counts.items())
        yield f" in {event.label!r}: {said}"
    if event.unit is not None:
        yield " to a unit"


def _describe_asked_pairs(event: e.AskedPairs, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: the policy chose arms and environments of pulls."""
    yield f"assigned {_name_pulls(book, range(pulls, pulls + len(event.arms)))}"
    if len(event.arms) > 1:
        yield f" in {format_count(len(set(event.environments)), 'environment')} that the policy chose"


def _describe_rewards(event: e.Told | e.Added, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: rewards were received."""
    if len(event.pulls) <= _FEW:
        rewards = join_names(f"{reward:.6g}" for reward in event.rewards)
        yield f"recorded {rewards} for {_name_pulls(book, event.pulls)}"
    else:
        mean = sum(event.rewards) / len(event.rewards)
        yield f"recorded {format_count(len(event.pulls), 'reward')}, mean {mean:.4g}"


def _describe_shares(event: e.Shared, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: each arm's share of the next units (visitors) was computed."""
    shares = zip(book.arms, event.shares, strict=False)  # arms may have been added since
    yield f"shares of the next {format_count(event.n, 'unit')} in {event.label!r}: "
    yield join_names(f"{quote_if_needed(arm)} {100.0 * share:.3g} %" for arm, share in shares)


def _describe_summary(event: e.Summarised, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: aggregated rewards were received."""
    rewards = format_count(event.n, "reward")
    yield f"recorded {rewards} of {book.arms[event.arm]} in {event.label!r}, aggregated: "
    yield f"mean {event.mean:.4g}, variance {event.variance:.4g}"
    yield "" if event.key is None else f" (key {event.key!r})"


def _describe_cancelled(event: e.Cancelled, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: pulls (assignments of arms) were cancelled."""
    yield f"cancelled {_name_pulls(book, event.pulls)}"


def _describe_expired(event: e.Expired, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: pulls expired before their rewards arrived."""
    yield f"expired: {_name_pulls(book, event.pulls)}"
    yield "" if event.reward is None else f", with the reward {event.reward:.6g}"


def _describe_closed_windows(event: e.Expired, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: periods for receiving rewards (attribution windows) ended.

    From then on, the rewards received before count, and pulls without a reward get the default reward.
    """
    told = sum(book.status[number] == PullStatus.TOLD for number in event.pulls)
    many = len(event.pulls) > 1
    yield f"lease{'s' if many else ''} ended for {_name_pulls(book, event.pulls)}: "
    default = f"{event.reward or 0.0:.6g}"
    if not many:
        yield "its recorded reward counts" if told else f"no reward was recorded, so its reward is {default}"
        return
    yield f"{told:,} with a recorded reward"
    if told < len(event.pulls):
        yield f", {'the others' if told else 'all'} without one, so their reward is {default}"


def _describe_correction(event: e.Corrected, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: a reward was corrected."""
    yield f"reward corrected to {event.reward:.6g}: {_name_pulls(book, [event.pull])}"


def _describe_new_arm(event: e.ArmAdded, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: an arm was added."""
    yield f"arm {quote_if_needed(event.arm)} was added"


def _describe_retired_arm(event: e.ArmRetired, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: an arm was retired."""
    yield f"arm {book.arms[event.arm]} was retired"


def _describe_budget(event: e.Extended, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: the budget of pulls was changed."""
    yield "the budget was removed" if event.budget is None else f"the budget is now {event.budget:,}"


def _describe_reason(what: str) -> _Description:
    """Return a function that describes a pause, an archiving or its end in words.

    The text consists of the word `what` and the reason of the author.
    """

    def said(event: Any, book: Book, pulls: int) -> Iterator[str]:
        """Describe a logged event in words: an experiment was paused, archived, or the reverse."""
        yield f"{what}: {event.why}" if event.why else what

    return said


def _describe_stop(event: e.Stopped, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: an experiment was stopped, and an arm was perhaps chosen."""
    yield "stopped"
    yield "" if event.ship is None else f"; {quote_if_needed(book.arms[event.ship])} is shipped"
    yield f": {event.why}" if event.why else ""


def _describe_confidence(event: e.Sure, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: the stopping rule found the best arm."""
    sure = f"{confidence_text(event.confidence, digits=STOP_DIGITS)}, rule: {event.rule}"
    winner = winner_text(book.arms[event.arm], sure)
    yield f"the stopping rule found that {winner}"


def _describe_look(event: e.Looked, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: a planned look was made, and perhaps named the best arm."""
    found = "no arm is named" if event.arm is None else winner_text(book.arms[event.arm])
    spent = f"{100 * event.spent:.2g} % of error probability spent so far"
    yield f"look {event.look:g} at {format_count(event.recorded, 'reward')}: {found} ({spent})"


def _describe_note(event: e.Noted, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: a user wrote a note."""
    yield f"note: {event.text}"


def _describe_warm_start(event: e.Warmed, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: rewards from before the experiment were added."""
    rewards = format_count(sum(n for _, _, n, _, _ in event.cells), "reward")
    yield f"added {rewards} from before the experiment (warm start)"


def _describe_salt(event: e.Salted, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: the salt for hashing unit IDs was created or deleted."""
    yield f"the salt for hashing unit IDs was {'created' if event.salt else 'deleted'}"


def _describe_forgotten_unit(event: e.UnitForgotten, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: the hash of the ID of one unit was deleted."""
    yield f"the hash of the ID of a unit was deleted: {_name_pulls(book, event.pulls)}"


def _describe_exposure(event: e.Exposed, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: users saw their assigned arms."""
    yield f"shown to users: {_name_pulls(book, event.pulls)}"


def _describe_unlabelled(event: e.Unlabelled, book: Book, pulls: int) -> Iterator[str]:
    """Describe a logged event in words: pulls were requested without an environment."""
    yield "pulls requested without an environment: the shift is estimated from the rewards"


EVENT_DESCRIPTIONS: dict[type[Any], _Description] = {
    e.Created: _describe_created,
    e.Opened: _describe_opened,
    e.Asked: _describe_asked,
    e.AskedPairs: _describe_asked_pairs,
    e.Told: _describe_rewards,
    e.Added: _describe_rewards,
    e.Shared: _describe_shares,
    e.Summarised: _describe_summary,
    e.Cancelled: _describe_cancelled,
    e.Expired: _describe_expired,
    e.Corrected: _describe_correction,
    e.ArmAdded: _describe_new_arm,
    e.ArmRetired: _describe_retired_arm,
    e.Extended: _describe_budget,
    e.Paused: _describe_reason("paused"),
    e.Resumed: _describe_reason("resumed"),
    e.Stopped: _describe_stop,
    e.Archived: _describe_reason("archived"),
    e.Restored: _describe_reason("restored from the archive"),
    e.Sure: _describe_confidence,
    e.Looked: _describe_look,
    e.Noted: _describe_note,
    e.Warmed: _describe_warm_start,
    e.Salted: _describe_salt,
    e.Exposed: _describe_exposure,
    e.UnitForgotten: _describe_forgotten_unit,
    e.Unlabelled: _describe_unlabelled,
}
