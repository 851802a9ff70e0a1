"""Confidence intervals for probabilities, their paired differences and ratios, honest down to zero errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof import checks
from tideproof.core.array_layout import Floats, Ints


class Interval(NamedTuple):
    """Lower and upper ends, one for each budget."""

    low: Floats
    high: Floats


class PairedRatio(NamedTuple):
    """A paired ratio of two probabilities, one value for each budget."""

    estimate: Floats
    low: Floats
    high: Floats


def quantile(level: float) -> float:
    """Return z with P(|Z| < z) = level for a standard normal Z."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.5 * checks.require_level(level)))


def binomial(events: Ints, n: int, level: float) -> Interval:
    """Return the exact interval for a probability, `events` of `n` trials.

    Clopper, Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the
    binomial.

    >>> binomial(np.array([0]), 100, 0.95).high.round(4)
    array([0.0362])
    """
    from scipy.special import betaincinv

    tail = 0.5 - 0.5 * checks.require_level(level)
    none, all_ = events == 0, events == n
    low = np.where(none, 0.0, betaincinv(np.maximum(events, 1), n - events + 1, tail))
    high = np.where(all_, 1.0, betaincinv(events + 1, np.maximum(n - events, 1), 1.0 - tail))
    return Interval(low, high)


def paired(only_a: Ints, only_b: Ints, n: int, level: float) -> Interval:
    """Return the score interval for P(a) - P(b), from the trials of `n` in which only one happened.

    Tango (1998), Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design. Unlike the normal interval it does not shrink to a point when the two never
    differed.

    >>> paired(np.array([0]), np.array([0]), 1000, 0.95).high.round(4)
    array([0.0038])
    """
    z = quantile(level)
    return Interval(-_upper(only_b, only_a, n, z), _upper(only_a, only_b, n, z))


def paired_ratio(a: Ints, b: Ints, both: Ints, level: float) -> PairedRatio:
    """Return P(a)/P(b) with its interval, from the trials in which each and both happened.

    With a' = a + 1/2 and b' = b + 1/2, so that nothing is divided by zero, it is a'/b', and its logarithm
    is taken to be normal with the variance of the delta method, 1/a' + 1/b' - 2 both/(a' b'): the number
    of trials cancels. The halves are lost among hundreds of events. An event that never happened may be
    arbitrarily rare: the lower end is then 0 if it was a, the upper one infinite if it was b.

    >>> ratio = paired_ratio(np.array([300, 0]), np.array([400, 400]), np.array([200, 0]), 0.95)
    >>> ratio.estimate.round(3), ratio.low.round(3), ratio.high.round(3)
    (array([0.75 , 0.001]), array([0.68, 0.  ]), array([0.828, 0.02 ]))
    """
    z = quantile(level)
    up, down = a + 0.5, b + 0.5
    estimate = up / down
    reach = z * np.sqrt(1.0 / up + 1.0 / down - 2.0 * both / (up * down))
    low = np.where(a == 0, 0.0, estimate * np.exp(-reach))
    high = np.where(b == 0, np.inf, estimate * np.exp(reach))
    return PairedRatio(estimate, low, high)


def _upper(b: Ints, c: Ints, n: int, z: float) -> Floats:
    """Return the largest difference d with n (dhat - d)^2 <= z^2 v(d), dhat = (b - c)/n, by bisection.

    v(d) = 2q + d(1 - d) is the variance if d is true, where q, the probability of c, maximises the
    likelihood: 2n q^2 + ((2n - b + c)d - b - c) q - c d(1 - d) = 0.
    """
    seen = (b - c) / n
    inside, outside = seen, np.ones_like(seen)
    for _ in range(60):
        d = 0.5 * (inside + outside)
        half = 0.5 * ((2 * n - b + c) * d - b - c)
        q = (np.sqrt(half * half + 2 * n * c * d * (1.0 - d)) - half) / (2 * n)
        near = n * (seen - d) ** 2 <= z * z * (2.0 * q + d * (1.0 - d))
        inside, outside = np.where(near, d, inside), np.where(near, outside, d)
    return inside
