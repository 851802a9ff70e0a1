"""Time limits for the rewards of pulls (leases), and default rewards when they end."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tideproof.checks import require_finite
from tideproof.errors import InputError, describe_value
from tideproof.experiment.reward_kinds import REWARD_KINDS
from tideproof.experiment.settings import ExperimentSettings
from tideproof.experiment.state.pulls_book import Book

EndOf = Callable[[float, float], float]

VISITOR_LEASE, VISITOR_RESERVE = 86_400.0, 600.0  # seconds: a day and ten minutes


def with_visitor_times(options: Mapping[str, Any]) -> dict[str, Any]:
    """Replace the shorthand option `visitors=True` of an experiment by the options it stands for.

    A lease, a reserve or a default that is given stays. A visitor without a reward counts as 0, except for
    normal rewards.

    >>> with_visitor_times({"visitors": True, "rewards": "money", "reserve": 60.0})
    {'rewards': 'money', 'reserve': 60.0, 'lease': 86400.0, 'default': 0.0}
    """
    found = {name: value for name, value in options.items() if name != "visitors"}
    visitors = options.get("visitors", False)
    if not isinstance(visitors, bool):
        raise InputError(f"visitors must be True or False, not {describe_value(visitors)}")
    if not visitors:
        return found
    if found.get("lease") is None:
        found["lease"] = VISITOR_LEASE
    if found.get("reserve") is None:
        lease = found["lease"]
        is_short = isinstance(lease, (int, float)) and lease < VISITOR_RESERVE
        found["reserve"] = lease if is_short else VISITOR_RESERVE
    kind = REWARD_KINDS.get(found.get("rewards", "normal"))
    if found.get("default") is None and kind is not None and not kind.normal:
        found["default"] = 0.0
    return found


class Lease(NamedTuple):
    """Time limits for showing the arm of a pull and for recording its reward.

    Attributes
    ----------
    seconds : seconds after which a pull expires.
    default : reward of an expired pull; None if an expired pull returns to the budget.
    reserve : seconds within which a unit must see its arm, before the pull is cancelled.
    """

    seconds: float = math.inf
    default: float | None = None
    reserve: float = math.inf

    def unseen_pulls(
        self, book: Book, now: float, end_of: EndOf = operator.add
    ) -> tuple[tuple[int, ...], float]:
        """Return the pulls whose arm was not shown to the visitor (or other unit) in time.

        Also return when to check again, the earliest time at which another pull can be too late. `end_of`
        returns the end of a time limit from its begin and its seconds.
        """
        unseen: list[int] = []
        for number in book.reserved:
            end = end_of(book.asked_at[number], self.reserve)
            if end > now:
                return tuple(unseen), end
            unseen.append(number)
        return tuple(unseen), now + self.reserve

    def expired_pulls(
        self, book: Book, now: float, end_of: EndOf = operator.add
    ) -> tuple[tuple[int, ...], float]:
        """Return the pending pulls whose reward did not arrive within the time limit.

        Also return the time at which to check again. `end_of` is as in `unseen_pulls`.
        """
        expired: list[int] = []
        for number in book.pending:
            end = end_of(book.asked_at[number], self.seconds)
            if end > now:
                return tuple(expired), end
            expired.append(number)
        return tuple(expired), now + self.seconds


def lease_of(settings: ExperimentSettings) -> Lease:
    """Return the time limits of pulls from the settings of an experiment."""
    found = checked_lease(settings.lease, settings.default, settings.reserve)
    return Lease(found.get("lease", math.inf), found.get("default"), found.get("reserve", math.inf))


def checked_lease(lease: Any, default: float | None, reserve: Any = None) -> dict[str, float]:
    """Validate the options of an experiment that limit the time until a reward, and return them.

    `default` must be a valid reward.
    """
    if lease is None:
        if default is not None:
            raise InputError(
                f"default={default!r} requires lease=: default is the reward of a pull whose lease (its time "
                f"limit in seconds) has ended"
            )
        if reserve is not None:
            raise InputError(
                f"reserve={reserve!r} requires lease=: reserve is the time within which expose(pull) must be "
                f"called, and lease the time within which the reward must arrive, both in seconds"
            )
        return {}
    seconds = require_finite("lease", lease)
    if seconds <= 0.0:
        raise InputError(f"lease must be a number of seconds above 0, not {lease!r}")
    found = {"lease": seconds} if default is None else {"lease": seconds, "default": default}
    if reserve is not None:
        found["reserve"] = require_finite("reserve", reserve)
        if not 0.0 < found["reserve"] <= seconds:
            raise InputError(
                f"reserve must be a number of seconds above 0 and at most lease ({seconds:g}), not "
                f"{reserve!r}"
            )
    return found
