"""Interface between experiments and a database: the protocols that SQLite and PostgreSQL implement.

Only one thread at a time may use a log; its owner ensures that. Every failure of the database, such as a full
disk or a lost connection, raises `StoreError`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from tideproof._version import __version__
from tideproof.errors import InputError, StoreError

MAX_CONNECTION_LOSSES = 5  # lost connections in one call after which the call fails

SCHEMA_VERSION = 3  # of the tables of every backend; raise it with every change to them
NO_TABLES = 0  # version of a database without a store


class ConnectionLost(StoreError):
    """The connection was lost during a transaction.

    The caller checks whether the transaction was committed and, if not, repeats it.
    """


class LogEntry(NamedTuple):
    """One row of an event log: an event as text, its number and its hash.

    Attributes
    ----------
    seq : number of the event: 1, 2, 3, without gaps.
    at : time of the event, in seconds since 1970.
    pulls : number of pulls that had been asked for after the command that wrote the event.
    record : the event as JSON, without its salt.
    salt : the salt that the event sets for hashing units, or an empty string. It is stored separately because
    it may be deleted.
    writer : random identifier of the open experiment that wrote the event.
    hash : hash of this entry and of the hash before it.
    """

    seq: int
    at: float
    pulls: int
    record: str
    salt: str
    writer: bytes
    hash: bytes


class StoredAnswer(NamedTuple):
    """A command that was given with an idempotency key, and its answer, both as text."""

    key: str
    seq: int
    command: str
    answer: str


class Snapshot(NamedTuple):
    """Stored copy of the state after the first `seq` events.

    Attributes
    ----------
    seq : number of events that the state includes.
    mark : identifies the code that wrote the snapshot; only the same code can read it.
    hash : hash of event `seq`.
    contents : the packed state.
    """

    seq: int
    mark: str
    hash: bytes
    contents: bytes


MAX_SNAPSHOT_MARKS = 2  # number of code versions whose snapshots are kept


def snapshot_digest(snapshot: Snapshot) -> bytes:
    """Return the checksum of a snapshot, which is stored beside it so that damage is detected."""
    return hashlib.blake2b(snapshot.contents, digest_size=16, key=snapshot.hash).digest()


class Writer(NamedTuple):
    """An open experiment that wrote entries: its identifier, the mark of its code and its version."""

    writer: bytes
    mark: str
    version: str


class ExperimentContents(NamedTuple):
    """Everything that a store contains about one experiment: summary, entries, answers and writers."""

    about: str
    entries: Sequence[LogEntry]
    answers: Sequence[StoredAnswer]
    writers: Sequence[Writer]


class ExperimentListing(NamedTuple):
    """One experiment in the list of a store.

    Attributes
    ----------
    name : name of the experiment.
    about : its summary as JSON: arms, budget and policy.
    events : number of its events.
    pulls : number of its pulls.
    at : time of its last event.
    """

    name: str
    about: str
    events: int
    pulls: int
    at: float


class ExperimentLog(Protocol):
    """Event log of one experiment, with its answers, writers, salts and snapshots."""

    def read(self, after: int, upto: int | None = None) -> list[LogEntry]:
        """Return the committed entries after number `after`, up to `upto`, without blocking writers."""
        ...

    def begin(self, waiting: Callable[[], None]) -> None:
        """Begin a transaction that blocks all other writers; call `waiting` while another one blocks it."""
        ...

    def append(self, entries: Sequence[LogEntry], answers: Sequence[StoredAnswer], about: str | None) -> None:
        """Add entries and answers within the transaction; `about`, unless None, replaces the summary."""
        ...

    def add_writer(self, writer: Writer) -> None:
        """Register a writer within the transaction."""
        ...

    def find_answer(self, key: str) -> StoredAnswer | None:
        """Return the answer that was stored under an idempotency key, or None."""
        ...

    def commit(self) -> None:
        """Commit the transaction, so that it survives a power failure."""
        ...

    def roll_back(self) -> None:
        """Roll back the open transaction; does nothing if none is open."""
        ...

    def read_snapshot(self, mark: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest undamaged snapshot with this mark and at most `upto` events, or None."""
        ...

    def last_snapshot_size(self, mark: str) -> int:
        """Return the number of events of the newest snapshot with this mark, or 0 if there is none."""
        ...

    def read_salt(self, upto: int) -> str:
        """Return the salt that the last event up to `upto` set, or an empty string if it was deleted."""
        ...

    def write_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot in a transaction of its own, and delete the older ones with the same mark."""
        ...

    def read_writers(self) -> list[Writer]:
        """Return all writers of the log."""
        ...

    def read_answers(self) -> list[StoredAnswer]:
        """Return all stored answers, sorted by idempotency key."""
        ...

    def read_marks(self) -> list[str]:
        """Return the marks of all snapshots, including damaged ones."""
        ...

    def close(self) -> None:
        """Close the connection to the database; the next call opens it again."""
        ...


class Backend(Protocol):
    """A database that contains experiments and the tables of a service."""

    def log(self, name: str) -> ExperimentLog | None:
        """Return the event log of the experiment with this name, or None if there is none."""
        ...

    def create(self, name: str, about: str, first: LogEntry, writer: Writer) -> ExperimentLog:
        """Create an experiment with one entry and return its log, or the log of that name if there is one."""
        ...

    def import_experiment(self, name: str, whole: ExperimentContents) -> None:
        """Create an experiment with all of its contents, in one transaction.

        A name that is already taken raises `InputError`.
        """
        ...

    def list_experiments(self) -> list[ExperimentListing]:
        """Return all experiments, sorted by name."""
        ...

    def find_faults(self) -> list[str]:
        """Check the database itself and return a sentence for each fault."""
        ...

    def execute(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run one SQL statement in a transaction of its own and return its rows.

        It serves the tables of a service, which contain no experiments. `?` marks a value, and `~` comes
        before the name of each table.
        """
        ...

    def close(self) -> None:
        """Close the connection to the database."""
        ...


def check_schema_version(name: str, version: int) -> None:
    """Raise `InputError` unless a store has the schema version that this tideproof reads and writes."""
    if version == NO_TABLES:
        raise InputError(f"{name!r} has no experiments yet: tp.Experiment.open(url, name, arms) creates one")
    if version != SCHEMA_VERSION:
        remedy = (
            "install a newer version of tideproof"
            if version > SCHEMA_VERSION
            else "export with the version that wrote it (`tideproof export`), import into a new store"
        )
        raise InputError(
            f"{name!r} has version {version} of the store schema, but tideproof {__version__} reads only "
            f"version {SCHEMA_VERSION}: {remedy}"
        )
