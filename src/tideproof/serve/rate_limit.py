"""Token-bucket rate limiter per caller."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

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


def caller_address(scope: Mapping[str, Any]) -> str:
    """Return the client address of a request, by which requests are counted.

    Behind a trusted proxy it is the address that the proxy names.
    """
    client = scope.get("client")
    return address_group(client[0]) if client else "nowhere"


def address_group(host: str) -> str:
    """Return the part of an IP address that identifies a client: 64 bits of an IPv6 address.

    >>> address_group("192.0.2.7"), address_group("2001:db8::5:1"), address_group("testclient")
    ('192.0.2.7', '2001:db8::/64', 'testclient')
    """
    try:
        found = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.IPv6Network((found, 64), strict=False))
    return str(found)
