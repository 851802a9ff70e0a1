"""Limits of a ratio of two estimates."""

from __future__ import annotations

import math

from tideproof.stats.best.student_inference import t_quantile


def ratio_limits(
    x: float, y: float, xx: float, xy: float, yy: float, freedom: float, level: float
) -> tuple[float, float]:
    """Return the limits of E x / E y, from the variances and covariance of x and y; NaN where there are none.

    Every ratio q is kept for which x - q y is not significantly different from 0: the q between the roots
    of (y^2 - t^2 yy) q^2 - 2 (x y - t^2 xy) q + x^2 - t^2 xx. Where y itself may be 0 no bounded set has
    the coverage.

    >>> [round(limit, 3) for limit in ratio_limits(1.0, 4.0, 0.01, 0.0, 0.01, 50.0, 0.95)]
    [0.199, 0.302]

    References
    ----------
    Fieller (1954), Some problems in interval estimation.
    """
    t2 = t_quantile(level, freedom) ** 2
    a, b, c = y * y - t2 * yy, x * y - t2 * xy, x * x - t2 * xx
    if not a > 0.0:
        return math.nan, math.nan
    root = math.sqrt(max(b * b - a * c, 0.0))
    return (b - root) / a, (b + root) / a
