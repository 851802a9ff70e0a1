"""Tail probabilities of skewed sums, from their first three cumulants (Pearson type III), as normal z-scores.

A sum of many independent terms, some of them rare or with a long tail, is closer to a shifted gamma
distribution with the same mean, variance and skewness than to a normal one. Results are z-scores: the
standard normal numbers with the same tail probability.
"""

from __future__ import annotations

import math

import numpy as np

from tideproof.core.array_layout import Floats

_SYMMETRIC = 1e-5  # With less skewness the normal distribution is equal up to rounding.
_END = 37.0  # Largest z-score: beyond it tail probabilities underflow.


def deviate(x: float, variance: float, third: float) -> float:
    """Return the normal z-score of x, a number with mean 0, this variance and this third central moment.

    For a count it is close to the z-score of the mid-p-value: half the probability of the observed count is
    included.

    References
    ----------
    Pearson (1895), Contributions to the mathematical theory of evolution II.

    Examples
    --------
    Nine events where four were expected: for a Poisson number P(X > 9) + P(X = 9)/2 is 0.0147, a z-score of
    2.18.

    >>> round(deviate(5.0, 4.0, 4.0), 2), round(deviate(5.0, 4.0, 0.0), 2)
    (2.19, 2.5)
    """
    from scipy.special import gammainc, gammaincc, ndtri

    if variance <= 0.0:
        return 0.0
    z = x / math.sqrt(variance)
    skewness = third / variance**1.5
    if abs(skewness) < _SYMMETRIC:
        return z
    shape = 4.0 / skewness**2
    at = shape + math.copysign(1.0, skewness) * z * math.sqrt(shape)
    if at <= 0.0:  # x is beyond the end of the shorter tail.
        return -math.copysign(_END, skewness)
    longer, shorter = float(gammaincc(shape, at)), float(gammainc(shape, at))
    found = -ndtri(longer) if longer < shorter else ndtri(shorter)
    return math.copysign(1.0, skewness) * float(min(max(found, -_END), _END))


def deviates(x: Floats, variance: Floats, third: Floats) -> Floats:
    """Return the normal z-scores of many skewed numbers: `deviate` for arrays.

    >>> deviates(np.array([5.0, 5.0]), np.array([4.0, 4.0]), np.array([4.0, 0.0])).round(2)
    array([2.19, 2.5 ])
    """
    from scipy.special import gammainc, gammaincc, ndtri

    with np.errstate(divide="ignore", invalid="ignore"):
        z, skewness = x / np.sqrt(variance), third / variance**1.5
        shape, sign = 4.0 / skewness**2, np.sign(skewness)
        at = shape + sign * z * np.sqrt(shape)
        longer, shorter = gammaincc(shape, at), gammainc(shape, at)
        bent = sign * np.clip(np.where(longer < shorter, -ndtri(longer), ndtri(shorter)), -_END, _END)
        bent = np.where(at <= 0.0, -sign * _END, bent)
        found = np.where(np.abs(skewness) < _SYMMETRIC, z, bent)
    return np.where(variance <= 0.0, 0.0, found)


def normals_from_student(t: Floats, freedom: Floats) -> Floats:
    """Return normal z-scores with the tail probabilities of Student-t numbers; NaN for 0 degrees of freedom.

    >>> normals_from_student(np.array([2.228, 1.3, 1.0]), np.array([10.0, np.inf, 0.0])).round(2)
    array([1.96, 1.3 ,  nan])
    """
    from scipy.special import ndtri, stdtr

    with np.errstate(invalid="ignore"):
        tail = stdtr(np.where(np.isinf(freedom), 1.0, freedom), -np.abs(t))
        found = np.copysign(np.where(tail > 0.0, -ndtri(tail), _END), t)
    found = np.where(np.isinf(freedom) | ~np.isfinite(t), t, found)
    return np.where(freedom > 0.0, found, np.nan)


def normal_from_student(t: float, freedom: float) -> float:
    """Return the normal z-score with the same tail probability as the Student-t number `t`.

    >>> round(normal_from_student(2.228, 10.0), 2), normal_from_student(1.3, math.inf)
    (1.96, 1.3)
    """
    from scipy.special import ndtri, stdtr

    if math.isinf(freedom) or not math.isfinite(t):
        return t
    tail = float(stdtr(freedom, -abs(t)))
    return math.copysign(-float(ndtri(tail)) if tail > 0.0 else _END, t)


def student_from_normal(z: float, freedom: float) -> float:
    """Return the Student-t quantile with the same tail probability as the normal z-score `z`.

    >>> round(student_from_normal(1.96, 10.0), 2)
    2.23
    """
    from scipy.special import ndtr, stdtrit

    return z if math.isinf(freedom) else math.copysign(-float(stdtrit(freedom, ndtr(-abs(z)))), z)
