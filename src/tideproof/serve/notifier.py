"""Waking those who follow the events of an experiment."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Iterator

from tideproof.serve.problem_details import Problem

PAUSE = 0.5  # seconds after which a follower looks for what other processes did


class Feed:
    """Who waits for news of which experiment; used by one event loop."""

    def __init__(self, most: int) -> None:
        self._most, self.followers = most, 0
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def news(self, name: str) -> None:
        """Wake all who wait for that experiment."""
        for each in self._waiting.get(name, ()):
            each.set()

    @property
    def full(self) -> bool:
        """Whether there are as many followers as there may be."""
        return self.followers >= self._most

    def check(self) -> None:
        """Raise if there are too many followers."""
        if self.full:
            raise Problem(
                503, f"{self._most} clients follow events already", "StoreError", {"Retry-After": "10"}
            )

    @contextlib.contextmanager
    def following(self) -> Iterator[None]:
        """Count one more follower."""
        self.followers += 1
        try:
            yield
        finally:
            self.followers -= 1

    async def wait(self, name: str, seconds: float = PAUSE) -> None:
        """Wait for news, or for so long."""
        woken = asyncio.Event()
        self._waiting[name].add(woken)
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(woken.wait(), seconds)
        finally:
            self._waiting[name].discard(woken)
            if not self._waiting[name]:
                del self._waiting[name]
