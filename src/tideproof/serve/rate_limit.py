"""Token-bucket rate limiter per caller."""

from __future__ import annotations

import math
import time
from collections import OrderedDict

MAX_CALLERS = 10_000  # callers whose buckets are remembered; the least recent one is dropped


class RateLimiter:
    """Rate limiter that gives each caller a token bucket.

    A bucket gets `rate` tokens per second, and contains at most `burst` tokens.

    By default, `burst` is two seconds' worth of tokens. Only one event loop may use it.
    """

    def __init__(self, rate: float, burst: float | None = None) -> None:
        self._rate, self._burst = rate, max(1.0, 2.0 * rate if burst is None else burst)
        self._tokens: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, count: float = 1.0) -> float:
        """Return for how many seconds a caller must wait, or 0 if the rate limit allows its request.

        If the wait is 0, `count` tokens are taken from the bucket of the caller.
        """
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
