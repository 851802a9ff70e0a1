"""Interface between experiments and a database: Python protocols with a SQLite and a PostgreSQL backend.

Only one thread at a time may use a log; its owner ensures that. Every failure of the database, such as a full
disk or a lost connection, raises `StoreError`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from tideproof._version import __version__
from tideproof.errors import InputError, StoreError, UnknownName
from tideproof.store.chain_key import chain_key

MAX_CONNECTION_LOSSES = 5  # lost connections in one call after which the call fails

SCHEMA_VERSION = 5  # of the tables of every backend; raise it with every change to them
NO_TABLES = 0  # schema version of a database that contains no store


class ConnectionLost(StoreError):
    """Error: the database connection was lost during a transaction.

    The caller checks whether the transaction was committed and, if not, repeats it.
    """


class ExperimentDeleted(UnknownName):
    """Error: the experiment was deleted from the store while this process had it open."""

    def __init__(self) -> None:
        super().__init__("the experiment was deleted from the store")


class LogEntry(NamedTuple):
    """One row of an event log: an event as text, its number and its hash.

    Attributes
    ----------
    seq : number of the event: 1, 2, 3, without gaps.
    at : time of the event, in seconds since 1970.
    pulls : number of pulls that had been asked for after the command that wrote the event.
    record : the event as JSON, without what may be deleted later.
    erasable : what may be deleted later, and is therefore stored separately, or an empty string: the salt
    that the event sets for hashing units, or the hash of a unit, after the random number of its commitment.
    writer : random identifier of the open experiment that wrote the event.
    hash : hash of this entry and of the hash before it.
    """

    seq: int
    at: float
    pulls: int
    record: str
    erasable: str
    writer: bytes
    hash: bytes


class StoredAnswer(NamedTuple):
    """A command that was given with an idempotency key, and its result, both as JSON text.

    Attributes
    ----------
    key : the idempotency key.
    seq : number of events after the command.
    command : method, positional and keyword arguments.
    answer : null, the number of a pull, or a list of numbers of pulls.
    """

    key: str
    seq: int
    command: str
    answer: str


class Snapshot(NamedTuple):
    """Stored copy of an experiment's state after the first `seq` events of its log.

    Attributes
    ----------
    seq : number of events that the state includes.
    mark : fingerprint of the code that wrote the snapshot; only the same code can read it.
    hash : hash of event `seq`.
    contents : the packed state.
    """

    seq: int
    mark: str
    hash: bytes
    contents: bytes


MAX_SNAPSHOT_MARKS = 2  # number of code fingerprints whose snapshots are kept


def snapshot_digest(snapshot: Snapshot) -> bytes:
    """Return the checksum of a snapshot, which is stored beside it so that damage is detected."""
    return hashlib.blake2b(snapshot.contents, digest_size=16, key=snapshot.hash + chain_key()).digest()


class Writer(NamedTuple):
    """Writer of an event log, such as a process: its identifier and the version of its code.

    Attributes
    ----------
    writer : random identifier that each entry repeats.
    mark : fingerprint of the code that applied the events; empty if unknown.
    version : version of tideproof.
    """

    writer: bytes
    mark: str
    version: str


class ExperimentContents(NamedTuple):
    """Everything that a store contains about one experiment.

    Attributes
    ----------
    about : summary as JSON: arms, budget and policy.
    entries : the event log.
    answers : results of commands that were given with an idempotency key.
    writers : the writers of the entries.
    """

    about: str
    entries: Sequence[LogEntry]
    answers: Sequence[StoredAnswer]
    writers: Sequence[Writer]


class ExperimentListing(NamedTuple):
    """Summary of one experiment, for the list of all experiments in a store.

    Attributes
    ----------
    name : name of the experiment.
    about : its summary as JSON: arms, budget, policy, and the other keys of `summary_text`. Summaries of
    older versions have only these three.
    events : number of its events.
    pulls : number of its pulls.
    at : time of its last event.
    """

    name: str
    about: str
    events: int
    pulls: int
    at: float

    @property
    def settings(self) -> dict[str, Any]:
        """Arms, budget and policy of the experiment, or an error if the summary is damaged."""
        about = json.loads(self.about)
        return {name: about[name] for name in ("arms", "budget", "policy")}

    @property
    def is_archived(self) -> bool:
        """Whether the experiment is archived, so that lists omit it."""
        with suppress(ValueError, AttributeError):
            return json.loads(self.about).get("archived_at") is not None
        return False  # the summary is damaged


class ExperimentLog(Protocol):
    """Stored event log of one experiment, and the data that belong to it.

    These are the answers of commands with an idempotency key, the writers of the log, the salt for hashing
    units, and snapshots.
    """

    def read(self, after: int, upto: int | None = None) -> list[LogEntry]:
        """Return the committed entries of an event log that follow entry number `after`.

        With `upto`, entries with a number above `upto` are left out. The call never blocks writers. It raises
        `ExperimentDeleted` if the experiment was deleted.
        """
        ...

    def begin(self, waiting: Callable[[], None]) -> None:
        """Begin a database transaction that blocks other writers of the event log.

        While another writer has the lock, a backend may call `waiting` repeatedly.
        """
        ...

    def append(self, entries: Sequence[LogEntry], answers: Sequence[StoredAnswer], about: str | None) -> None:
        """Write new entries of the event log, as part of the open transaction.

        Also write results of commands and, if given, a new summary of the experiment.
        """
        ...

    def add_writer(self, writer: Writer) -> None:
        """Store the identifier of a process that writes the event log, and the fingerprint of its code.

        It is part of the open transaction.
        """
        ...

    def find_answer(self, key: str) -> StoredAnswer | None:
        """Return the stored result of the command with this idempotency key, or None."""
        ...

    def commit(self) -> None:
        """Commit the transaction, so that it survives a power failure."""
        ...

    def roll_back(self) -> None:
        """Roll back the open transaction; does nothing if none is open."""
        ...

    def read_snapshot(self, mark: str, upto: int | None = None) -> Snapshot | None:
        """Return the newest undamaged snapshot of an experiment's state, or None.

        Only snapshots that the code version `mark` wrote are considered.

        With `upto`, only snapshots that cover at most `upto` events are considered.
        """
        ...

    def last_snapshot_size(self, mark: str) -> int:
        """Return how many events the newest snapshot of an experiment's state includes.

        Only snapshots of the code version `mark` are considered; without one, the result is 0.
        """
        ...

    def read_salt(self, upto: int) -> str:
        """Return the salt with which unit IDs were hashed after event number `upto`.

        The result is "" if the salt was deleted.
        """
        ...

    def write_snapshot(self, snapshot: Snapshot) -> None:
        """Store a snapshot of an experiment's state, and delete older snapshots that it replaces.

        The call is a transaction of its own. For each of the last `MAX_SNAPSHOT_MARKS` code fingerprints, the
        newest snapshot is kept.
        """
        ...

    def read_writers(self) -> list[Writer]:
        """Return identifier and code fingerprint of every process that has written to the event log."""
        ...

    def read_answers(self) -> list[StoredAnswer]:
        """Return the stored results of all commands that had an idempotency key, sorted by key."""
        ...

    def read_marks(self) -> list[str]:
        """Return the code versions that wrote the stored snapshots of an experiment's state.

        The versions of damaged snapshots are included.
        """
        ...

    def close(self) -> None:
        """Close the connection to the database; the next call opens a new one."""
        ...


class Backend(Protocol):
    """A database that contains experiments and the tables of the HTTP service."""

    def log(self, name: str) -> ExperimentLog | None:
        """Return the event log of the experiment with this name, or None if there is none."""
        ...

    def create(self, name: str, contents: ExperimentContents) -> tuple[ExperimentLog, bool]:
        """Create an experiment unless its name is taken, in one transaction.

        Return the event log under that name, and whether this call created it. Of several calls at the same
        time, in any process, exactly one creates the experiment.
        """
        ...

    def import_experiment(self, name: str, whole: ExperimentContents) -> None:
        """Create an experiment with all of its contents, in one transaction.

        A name that is already taken raises `InputError`.
        """
        ...

    def delete_experiment(self, name: str) -> None:
        """Delete everything that the store contains about an experiment, in one transaction.

        An unknown name raises `UnknownName`.
        """
        ...

    def list_experiments(self) -> list[ExperimentListing]:
        """Return the name and a summary of every experiment in a store, sorted by name."""
        ...

    def find_faults(self) -> list[str]:
        """Check the database itself and return a sentence for each fault."""
        ...

    def execute(self, sql: str, values: Sequence[Any]) -> list[Any]:
        """Run one SQL statement in a transaction of its own and return its rows.

        The HTTP service uses it for its own tables, such as API keys. `?` marks a value, and `~` comes before
        the name of each table.
        """
        ...

    def close(self) -> None:
        """Close the connection to the database."""
        ...


def check_schema_version(name: str, version: int) -> None:
    """Raise `InputError` unless a store has the table format that this version of tideproof uses."""
    if version == NO_TABLES:
        raise InputError(f"{name!r} has no experiments yet: tp.Experiment.open(url, name, arms) creates one")
    if version != SCHEMA_VERSION:
        remedy = (
            "install a newer version of tideproof"
            if version > SCHEMA_VERSION
            else "export each experiment with the version that wrote the store (`tideproof export`), then "
            "import it into a new store (`tideproof import`)"
        )
        raise InputError(
            f"{name!r} has version {version} of the store schema, but tideproof {__version__} reads only "
            f"version {SCHEMA_VERSION}: {remedy}"
        )
