"""Search for the confidence bound of a difference between two arms, given the z-score of each difference."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

from tideproof.stats.best.student_inference import root_between

DOUBLINGS = 30  # Doublings of a first step of z standard errors.
BOUND_TOLERANCE = 1e-6  # Tolerance of the z-score at a bound.


def find_upper_bound(deviate: Callable[[float], float], middle: float, step: float, z: float) -> float:
    """Return the upper confidence bound of a difference, which is the value with z-score -z.

    `deviate` returns the z-score for testing a value of the difference; it decreases. `middle` is the
    estimate, which may be infinite, and `step` a first guess of the distance to the bound.

    >>> round(find_upper_bound(lambda value: 3.0 - 2.0 * value, 1.5, 0.7, 1.96), 6)
    2.48
    """
    if math.isinf(z):
        return math.inf
    start = middle if math.isfinite(middle) else 0.0
    if math.isnan(middle) or middle == math.inf or math.isnan(deviate(start)):
        return middle if middle == math.inf else math.nan
    step = step or 1.0
    low, high = start, start + step

    @cache
    def excess(gap: float) -> float:
        """Evaluate the function whose zero is the upper confidence bound: -z minus the z-score of `gap`."""
        return -z - deviate(gap)

    for _ in range(DOUBLINGS):  # Upwards, until the z-score is at most -z.
        if excess(high) >= 0.0:
            break
        low, high, step = high, high + 2.0 * step, 2.0 * step
    else:
        return math.inf
    for _ in range(DOUBLINGS):  # Downwards, if it is below -z at the start.
        if excess(low) <= 0.0:
            break
        low, high, step = low - 2.0 * step, low, 2.0 * step
    else:
        return -math.inf
    return root_between(low, high, excess, BOUND_TOLERANCE)
