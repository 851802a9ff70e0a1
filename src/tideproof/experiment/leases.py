"""Leases: how long a reward may take, and what a pull has got if none came."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from tideproof.checks import require_finite
from tideproof.errors import InputError
from tideproof.experiment.state.pulls_book import Book


class Lease(NamedTuple):
    """How long pulls may be out.

    Attributes
    ----------
    seconds : until a pull expires.
    default : the reward it has then; None if it returns to the budget.
    reserve : seconds in which a unit must have seen its pull, or it is taken back.
    """

    seconds: float = math.inf
    default: float | None = None
    reserve: float = math.inf

    def unseen(self, book: Book, now: float) -> tuple[tuple[int, ...], float]:
        """Return the pulls that no unit saw in time, and a time before which no other will be one of them."""
        over: list[int] = []
        for number in book.reserved:
            end = book.asked_at[number] + self.reserve
            if end > now:
                return tuple(over), end
            over.append(number)
        return tuple(over), now + self.reserve

    def overdue(self, book: Book, now: float) -> tuple[tuple[int, ...], float]:
        """Return the pulls whose time is over, and a time before which no other's will be."""
        over: list[int] = []
        for number in book.out:
            end = book.asked_at[number] + self.seconds
            if end > now:
                return tuple(over), end
            over.append(number)
        return tuple(over), now + self.seconds


def lease_of(options: Mapping[str, Any]) -> Lease:
    """Return the lease among the options of an experiment."""
    found = checked_lease(options.get("lease"), options.get("default"), options.get("reserve"))
    return Lease(found.get("lease", math.inf), found.get("default"), found.get("reserve", math.inf))


def checked_lease(lease: Any, default: float | None, reserve: Any = None) -> dict[str, float]:
    """Return a lease as options, or say what is allowed; the default is a reward that was checked."""
    if lease is None:
        if default is not None:
            raise InputError(f"default={default!r} is for pulls that expire: it needs a lease in seconds")
        if reserve is not None:
            raise InputError(f"reserve={reserve!r} is for rewards with a window: it needs a lease in seconds")
        return {}
    seconds = require_finite("lease", lease, 0.0)
    if seconds == 0.0:
        raise InputError(f"lease must be a number of seconds above 0, not {lease!r}")
    found = {"lease": seconds} if default is None else {"lease": seconds, "default": default}
    if reserve is not None:
        found["reserve"] = require_finite("reserve", reserve, 0.0)
        if not 0.0 < found["reserve"] <= seconds:
            raise InputError(
                f"reserve must be seconds above 0 and at most the lease, {seconds:g}, not {reserve!r}"
            )
    return found
