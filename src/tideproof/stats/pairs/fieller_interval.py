"""Fieller's confidence interval for the ratio of two estimates."""

from __future__ import annotations

import math

from tideproof.stats.best.student_inference import t_quantile


def fieller_interval(
    x: float, y: float, xx: float, xy: float, yy: float, freedom: float, confidence: float
) -> tuple[float, float]:
    """Return Fieller's confidence interval for the ratio of two expected values; NaN if it is unbounded.

    The ratio is E x / E y. The arguments are the two estimates x and y, their variances xx and yy, and
    their covariance xy. The interval holds every ratio q for which x - q y does not differ significantly
    from 0: the q between the roots of (y^2 - t^2 yy) q^2 - 2 (x y - t^2 xy) q + x^2 - t^2 xx. If y itself
    is not significantly different from 0, no bounded set has the coverage.

    >>> [round(bound, 3) for bound in fieller_interval(1.0, 4.0, 0.01, 0.0, 0.01, 50.0, 0.95)]
    [0.199, 0.302]

    References
    ----------
    Fieller (1954), Some problems in interval estimation.
    """
    t2 = t_quantile(confidence, freedom) ** 2
    a, b, c = y * y - t2 * yy, x * y - t2 * xy, x * x - t2 * xx
    if not a > 0.0:
        return math.nan, math.nan
    root = math.sqrt(max(b * b - a * c, 0.0))
    return (b - root) / a, (b + root) / a
