"""Token-bucket rate limiter per caller."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

MAX_CALLERS = 10_000  # callers whose buckets are remembered; the least recent one is dropped


class RateLimiter:
    """Rate limiter with a token bucket for each caller: `rate` tokens per second, at most `burst` at once.

    By default, `burst` is two seconds' worth of tokens. Only one event loop may use it.
    """

    def __init__(self, rate: float, burst: float | None = None) -> None:
        self._rate, self._burst = rate, max(1.0, 2.0 * rate if burst is None else burst)
        self._tokens: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, count: float = 1.0) -> float:
        """Take rate-limit tokens of a caller and return 0, or return the seconds until there are enough."""
        now = time.monotonic()
        tokens, at = self._tokens.pop(caller, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        wait = 0.0 if tokens >= count else (count - tokens) / self._rate
        self._tokens[caller] = (tokens if wait else tokens - count), now
        if len(self._tokens) > MAX_CALLERS:
            self._tokens.popitem(last=False)
        return wait


def retry_after_header(wait: float) -> dict[str, str]:
    """Return a Retry-After header for a wait in seconds."""
    return {"Retry-After": str(max(1, math.ceil(wait)))}
