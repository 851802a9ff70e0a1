"""Conversion of all pulls of an experiment to columns of numbers and back, for compact snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np

from tideproof.experiment.events.event_records import Looked, Stopped, Sure
from tideproof.experiment.pull import Label, Pull, PullStatus
from tideproof.experiment.state.pulls_book import Book, SharePlan, Summary

_STATUSES = tuple(PullStatus)
_CODES = {status: code for code, status in enumerate(_STATUSES)}
_PLAIN = Book.plain_fields()


def book_to_columns(book: Book) -> list[Any]:
    """Return a `Book` (all pulls of an experiment) as lists and arrays, which `restore_book` reads.

    The salt is left out.

    The IDs of the pulls must be those that `Book.ask` makes.
    """
    arms = {arm: i for i, arm in enumerate(book.arms)}
    labels: dict[Label, int] = {}
    count = len(book.pulls)
    columns = [
        np.fromiter((arms[pull.arm] for pull in book.pulls), np.int32, count),
        np.fromiter((labels.setdefault(p.environment, len(labels)) for p in book.pulls), np.int32, count),
        np.fromiter((_CODES[status] for status in book.status), np.int8, count),
        np.array(book.rewards, np.float64),  # NaN stands for a missing reward
        np.array(book.asked_at, np.float64),
    ]
    return [
        [list(book.arms), list(book.retired), list(book.asked)],
        [getattr(book, name) for name in _PLAIN],
        [None if event is None else list(event) for event in (book.stop, book.sure)],
        columns,
        [list(labels), _sessions(book)],
        [[key, list(summary), at] for key, summary, at in book.summaries],
        [list(book.units), list(book.units.values()), sorted(book.of_units), list(book.reserved)],
        [[label, list(plan.shares), plan.left] for label, plan in book.plans.items()],
        [[number, key, reward] for (number, key), reward in book.added.items()],
        [[*look[:5], [list(pair) for pair in look.variances], look.arm] for look in book.looks],
    ]


def _sessions(book: Book) -> list[list[Any]]:
    """Return the numbers of the pulls at which the prefix of the pull IDs changes, with the new prefixes."""
    found: list[list[Any]] = []
    start = ""
    for number, pull in enumerate(book.pulls):
        if not (start and pull.id.startswith(start)):
            session = pull.id.rpartition("-")[0]
            start = f"{session}-"
            found.append([number, session])
    return found


def restore_book(book: Book, contents: Any) -> None:
    """Fill an empty `Book` (all pulls of an experiment) with the contents that `book_to_columns` returned."""
    (arms, retired, asked), plain, (stop, sure), columns, names_of, *others = contents
    summaries, units, plans, added, looks = others
    labels, sessions = names_of
    book.arms, book.retired, book.asked = list(arms), list(retired), list(asked)
    for name, value in zip(_PLAIN, plain, strict=True):
        setattr(book, name, value)
    book.stop = None if stop is None else Stopped(*stop)
    book.sure = None if sure is None else Sure(*sure)
    arm, label, status, rewards, asked_at = (column.tolist() for column in columns)
    ends = [*(start for start, _ in sessions[1:]), len(arm)]
    ids = [
        f"{session}-{number}"
        for (start, session), end in zip(sessions, ends, strict=False)
        for number in range(start, end)
    ]
    book.pulls = [Pull(id, arms[a], labels[j]) for id, a, j in zip(ids, arm, label, strict=True)]
    book.status = [_STATUSES[code] for code in status]
    book.rewards = [None if reward != reward else reward for reward in rewards]
    book.asked_at = asked_at
    book.number = dict(zip(ids, range(len(ids)), strict=True))
    book.pending = dict.fromkeys(np.flatnonzero(columns[2] == _CODES[PullStatus.PENDING]).tolist())
    book.summaries = [(key, Summary(*values), at) for key, values, at in summaries]
    book.keyed = {key: index for index, (key, _, _) in enumerate(book.summaries) if key is not None}
    names, numbers, of_units, reserved = units
    book.units, book.of_units = dict(zip(names, numbers, strict=True)), set(of_units)
    book.reserved = dict.fromkeys(reserved)
    book.plans = {label: SharePlan(tuple(shares), left) for label, shares, left in plans}
    book.looks = [
        Looked(at, by, look, spent, recorded, tuple((a, b, value) for a, b, value in variances), named)
        for at, by, look, spent, recorded, variances, named in looks
    ]
    book.added = {(number, key): reward for number, key, reward in added}
