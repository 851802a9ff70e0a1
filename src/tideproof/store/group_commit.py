"""Group commit: commands of several threads that share one transaction."""

from __future__ import annotations

import threading

from tideproof.experiment.events.event_records import Event
from tideproof.store.backend import LogEntry, StoredAnswer
from tideproof.store.hash_chain import make_entry
from tideproof.store.log_replay import Position

MAX_COMMANDS = 100  # maximum number of commands in a group; other processes wait until it is committed


class CommitGroup:
    """Commands of several threads whose events are committed in one transaction.

    Attributes
    ----------
    end : position in the log after the events of the group.
    entries, answers : entries and answers that the commit writes.
    about : the new summary of the experiment, or None if it has not changed.
    commands : number of commands in the group.
    finished : whether a thread has tried to commit the group.
    committed : whether the group was committed; None while that is unknown.
    error : error that made the commit fail; None if each command may simply be repeated.
    """

    def __init__(self, start: Position) -> None:
        self.end: Position = start
        self.entries: list[LogEntry] = []
        self.answers: dict[str, StoredAnswer] = {}
        self.about: str | None = None
        self.commands = 0
        self.finished = False
        self.committed: bool | None = None
        self.error: Exception | None = None
        self._finished_event: threading.Event | None = None

    def finished_event(self) -> threading.Event:
        """Return the `threading.Event` with which threads wait for the commit of their commands.

        It is set once the commit was attempted.

        Only a thread that holds the lock of the experiment may call it.
        """
        if self._finished_event is None:
            self._finished_event = threading.Event()
        return self._finished_event

    def finish(self) -> None:
        """Mark a group of commands as finished, and wake the threads that wait for its commit."""
        self.finished = True
        if self._finished_event is not None:
            self._finished_event.set()

    def add(self, event: Event, pulls: int, writer: bytes) -> None:
        """Add an event, as a log entry, to the group of commands that are committed together."""
        entry = make_entry(event, self.end.seq + 1, pulls, writer, self.end.hash)
        self.entries.append(entry)
        self.end = Position(entry.seq, entry.hash)
