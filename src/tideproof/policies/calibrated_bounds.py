"""Bounds of the calibrated stopping rule, which tests after every pull whether an experiment may stop.

The rule stops when the tail probability of every other arm being better is at most exp(-b). This module
finds the bound b for a confidence level, a number of arms and a budget.

The least favourable world has two arms that tie for the best: every stop is wrong there. Tests at every
pull then observe a process that is stationary in the logarithm of time. The probability of a wrong stop
therefore grows with the logarithm of the budget, and it falls nearly in proportion to the tail probability,
for every policy and every length of environments. Simulations (`benchmarks/stopping.py`) found, for up to
8 arms,

    P(wrong stop) <= exp(-b) (10.6 (b - 1.55) + 1.75 (b - 1.95) log(budget / 1000)),

and 3.5 % more for each further arm, in environments that are too short to contain all arms.
"""

from __future__ import annotations

import math
from statistics import NormalDist

DEFAULT_BUDGET = 10_000  # pulls; used when an experiment has no budget
_SMALLEST_BUDGET = 30  # pulls; a smaller budget gets the same bound as this one


def wrong_stop_probability(bound: float, arms: int, budget: int) -> float:
    """Return an upper bound of the probability that an experiment stops and selects a wrong arm.

    The run may stop as soon as its tail probability is at most exp(-bound).

    >>> round(wrong_stop_probability(6.2146, 5, 1000), 3)
    0.099
    """
    factor = 10.6 * (bound - 1.55) + 1.75 * (bound - 1.95) * math.log(max(budget, _SMALLEST_BUDGET) / 1000.0)
    return math.exp(-bound) * factor * (1.0 + 0.035 * max(arms - 8, 0))


def find_bound(arms: int, budget: int | None, confidence: float) -> float:
    """Return the amount of evidence at which an experiment may stop with a given confidence.

    An experiment stops when its tail probability is at most exp(-b), where b is the result. That is the tail
    probability of another arm being better than the leader.

    `budget` is in pulls; without one `DEFAULT_BUDGET` is used.

    >>> round(find_bound(5, 1000, 0.95), 2), round(find_bound(5, 3000, 0.95), 2)
    (7.06, 7.25)
    """
    low, high = 3.0, 60.0  # the probability falls with the bound, and the bound lies between these
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        if wrong_stop_probability(middle, arms, budget or DEFAULT_BUDGET) > 1.0 - confidence:
            low = middle
        else:
            high = middle
    return high


def normal_quantile_of_bound(bound: float) -> float:
    """Return the quantile that a standard normal variable exceeds with probability exp(-bound).

    >>> round(normal_quantile_of_bound(3.689), 2)
    1.96
    """
    return -NormalDist().inv_cdf(math.exp(-bound))
