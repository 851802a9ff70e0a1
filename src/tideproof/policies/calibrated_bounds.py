"""The bounds of the calibrated rule: at which tail probability a run that is looked at all the time may stop.

Two arms that tie ahead of the others are the least favourable world: every stop is wrong there. Looks at
every pull are then looks at a process that is stationary in the logarithm of time, so that wrong stops grow
with the logarithm of the cap, and nearly as the tail probability falls, whatever the policy and the lengths
of environments. The lab found, with a tail probability of exp(-b) (`benchmarks/stopping.py`), for up to 8
arms

    wrong stops <= exp(-b) (10.6 (b - 1.55) + 1.75 (b - 1.95) log(cap / 1000)),

and with more of them, in environments too short to see all, 3.5 % more for each. This solves for b.
"""

from __future__ import annotations

import math
from statistics import NormalDist

CAP = 10_000  # pulls, where no budget is given
_SMALL = 30  # pulls; a smaller cap is treated as this one


def wrong_stops(bound: float, arms: int, cap: int) -> float:
    """Return how many runs stop wrongly, at most, if they may at the tail probability exp(-bound).

    >>> round(wrong_stops(6.2146, 5, 1000), 3)
    0.099
    """
    looks = 10.6 * (bound - 1.55) + 1.75 * (bound - 1.95) * math.log(max(cap, _SMALL) / 1000.0)
    return math.exp(-bound) * looks * (1.0 + 0.035 * max(arms - 8, 0))


def bound_for(arms: int, cap: int | None, confidence: float) -> float:
    """Return the negative logarithm of the tail probability at which a run may stop.

    >>> round(bound_for(5, 1000, 0.95), 2), round(bound_for(5, 3000, 0.95), 2)
    (7.06, 7.25)
    """
    low, high = 3.0, 60.0  # it falls between them
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        if wrong_stops(middle, arms, cap or CAP) > 1.0 - confidence:
            low = middle
        else:
            high = middle
    return high


def normal_deviate(bound: float) -> float:
    """Return the deviate that a standard normal number exceeds with probability exp(-bound).

    >>> round(normal_deviate(3.689), 2)
    1.96
    """
    return -NormalDist().inv_cdf(math.exp(-bound))
