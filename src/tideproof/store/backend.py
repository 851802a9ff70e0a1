"""A place where the events of experiments live: what `sqlite`, and any other database, must be able to do.

A log is used by one thread at a time; its owner sees to that. Whatever fails because of the place, such as a
full disk or a lost connection, raises `StoreError`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from tideproof.errors import StoreError

LOSSES = 5  # of a connection, in one call, after which it is given up

# What somebody is told who only reads
OLDER = "{!r} has schema {} of a store: Experiment.open(url, name, arms) brings it up to date"


class Lost(StoreError):
    """A connection was lost in a transaction: unless that was kept, which can be looked up, do it again."""


class Entry(NamedTuple):
    """One event as it is kept.

    Attributes
    ----------
    seq : its number: 1, 2, 3, without gaps.
    at : when it happened.
    pulls : how many pulls had been asked for after the command that it belongs to.
    record : the event as text, without a salt.
    salt : of an event that says what units are hashed with; kept apart, for it may be deleted.
    writer : who wrote it: random, of one opened experiment.
    hash : of the entry and the one before.
    """

    seq: int
    at: float
    pulls: int
    record: str
    salt: str
    writer: bytes
    hash: bytes


class Answer(NamedTuple):
    """What a command with an idempotency key was, and what it answered; both as text."""

    key: str
    seq: int
    command: str
    answer: str


class Snapshot(NamedTuple):
    """What the first `seq` events add up to, by code with that mark; `hash` is that of the last of them."""

    seq: int
    mark: str
    hash: bytes
    contents: bytes


MARKS = 2  # kinds of code whose snapshots are kept


def digest(snapshot: Snapshot) -> bytes:
    """Return what is kept beside a snapshot, so that one that is not whole is not believed."""
    return hashlib.blake2b(snapshot.contents, digest_size=16, key=snapshot.hash).digest()


class Writer(NamedTuple):
    """Who wrote entries: the mark of its code, and the version of tideproof."""

    writer: bytes
    mark: str
    version: str


class Whole(NamedTuple):
    """All of an experiment: what it says of itself, its entries, answers, and who wrote them."""

    about: str
    entries: Sequence[Entry]
    answers: Sequence[Answer]
    writers: Sequence[Writer]


class Listed(NamedTuple):
    """An experiment in a list: `about` is what it says of itself, as text; `at` that of the last event."""

    name: str
    about: str
    events: int
    pulls: int
    at: float


class ExperimentLog(Protocol):
    """The events of one experiment, and what is kept beside them."""

    def read(self, after: int, upto: int | None = None) -> list[Entry]:
        """Return the entries behind number `after`, in order, committed ones only; locks nobody out."""
        ...

    def begin(self, waiting: Callable[[], None]) -> None:
        """Begin a transaction that locks out all other writers; `waiting` is called while others write."""
        ...

    def append(self, entries: Sequence[Entry], answers: Sequence[Answer], about: str | None) -> None:
        """Add entries and answers in the transaction; `about` replaces what it says of itself."""
        ...

    def sign(self, writer: Writer) -> None:
        """Say in the transaction who writes."""
        ...

    def answer(self, key: str) -> Answer | None:
        """Return what was answered under a key."""
        ...

    def commit(self) -> None:
        """Make the transaction last, also where the power fails."""
        ...

    def roll_back(self) -> None:
        """Forget the transaction, if there is one; never raises where there is none."""
        ...

    def snapshot(self, mark: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest whole snapshot of that mark, if there is one."""
        ...

    def last_snapshot(self, mark: str) -> int:
        """Return how many events the newest snapshot of that mark has; 0 if there is none."""
        ...

    def salt(self, upto: int) -> str:
        """Return the salt that the last event up to that number set; empty if there is none any more."""
        ...

    def keep(self, snapshot: Snapshot) -> None:
        """Write a snapshot, in a transaction of its own, instead of older ones of its mark."""
        ...

    def writers(self) -> list[Writer]:
        """Return all who wrote."""
        ...

    def answers(self) -> list[Answer]:
        """Return what was answered under all keys, by key."""
        ...

    def marks(self) -> list[str]:
        """Return the marks of all snapshots, whole or not."""
        ...

    def close(self) -> None:
        """Let go of the database; it is opened again when it is needed."""
        ...


class Backend(Protocol):
    """A database."""

    def log(self, name: str) -> ExperimentLog | None:
        """Return the log of an experiment, None if there is none of that name."""
        ...

    def create(self, name: str, about: str, first: Entry, writer: Writer) -> ExperimentLog:
        """Return the log of a new experiment that has this entry, or that of the same name."""
        ...

    def put(self, name: str, whole: Whole) -> None:
        """Begin an experiment with all of this, or nothing of it; a name that is there is an InputError."""
        ...

    def listed(self) -> list[Listed]:
        """Return all experiments, by name."""
        ...

    def faults(self) -> list[str]:
        """Return what is wrong with the database itself, a sentence each."""
        ...

    def statement(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run one statement by itself, and return its rows: for tables beside the experiments.

        Values are `?`, and a `~` stands before the name of each table.
        """
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...
