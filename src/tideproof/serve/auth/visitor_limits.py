"""Limit of the number of new visitors that public API keys may add to an experiment."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict

from tideproof.serve.auth.api_keys import Key
from tideproof.serve.problem_details import Problem
from tideproof.serve.rate_limit import RateLimiter, retry_after_header
from tideproof.serve.service_settings import Settings
from tideproof.text import format_count

REMEMBERED = 86_400.0  # seconds for which refused visitors are shown on the page of an experiment
MAX_NAMES = 1000  # experiments whose refused visitors are remembered


class VisitorLimiter:
    """Limiter of the new visitors per minute that public API keys add to experiments.

    One limit is for each experiment, the other for each address. Calls are thread-safe.
    """

    def __init__(self, settings: Settings) -> None:
        self._most, self._most_per_address = (
            settings.new_visitors_per_minute,
            settings.address_new_visitors_per_minute,
        )
        self._experiments = RateLimiter(self._most / 60.0, self._most)
        self._addresses = RateLimiter(self._most_per_address / 60.0, self._most_per_address)
        self._lock = threading.Lock()
        self._refused: OrderedDict[str, tuple[int, float]] = OrderedDict()  # count, and time of the last one

    def check(self, name: str, key: Key, address: str) -> None:
        """Count a new visitor of an experiment, or raise an HTTP error if there are too many.

        Only public keys are limited.
        """
        if not key.is_public:
            return
        with self._lock:
            wait = self._addresses.take(f"{address} {name}") or self._experiments.take(name)
            if not wait:
                return
            count = self._refused.pop(name, (0, 0.0))[0]
            self._refused[name] = count + 1, time.monotonic()
            if len(self._refused) > MAX_NAMES:
                self._refused.popitem(last=False)
        raise Problem(
            429,
            f"public keys may bring at most {self._most:g} new visitors per minute into an experiment, and "
            f"{self._most_per_address:g} from one address: retry later",
            headers=retry_after_header(wait),
        )

    def warnings(self, name: str) -> list[str]:
        """Return a warning for an experiment's web page if visitors were refused lately."""
        count, at = self._refused.get(name, (0, 0.0))
        if not count or time.monotonic() - at > REMEMBERED:
            return []
        return [
            f"{format_count(count, 'new visitor')} of public keys {'was' if count == 1 else 'were'} not "
            f"admitted, because there were more than {self._most:g} per minute, or more than "
            f"{self._most_per_address:g} from one address. If visitors are invented, revoke the key; "
            f"if they are real, raise TIDEPROOF_NEW_VISITORS_PER_MINUTE."
        ]
