"""Minimum number of events for a test of two arms: below it no arm is excluded.

For 0/1 rewards events are the ones, and the zeros. For amounts that are mostly 0, such as revenue, a few
large ones dominate. Their effective number is (sum r)^2/(sum r^2): the number of equal amounts whose sum is
as uncertain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells

FEWEST_EVENTS = 10  # Events (and non-events) of two arms needed to exclude one.
FEWEST_RARER_EVENTS = 2  # Expected events of the arm with less traffic, for amounts.
_RARE_SHARE = 0.5  # Amounts with a larger effective share of rewards are not rare.


class Events(NamedTuple):
    """Number of events of each arm in environments shared with other arms; unlimited if not countable.

    Attributes
    ----------
    kinds : (K, 2) number of ones and of zeros, for 0/1 rewards.
    amounts : (K, 3) number of rewards, their sum and their sum of squares, if most are 0.
    """

    kinds: Floats | None = None
    amounts: Floats | None = None

    def enough(self, i: int, k: int) -> bool:
        """Return True if two arms have enough events together for a test to exclude one of them."""
        if self.kinds is not None:
            return bool(np.all(self.kinds[i] + self.kinds[k] >= FEWEST_EVENTS))
        both, rarer = self.worth(i, k)
        return both >= FEWEST_EVENTS and rarer >= FEWEST_RARER_EVENTS

    def worth(self, i: int, k: int) -> tuple[float, float]:
        """Return the effective number of events of two arms, and the share of the arm with less traffic.

        The expected part is in proportion to traffic, as if the arms were equal; it is not the number that
        was observed.
        """
        if self.amounts is None:
            return np.inf, np.inf
        n, total, squares = (self.amounts[i] + self.amounts[k]).tolist()
        # Rounded so that ten equal amounts count as ten.
        both = round(total**2 / squares, 6) if squares else 0.0
        return both, both * float(self.amounts[self.rarer(i, k), 0]) / max(n, 1.0)

    def rarer(self, i: int, k: int) -> int:
        """Return the one of two arms that had less traffic."""
        return i if self.amounts is None or self.amounts[i, 0] < self.amounts[k, 0] else k


def count_events(c: Cells) -> Events:
    """Count the events of each arm in the environments that it shares with others."""
    met = np.where(c.compares[c.environment], c.n, 0.0)
    if c.binary:
        return Events(np.rint(np.column_stack([c.by_arm(met * c.mean), c.by_arm(met * (1.0 - c.mean))])))
    if c.low is None or np.min(c.low) != 0.0:
        return Events()
    inside = np.where(met > 0.0, c.squares, 0.0)
    amounts = np.column_stack([c.by_arm(x) for x in (met, met * c.mean, inside + met * c.mean**2)])
    n, total, squares = amounts.sum(axis=0).tolist()
    return Events(amounts=amounts) if total**2 < _RARE_SHARE * n * squares else Events()
