"""Minimum and maximum shares of arms among the pulls, such as at least 20 % for a control arm."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tideproof.checks import require_finite
from tideproof.errors import InputError, UnknownName

_ROUNDING = 1e-9  # in pulls: the floating-point product 0.1 * 30 is a little more than 3


class ShareBounds(NamedTuple):
    """Minimum and maximum shares of the pulls, by arm number; they are 0 and 1 where none is given."""

    minimum_shares: dict[int, float]
    maximum_shares: dict[int, float]

    def __bool__(self) -> bool:
        return bool(self.minimum_shares or self.maximum_shares)

    def rule(self, asked: Sequence[int], active: Sequence[int]) -> Callable[[int], int]:
        """Return a function that replaces the policy's chosen arm if a minimum or maximum share requires it.

        If an arm has fewer pulls than its minimum share of all pulls including the next one, the arm with the
        largest shortfall is played. Otherwise the chosen arm is played, unless it has reached its maximum
        share, rounded up to whole pulls; then the least-played arm below its maximum is. Ties go to the first
        arm.

        Parameters
        ----------
        asked
            Number of pulls of each arm so far, including retired arms.
        active
            Numbers of the arms that may be played.

        Examples
        --------
        >>> play = ShareBounds({0: 0.25}, {2: 0.5}).rule([0, 0, 0], [0, 1, 2])
        >>> [play(2) for _ in range(8)]
        [0, 2, 2, 1, 0, 2, 2, 1]
        """
        counts = list(asked)

        def play(arm: int) -> int:
            total = sum(counts) + 1
            shortfall, negative_arm = max(
                (self.minimum_shares.get(a, 0.0) * total - counts[a], -a) for a in active
            )
            if shortfall > _ROUNDING:
                arm = -negative_arm
            elif self._full(arm, counts, total):
                arm = min((counts[a], a) for a in active if not self._full(a, counts, total))[1]
            counts[arm] += 1
            return arm

        return play

    def _full(self, arm: int, counts: Sequence[int], total: int) -> bool:
        return counts[arm] >= math.ceil(self.maximum_shares.get(arm, 1.0) * total - _ROUNDING)

    def check(self, active: Iterable[int], names: Sequence[str]) -> None:
        """Raise an error if the maximum shares of these arms add up to less than 1."""
        largest = {names[a]: self.maximum_shares.get(a, 1.0) for a in active}
        if sum(largest.values()) < 1.0 - _ROUNDING:
            raise InputError(
                f"maximum_shares of the active arms must add up to at least 1, "
                f"not {sum(largest.values()):g}: {largest}"
            )


def checked_bounds(minimum_shares: Any, maximum_shares: Any, arms: Sequence[str]) -> ShareBounds:
    """Convert the arm names of minimum and maximum shares to arm numbers, or raise an error."""
    low = _shares_by_number("minimum_shares", minimum_shares, arms)
    high = _shares_by_number("maximum_shares", maximum_shares, arms)
    for arm, share in high.items():
        if low.get(arm, 0.0) > share:
            raise InputError(
                f"the minimum share of {arms[arm]!r} must be at most its maximum share {share:g}, "
                f"not {low[arm]:g}"
            )
    if sum(low.values()) > 1.0 + _ROUNDING:
        raise InputError(f"minimum_shares must add up to at most 1, not {sum(low.values()):g}")
    found = ShareBounds(low, high)
    found.check(range(len(arms)), arms)
    return found


def _shares_by_number(name: str, given: Any, arms: Sequence[str]) -> dict[int, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"{name} must map arms to shares, such as {{{arms[0]!r}: 0.2}}, not {given!r}")
    shares = {}
    for arm, value in given.items():
        if arm not in arms:
            raise UnknownName.with_suggestion("arm", arm, arms)
        share = require_finite(f"{name}[{arm!r}]", value)
        if not 0.0 <= share <= 1.0:
            raise InputError(f"{name}[{arm!r}] must be from 0 to 1, not {value!r}")
        shares[arms.index(arm)] = share
    return shares
