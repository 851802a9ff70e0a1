"""Welch's F approximation for a weighted sum of squares whose weights are estimates."""

from __future__ import annotations

import math


def welch_f(T: float, df: int, mean: float, spread: float) -> tuple[float, float]:
    """Return Welch's F statistic, and its denominator degrees of freedom, for a sum of squares.

    The weights of the sum are estimated.

    Let Q be the projection onto residuals, Q_s its block of the cells that share one variance, and f_s the
    degrees of freedom of that variance; `mean` = sum 2 tr(Q_s^2)/f_s and `spread` = sum 2 (tr Q_s)^2/f_s. To
    first order in 1/f the mean of T is df + mean and its variance is 2 df + spread + 6 mean. A multiple of an
    F variable has the same two moments if 1/df2 = (spread + 2 mean)/(2 df (df + 2)) and its factor is df +
    mean - (spread + 2 mean)/(df + 2). If each variance belongs to one mean only, this is Welch's test.

    References
    ----------
    Welch (1951), On the comparison of several mean values: an alternative approach.
    """
    both = (spread + 2.0 * mean) / (df + 2.0)
    df2 = 2.0 * df / both if both > 0.0 else math.inf
    return T / (df + mean - both), df2
