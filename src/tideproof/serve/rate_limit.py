"""How often somebody may come: a bucket of tokens for each, that fills again."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

MOST = 10_000  # who are remembered


class Buckets:
    """A rate for each caller, and twice a second's worth at once; used by one event loop."""

    def __init__(self, rate: float, burst: float | None = None) -> None:
        self._rate, self._burst = rate, max(1.0, 2.0 * rate if burst is None else burst)
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str, count: float = 1.0) -> float:
        """Take a token, and return 0; or return the seconds after which there is one."""
        now = time.monotonic()
        left, at = self._left.pop(who, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._rate)
        wait = 0.0 if left >= count else (count - left) / self._rate
        self._left[who] = (left if wait else left - count), now
        if len(self._left) > MOST:
            self._left.popitem(last=False)
        return wait


def seconds(wait: float) -> dict[str, str]:
    """Return the header that says when to come again."""
    return {"Retry-After": str(max(1, math.ceil(wait)))}
