"""Commands of several threads that are committed at once."""

from __future__ import annotations

import threading

from tideproof.experiment.events.event_records import Event
from tideproof.store.backend import Answer, Entry
from tideproof.store.hash_chain import entry
from tideproof.store.log_state import Position

MOST = 100  # commands in a group; other processes wait meanwhile


class Group:
    """What was done and not committed yet.

    Attributes
    ----------
    end : where the log will stand.
    entries, answers : what is to be kept.
    about : what the experiment says of itself, if that changed.
    commands : how many there were.
    over : whether somebody has tried to commit it.
    kept : whether it lasts; None while nobody knows.
    error : why nothing of it was kept; None where each may just try again.
    """

    def __init__(self, start: Position) -> None:
        self.end: Position = start
        self.entries: list[Entry] = []
        self.answers: dict[str, Answer] = {}
        self.about: str | None = None
        self.commands = 0
        self.over = False
        self.kept: bool | None = None
        self.error: Exception | None = None
        self._gate: threading.Event | None = None

    def gate(self) -> threading.Event:
        """Return what opens when it is over; to be called before that, by who is inside."""
        if self._gate is None:
            self._gate = threading.Event()
        return self._gate

    def end_here(self) -> None:
        """Say that somebody has tried."""
        self.over = True
        if self._gate is not None:
            self._gate.set()

    def add(self, event: Event, pulls: int, writer: bytes) -> None:
        """Put an event behind the others."""
        made = entry(event, self.end.seq + 1, pulls, writer, self.end.hash)
        self.entries.append(made)
        self.end = Position(made.seq, made.hash)
