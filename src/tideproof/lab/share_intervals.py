"""Confidence intervals for probabilities and their paired differences and ratios.

They remain valid if no event was observed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tideproof import checks
from tideproof.core.kernel_state_arrays import Floats, Ints


class Interval(NamedTuple):
    """Lower and upper bounds of confidence intervals, one for each budget."""

    low: Floats
    high: Floats


class PairedRatio(NamedTuple):
    """Estimates and confidence intervals of the paired ratio of two probabilities, one for each budget."""

    estimate: Floats
    low: Floats
    high: Floats


def quantile(confidence: float) -> float:
    """Return the two-sided normal quantile: z with P(|Z| < z) = confidence for a standard normal Z."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + 0.5 * checks.require_confidence(confidence)))


def binomial(events: Ints, n: int, confidence: float) -> Interval:
    """Return the exact (Clopper-Pearson) confidence interval of a probability after `events` in `n` trials.

    Clopper, Pearson (1934), The use of confidence or fiducial limits illustrated in the case of the
    binomial.

    >>> binomial(np.array([0]), 100, 0.95).high.round(4)
    array([0.0362])
    """
    from scipy.special import betaincinv

    tail = 0.5 - 0.5 * checks.require_confidence(confidence)
    none, all_ = events == 0, events == n
    low = np.where(none, 0.0, betaincinv(np.maximum(events, 1), n - events + 1, tail))
    high = np.where(all_, 1.0, betaincinv(events + 1, np.maximum(n - events, 1), 1.0 - tail))
    return Interval(low, high)


def paired(only_a: Ints, only_b: Ints, n: int, confidence: float) -> Interval:
    """Return the score interval of P(a) - P(b), the difference of two probabilities, from paired trials.

    `only_a` and `only_b` are the numbers of trials in which only one of the two events happened.

    Tango (1998), Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design. Unlike the normal interval, it does not shrink to a point if the two events never
    differed.

    >>> paired(np.array([0]), np.array([0]), 1000, 0.95).high.round(4)
    array([0.0038])
    """
    z = quantile(confidence)
    return Interval(-_upper(only_b, only_a, n, z), _upper(only_a, only_b, n, z))


def paired_ratio(a: Ints, b: Ints, both: Ints, confidence: float) -> PairedRatio:
    """Return the ratio P(a)/P(b) of two probabilities with its confidence interval, from paired trials.

    `a`, `b` and `both` are the numbers of trials in which a, b and both events happened. With a' = a + 1/2
    and b' = b + 1/2, which avoids division by zero, the estimate is a'/b'. Its logarithm is treated as normal
    with the variance of the delta method, 1/a' + 1/b' - 2 both/(a' b'). The number of trials cancels, and the
    additions of 1/2 are negligible after hundreds of events. An event that was never observed may be
    arbitrarily rare: then the lower bound is 0 if the event is a, and the upper bound is infinite if it is b.

    >>> ratio = paired_ratio(np.array([300, 0]), np.array([400, 400]), np.array([200, 0]), 0.95)
    >>> ratio.estimate.round(3), ratio.low.round(3), ratio.high.round(3)
    (array([0.75 , 0.001]), array([0.68, 0.  ]), array([0.828, 0.02 ]))
    """
    z = quantile(confidence)
    up, down = a + 0.5, b + 0.5
    estimate = up / down
    reach = z * np.sqrt(1.0 / up + 1.0 / down - 2.0 * both / (up * down))
    low = np.where(a == 0, 0.0, estimate * np.exp(-reach))
    high = np.where(b == 0, np.inf, estimate * np.exp(reach))
    return PairedRatio(estimate, low, high)


def _upper(b: Ints, c: Ints, n: int, z: float) -> Floats:
    """Return the upper bound of Tango's score interval for a difference of two paired probabilities.

    It is the largest difference d with n (dhat - d)^2 <= z^2 v(d), where dhat = (b - c)/n. The variance
    v(d) = 2q + d(1 - d) holds if d is true, and q, the probability of c, maximises the likelihood:
    2n q^2 + ((2n - b + c)d - b - c) q - c d(1 - d) = 0. The bound is found by bisection.
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
