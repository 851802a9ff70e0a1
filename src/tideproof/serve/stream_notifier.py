"""Notification of event streams when an experiment has new events."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator

from tideproof.serve.problem_details import Problem

PAUSE = 0.5  # seconds after which a stream checks for events of other processes


class Notifier:
    """Registry of the event streams that wait for new events of experiments.

    Only one event loop may use it.
    """

    def __init__(self, most: int) -> None:
        self.max_streams, self.open_streams = most, 0
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def notify(self, name: str) -> None:
        """Wake all event streams that wait for new events of this experiment."""
        for each in self._waiting.get(name, ()):
            each.set()

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of event streams is open."""
        return self.open_streams >= self.max_streams

    def check(self) -> None:
        """Raise an HTTP error with status 503 if the maximum number of event streams is open."""
        if self.is_full:
            raise Problem(
                503,
                f"{self.open_streams} event streams are open, and at most {self.max_streams} are allowed: "
                f"retry later",
                "StoreError",
                {"Retry-After": "10"},
            )

    @contextlib.contextmanager
    def count_stream(self) -> Iterator[None]:
        """Count one more open event stream for the duration of a `with` block."""
        self.open_streams += 1
        try:
            yield
        finally:
            self.open_streams -= 1

    async def wait(self, name: str, seconds: float = PAUSE) -> None:
        """Wait until the experiment has new events, but at most `seconds` seconds."""
        event = asyncio.Event()
        self._waiting[name].add(event)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(event.wait(), seconds)
        finally:
            self._waiting[name].discard(event)
            if not self._waiting[name]:
                del self._waiting[name]
