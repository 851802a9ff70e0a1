"""The event log: a list of events whose oldest part is read from storage only when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableSequence
from typing import Any

from tideproof.experiment.events.event_records import Event


class EventLog(MutableSequence[Event]):
    """List of an experiment's events; the oldest are read from storage only when needed.

    These are the first `past` events. `read` is the function that reads them.
    """

    def __init__(
        self, events: Iterable[Event] = (), past: int = 0, read: Callable[[], list[Event]] | None = None
    ) -> None:
        self._events, self._past, self._read = list(events), past, read
        self._past_events: list[Event] | None = None if past else []

    def _all(self) -> list[Event]:
        if not self._past:
            return self._events
        if self._past_events is None:
            assert self._read is not None
            self._past_events = self._read()
        return self._past_events + self._events

    def __len__(self) -> int:
        return self._past + len(self._events)

    def __getitem__(self, index: Any) -> Any:
        if not self._past:
            return self._events[index]
        if isinstance(index, int):
            if index >= self._past:
                return self._events[index - self._past]
            return self._past_events[index] if self._past_events and index >= 0 else self._all()[index]
        if index.start is not None and index.start >= self._past and index.stop is None:
            return self._events[index.start - self._past :]
        return self._all()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if self._past:
            known = self._all()
            known[index] = value
            self._past_events, self._events = known[: self._past], known[self._past :]
        else:
            self._events[index] = value

    def __delitem__(self, index: Any) -> None:
        del self._events[index]  # only the newest events are ever removed

    def insert(self, index: int, value: Event) -> None:
        """Insert an event, which is possible only at the end of the event log."""
        assert index == len(self)
        self._events.append(value)

    def append(self, value: Event) -> None:
        """Add an event at the end of the event log."""
        self._events.append(value)
