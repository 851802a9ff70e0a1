"""The events of an experiment, of which the oldest are read only if somebody wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableSequence
from typing import Any

from tideproof.experiment.events.event_records import Event


class Happened(MutableSequence[Event]):
    """A list of events, the first `past` of them elsewhere until one of them is looked at."""

    def __init__(
        self, events: Iterable[Event] = (), past: int = 0, read: Callable[[], list[Event]] | None = None
    ) -> None:
        self._events, self._past, self._read = list(events), past, read
        self._before: list[Event] | None = None if past else []

    def _all(self) -> list[Event]:
        if not self._past:
            return self._events
        if self._before is None:
            assert self._read is not None
            self._before = self._read()
        return self._before + self._events

    def __len__(self) -> int:
        return self._past + len(self._events)

    def __getitem__(self, place: Any) -> Any:
        if not self._past:
            return self._events[place]
        if isinstance(place, int):
            if place >= self._past:
                return self._events[place - self._past]
            return self._before[place] if self._before and place >= 0 else self._all()[place]
        if place.start is not None and place.start >= self._past and place.stop is None:
            return self._events[place.start - self._past :]
        return self._all()[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        if self._past:
            known = self._all()
            known[place] = value
            self._before, self._events = known[: self._past], known[self._past :]
        else:
            self._events[place] = value

    def __delitem__(self, place: Any) -> None:
        del self._events[place]  # the newest only

    def insert(self, index: int, value: Event) -> None:
        """Put an event behind all others."""
        assert index == len(self)
        self._events.append(value)

    def append(self, value: Event) -> None:
        """Add the newest event."""
        self._events.append(value)
