"""Had two arms enough events for a test to exclude one of them? Of a handful no law of their sum is known.

Of 0/1 rewards events are the ones, and the zeros. Of amounts that are mostly 0 (money of a few buyers) a few
large ones decide: (sum r)^2/(sum r^2) is how many equal ones would make a sum that is as uncertain.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats
from tideproof.stats.cells import Cells

HANDFUL = 10  # events (and non-events) of two arms together, below which no arm is excluded
RARER = 2  # of them that the arm with less traffic should have had, where events are amounts
_MOSTLY = 0.5  # of the rewards: amounts that are worth as many equal ones, or more, are not mostly 0


class Events(NamedTuple):
    """The events of each arm where it met another; infinitely many where rewards are not of these kinds.

    Attributes
    ----------
    kinds : (K, 2) ones and zeros of 0/1 rewards.
    amounts : (K, 3) number of rewards, their sum and that of their squares, if most are 0.
    """

    kinds: Floats | None = None
    amounts: Floats | None = None

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms had enough events for a test to exclude one of them."""
        if self.kinds is not None:
            return bool(np.all(self.kinds[i] + self.kinds[k] >= HANDFUL))
        both, rarer = self.worth(i, k)
        return both >= HANDFUL and rarer >= RARER

    def worth(self, i: int, k: int) -> tuple[float, float]:
        """Return how many equal rewards those of two arms are worth, and how many the one with less traffic.

        The latter by traffic: what it should have had if both are alike, not what it had.
        """
        if self.amounts is None:
            return np.inf, np.inf
        n, total, squares = (self.amounts[i] + self.amounts[k]).tolist()
        both = round(total**2 / squares, 6) if squares else 0.0  # ten equal ones are ten
        return both, both * float(self.amounts[self.rarer(i, k), 0]) / max(n, 1.0)

    def rarer(self, i: int, k: int) -> int:
        """Return which of two arms had less traffic."""
        return i if self.amounts is None or self.amounts[i, 0] < self.amounts[k, 0] else k


def events_of(c: Cells) -> Events:
    """Count events where arms met others."""
    met = np.where(c.compares[c.environment], c.n, 0.0)
    if c.binary:
        return Events(np.rint(np.column_stack([c.by_arm(met * c.mean), c.by_arm(met * (1.0 - c.mean))])))
    if c.low is None or np.min(c.low) != 0.0:
        return Events()
    inside = np.where(met > 0.0, c.squares, 0.0)
    amounts = np.column_stack([c.by_arm(x) for x in (met, met * c.mean, inside + met * c.mean**2)])
    n, total, squares = amounts.sum(axis=0).tolist()
    return Events(amounts=amounts) if total**2 < _MOSTLY * n * squares else Events()
