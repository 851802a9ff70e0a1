"""Is arm i above arm k by more than a gap? Tests that survive rare events and skewed money, and their limits.

On every scale the statistic is linear in the cells' sums S, U = sum g (S - n m): m is what each cell is
expected to have if the gap is true, and g, within an environment orthogonal to its level, is the direction in
which the gap would show, theta_i - theta_k as the whole design sees it. So shifts drop out exactly, other
arms to first order. Variance and skewness of U are taken under the hypothesis (a score test): an arm without
an event varies as its rival does, not as if it were certain. With two arms and 0/1 rewards a gap of 0 is
Mantel and Haenszel's test.
"""

from __future__ import annotations

import math
from functools import cache, cached_property
from typing import NamedTuple, Protocol

import numpy as np

from tideproof.core.arrays import Floats
from tideproof.stats.cells import Cells
from tideproof.stats.inference import pair_variances, root_between
from tideproof.stats.spreads import Spreads
from tideproof.stats.tails import deviate, normal_from_student

_ROUNDING = 1e-12  # of a rate
_DOUBLINGS = 30  # of a step that is a standard error to begin with


class Null(NamedTuple):
    """What a scale expects if theta_i - theta_k has a given value.

    Attributes
    ----------
    statistic : U.
    direction : (C,) g.
    mean : (C,) m.
    """

    statistic: float
    direction: Floats
    mean: Floats


class Scaled(Protocol):
    """A scale on which arms are compared, fitted to cells."""

    cells: Cells

    @property
    def fitted(self) -> Floats:
        """(C,) the expected mean of each cell."""

    def null(self, i: int, k: int, gap: float) -> Null:
        """Return the statistic of the hypothesis theta_i - theta_k = gap, its direction and expectations."""

    def gap(self, i: int, k: int) -> float:
        """Return the estimate of theta_i - theta_k; may be infinite."""


class Moments(NamedTuple):
    """Second and third central moments of each cell's rewards, and the degrees of freedom behind them."""

    variance: Floats
    third: Floats
    spreads: Spreads | None


class Law(Protocol):
    """How single rewards vary around their mean."""

    def moments(self, mean: Floats) -> Moments:
        """Return the moments if the cells have these means."""


class Chances:
    """0/1 rewards: their mean says all. Given its total, an environment varies N/(N - 1) times as much."""

    def __init__(self, cells: Cells) -> None:
        size = cells.sizes[cells.environment]
        self._correction = np.where(size > 1.0, size / np.maximum(size - 1.0, 1.0), 0.0)

    def moments(self, mean: Floats) -> Moments:
        """Return the moments of 0/1 numbers with these means."""
        m = np.clip(mean, 0.0, 1.0)
        variance = m * (1.0 - m)
        variance[variance < _ROUNDING] = 0.0  # else a test would rest on rounding
        return Moments(self._correction * variance, variance * (1.0 - 2.0 * m), None)


class Measured:
    """Rewards of any kind, whose variance and skewness were measured."""

    def __init__(self, spreads: Spreads, fitted: Floats | None) -> None:
        self._spreads, self._fitted = spreads, fitted

    def moments(self, mean: Floats) -> Moments:
        """Return the measured moments; on a scale of ratios a cell expected to have more varies more."""
        s = self._spreads
        if self._fitted is None:
            return Moments(s.variance, s.third, s)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(self._fitted > 0.0, mean / self._fitted, 1.0)
        return Moments(s.variance * more, s.third * more**1.5, s)


_CLOSE = 1e-6  # how near to its deviate a limit must come
HANDFUL = 10  # events (and non-events) of two arms together, below which no arm is excluded


def events_met(c: Cells) -> Floats:
    """Return the ones and the zeros of each arm where it met another, (K, 2); infinite if not 0/1."""
    if not c.binary:
        return np.full((c.K, 2), np.inf)
    met = c.n * c.compares[c.environment]
    return np.rint(np.column_stack([c.by_arm(met * c.mean), c.by_arm(met * (1.0 - c.mean))]))


class PairTests:
    """Tests and limits of theta_i - theta_k; `covariance` of theta says how far limits will be."""

    def __init__(self, scale: Scaled, law: Law, covariance: Floats) -> None:
        self.scale, self.law, self.covariance = scale, law, covariance
        self._variances = pair_variances(covariance)
        self._events = events_met(scale.cells)

    @cached_property
    def variance(self) -> Floats:
        """(C,) variance of a single reward of each cell, at the means that are fitted."""
        return self.law.moments(self.scale.fitted).variance

    def gap(self, i: int, k: int) -> float:
        """Return the estimate of theta_i - theta_k."""
        return self.scale.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return a standard normal number if theta_i - theta_k = gap, high if it is more; NaN if unknown."""
        null = self.scale.null(i, k, gap)
        moments, direction = self.law.moments(null.mean), null.direction
        weight = self.scale.cells.n * direction * direction
        parts = weight * moments.variance
        z = deviate(null.statistic, float(parts.sum()), float(np.dot(weight * direction, moments.third)))
        if moments.spreads is None:
            return z
        freedom = moments.spreads.freedom_of(self.scale.cells, parts)
        return normal_from_student(z, freedom) if freedom else np.nan

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms had enough events, of either kind, for a test to exclude one of them."""
        return bool(np.all(self._events[i] + self._events[k] >= HANDFUL))

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_i - theta_k does not exceed: there the deviate has fallen to -z."""
        if math.isinf(z):
            return np.inf
        middle = self.gap(i, k)
        start = middle if np.isfinite(middle) else 0.0
        if np.isnan(middle) or middle == np.inf or np.isnan(self.deviate(i, k, start)):
            return middle if middle == np.inf else np.nan
        step = z * math.sqrt(max(float(self._variances[i, k]), 0.0)) or 1.0
        low, high = start, start + step

        @cache
        def excess(gap: float) -> float:
            return -z - self.deviate(i, k, gap)

        for _ in range(_DOUBLINGS):  # upwards, until the deviate has fallen far enough
            if excess(high) >= 0.0:
                break
            low, high, step = high, high + 2.0 * step, 2.0 * step
        else:
            return np.inf
        for _ in range(_DOUBLINGS):  # downwards, if it had before
            if excess(low) <= 0.0:
                break
            low, high, step = low - 2.0 * step, low, 2.0 * step
        else:
            return -np.inf
        return root_between(low, high, excess, _CLOSE)

    def lower(self, i: int, k: int, z: float) -> float:
        """Return the gap that theta_i - theta_k is not below."""
        return -self.upper(k, i, z)
