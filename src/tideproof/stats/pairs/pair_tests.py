"""Score tests and confidence bounds for comparing two arms, valid for rare events and skewed rewards.

On every scale the statistic is linear in the sums S of the cells: U = sum g (S - n m). Here m is the expected
mean of a cell if the gap is true, and g is the direction in which the gap shows: theta_i - theta_k as the
whole design estimates it. Within an environment g is orthogonal to the shift, so shifts cancel exactly and
other arms cancel to first order. Variance and skewness of U are computed under the null hypothesis (a score
test): an arm without an event is as variable as the arm it is compared with, instead of being certain. For
two arms, 0/1 rewards and a gap of 0 it is the Mantel-Haenszel test.

With too few events no arm is excluded. For 0/1 rewards events are the ones, and the zeros. For amounts that
are mostly 0, such as revenue, a few large ones dominate. Their effective number is (sum r)^2/(sum r^2): the
number of equal amounts whose sum is as uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.best.multiple_comparisons import Pairs
from tideproof.stats.best.student_inference import (
    allow_for_own_shapes,
    normal_from_student,
    pair_variances,
    root_between,
    skewed_deviate,
)
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.vectorised_pair_tests import (
    BLOCK_NUMBERS,
    PairGrid,
    upper_bounds,
)
from tideproof.stats.variance.cell_variances import CellVariances

FEWEST_EVENTS = 10  # Events (and non-events) of two arms needed to exclude one.
FEWEST_RARER_EVENTS = 2  # Expected events of the arm with less traffic, for amounts.
_RARE_SHARE = 0.5  # Amounts with a larger effective share of rewards are not rare.
_ROUNDING = 1e-12  # Smaller variances of a rate are rounding.
_DOUBLINGS = 30  # Doublings of a first step of z standard errors.
_TOLERANCE = 1e-6  # Tolerance of the z-score at a bound.
MOST_SINGLE_ARMS = 100  # With more arms, pairs are tested in batches.


class Events(NamedTuple):
    """Record of how many events (rewards other than 0, such as purchases) each arm has.

    Only environments shared with other arms count.

    If both attributes are None, events need not be counted, and no minimum number applies.

    Attributes
    ----------
    kinds : (K, 2) number of ones and of zeros, for 0/1 rewards.
    amounts : (K, 3) number of rewards, their sum and their sum of squares, if most are 0.
    """

    kinds: Floats | None = None
    amounts: Floats | None = None

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms together have enough events (rewards other than 0) for a reliable test.

        If the rewards are 0/1, the arms need enough zeros, too.
        """
        if self.kinds is not None:
            return bool(np.all(self.kinds[i] + self.kinds[k] >= FEWEST_EVENTS))
        both, rarer = self.worth(i, k)
        return both >= FEWEST_EVENTS and rarer >= FEWEST_RARER_EVENTS

    def worth(self, i: int, k: int) -> tuple[float, float]:
        """Return the effective number of nonzero rewards of two arms together.

        The second result is the part of this number expected of the less pulled arm.

        That part is expected in proportion to the numbers of rewards, as if the arms were equal; it is not
        the number that was observed.
        """
        if self.amounts is None:
            return np.inf, np.inf
        n, total, squares = (self.amounts[i] + self.amounts[k]).tolist()
        # Rounded so that ten equal amounts count as ten.
        both = round(total**2 / squares, 6) if squares else 0.0
        return both, both * float(self.amounts[self.rarer(i, k), 0]) / max(n, 1.0)

    def rarer(self, i: int, k: int) -> int:
        """Return the index of the arm with fewer rewards, i or k."""
        return i if self.amounts is None or self.amounts[i, 0] < self.amounts[k, 0] else k


def count_events(c: Cells) -> Events:
    """Return how many events (rewards other than 0) each arm has in environments shared with other arms."""
    if c.slope is not None:  # Rewards adjusted for covariates are no events.
        c = c.slope.unadjusted
    met = c.n if c.factors is not None else np.where(c.compares[c.environment], c.n, 0.0)
    if c.binary:
        return Events(np.rint(np.column_stack([c.by_arm(met * c.mean), c.by_arm(met * (1.0 - c.mean))])))
    if c.low is None or np.min(c.low) != 0.0:
        return Events()
    inside = np.where(met > 0.0, c.squares, 0.0)
    amounts = np.column_stack([c.by_arm(x) for x in (met, met * c.mean, inside + met * c.mean**2)])
    n, total, squares = amounts.sum(axis=0).tolist()
    return Events(amounts=amounts) if total**2 < _RARE_SHARE * n * squares else Events()


class NullHypothesis(NamedTuple):
    """Score statistic of the null hypothesis that the effects of two arms differ by a given value.

    Attributes
    ----------
    statistic : U.
    direction : (C,) g.
    mean : (C,) m, the expected mean of each cell.
    """

    statistic: float
    direction: Floats
    mean: Floats


class PairScale(Protocol):
    """Protocol for a way to compare two arms (by difference, ratio or odds ratio), fitted to the data."""

    cells: Cells
    P: Floats

    @property
    def fitted(self) -> Floats:
        """Expected mean reward of each arm-by-environment cell: (C,)."""

    def null(self, i: int, k: int, gap: float) -> NullHypothesis:
        """Return the score statistic for testing that the effects of two arms differ by `gap`.

        It comes with its direction and with the expected mean of each cell under the hypothesis.
        """

    def slope(self, mean: Floats) -> Floats:
        """Return the derivative of the expected mean of each cell with respect to the effect of its arm."""

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm i minus that of arm k, which may be infinite."""

    def grid(self, law: RewardDistribution) -> PairGrid | None:
        """Return precomputed matrices for testing many pairs of arms at once.

        The result is None if that is not supported.
        """


class CellMoments(NamedTuple):
    """Variance and skewness of a reward in each arm-by-environment cell.

    Skewness is 0 where the variance is 0. Third moments instead of it might underflow. `spreads` holds the
    estimates behind them; None for 0/1 rewards.
    """

    variance: Floats
    skewness: Floats
    spreads: CellVariances | None

    @classmethod
    def from_third(cls, variance: Floats, third: Floats, spreads: CellVariances | None = None) -> CellMoments:
        """Return the moments of rewards with the given third central moments."""
        with np.errstate(divide="ignore", invalid="ignore"):
            sd = np.sqrt(variance)
            return cls(variance, np.where(variance > 0.0, third / sd / sd / sd, 0.0), spreads)

    @property
    def third(self) -> Floats:
        """Third central moment of a reward in each cell."""
        return np.asarray(self.skewness * self.variance**1.5)


class RewardDistribution(Protocol):
    """Protocol for the distribution of individual rewards around their mean."""

    def moments(self, mean: Floats) -> CellMoments:
        """Return the variance and skewness of a reward in each arm-by-environment cell.

        They are those that rewards have if `mean` holds the means of the cells.
        """


class BinaryRewards:
    """Distribution of 0/1 rewards, whose variance and skewness follow from their mean.

    Given the total of an environment, variances are larger by the factor N/(N - 1).
    """

    def __init__(self, cells: Cells) -> None:
        size = cells.sizes[cells.environment]
        self._correction = np.where(size > 1.0, size / np.maximum(size - 1.0, 1.0), 0.0)

    def moments(self, mean: Floats) -> CellMoments:
        """Return the variance and skewness of 0/1 rewards with the given means.

        The third central moment is v (1 - 2 m) for a variance of v before the correction.
        """
        m = np.clip(mean, 0.0, 1.0)
        variance = m * (1.0 - m)
        variance[variance < _ROUNDING] = 0.0  # Otherwise a test would depend on rounding.
        corrected = self._correction * variance
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = np.where(corrected > 0.0, variance * (1.0 - 2.0 * m) / corrected**1.5, 0.0)
        return CellMoments(corrected, skewness, None)


class MeasuredRewards:
    """Distribution of any rewards, with variance and skewness measured in arm-by-environment cells."""

    def __init__(self, spreads: CellVariances, fitted: Floats | None) -> None:
        self.spreads, self._fitted = spreads, fitted

    def moments(self, mean: Floats) -> CellMoments:
        """Return the measured variance and skewness of a reward in each arm-by-environment cell.

        On the scale of ratios, variances are proportional to means.
        """
        s = self.spreads
        if self._fitted is None:
            return CellMoments(s.variance, s.skewness, s)
        with np.errstate(divide="ignore", invalid="ignore"):
            more = np.where(self._fitted > 0.0, mean / self._fitted, 1.0)
        return CellMoments(s.variance * more, s.skewness, s)


class PairTests(Pairs):
    """Score tests and confidence bounds for the effect of one arm minus that of another.

    `scale` defines the effects: means, log rates or log odds. `covariance` of theta provides the first
    guess of where the bounds are.
    """

    def __init__(self, scale: PairScale, law: RewardDistribution, covariance: Floats) -> None:
        self.scale, self.law, self.covariance = scale, law, covariance
        self._variances = pair_variances(covariance)
        self._events = count_events(scale.cells)
        self._deviates_known: dict[tuple[int, int, float], float] = {}

    @cached_property
    def _grid(self) -> PairGrid | None:
        """Precomputed matrices for testing many pairs of arms at once; None if pairs are tested one by one.

        They are None with few arms, or on a scale that does not support them.
        """
        return self.scale.grid(self.law) if self.scale.cells.K > MOST_SINGLE_ARMS else None

    @property
    def quick(self) -> bool:
        """True if many pairs of arms can be tested in one vectorised computation."""
        return self._grid is not None

    @cached_property
    def variance(self) -> Floats:
        """Variance of an individual reward in each arm-by-environment cell, at the fitted means: (C,)."""
        return self.law.moments(self.scale.fitted).variance

    def gap(self, i: int, k: int) -> float:
        """Return the estimated effect of arm i minus that of arm k, theta_i - theta_k."""
        return self.scale.gap(i, k)

    def deviate(self, i: int, k: int, gap: float = 0.0) -> float:
        """Return the z-score for testing that the effects of two arms differ by `gap`; NaN if unknown."""
        asked = i, k, gap
        if asked not in self._deviates_known:  # Different statements need the same tests.
            self._deviates_known[asked] = self._find_deviate(i, k, gap)
        return self._deviates_known[asked]

    def _find_deviate(self, i: int, k: int, gap: float) -> float:
        """Compute the z-score for testing that the effects of two arms differ by `gap`; NaN if unknown."""
        null = self.scale.null(i, k, gap)
        moments, direction = self.law.moments(null.mean), null.direction
        noise = direction * np.sqrt(moments.variance)
        parts = self.scale.cells.n * noise * noise
        z, sd, spreads = 0.0, math.sqrt(float(parts.sum())), moments.spreads
        if not sd <= 0.0:  # Noise is divided before it is cubed, because tiny cubes underflow.
            relative = noise / sd
            cubes = relative * relative * relative  # Quicker than a power.
            skewness = float(np.sum(self.scale.cells.n * cubes * moments.skewness))
            z = skewed_deviate(null.statistic / sd, skewness)
            if spreads is not None and spreads.own_skewness is not None:
                own = float(np.sum(self.scale.cells.n * cubes * spreads.own_skewness))
                share = spreads.own_share(self.scale.cells, parts)
                z = float(allow_for_own_shapes(z, null.statistic / sd, own, share))
        if spreads is None:
            return z
        freedom = spreads.freedom_of(self.scale.cells, parts)
        return normal_from_student(z, freedom) if freedom else np.nan

    def enough(self, i: int, k: int) -> bool:
        """Return whether two arms have enough rewards to conclude from a test that one is not the best."""
        return self._events.enough(i, k)

    def upper(self, i: int, k: int, z: float) -> float:
        """Return the upper confidence bound of arm i's effect minus arm k's, at the normal quantile `z`.

        It is the difference with z-score -z.
        """
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
            """Evaluate the function whose zero is the upper confidence bound of the difference of two arms.

            It is -z minus the z-score for a difference `gap`.
            """
            return -z - self.deviate(i, k, gap)

        for _ in range(_DOUBLINGS):  # Upwards, until the z-score is at most -z.
            if excess(high) >= 0.0:
                break
            low, high, step = high, high + 2.0 * step, 2.0 * step
        else:
            return np.inf
        for _ in range(_DOUBLINGS):  # Downwards, if it is below -z at the start.
            if excess(low) <= 0.0:
                break
            low, high, step = low - 2.0 * step, low, 2.0 * step
        else:
            return -np.inf
        return root_between(low, high, excess, _TOLERANCE)

    def deviates(self, i: Ints, k: Ints) -> Floats:
        """Return the z-score of each of many pairs of arms, for testing that the two do not differ."""
        if self._grid is None:
            return super().deviates(i, k)
        return self._in_blocks(
            i, k, lambda here, test: self._deviates(test, i[here], k[here], np.zeros(here.size))
        )

    def uppers(self, i: Ints, k: Ints, z: Floats) -> Floats:
        """Return the upper confidence bound of the effect difference for each of many pairs of arms."""
        if self._grid is None:
            return super().uppers(i, k, z)

        def bounds(here: Ints, test: Callable[[Floats], Floats]) -> Floats:
            """Return the upper confidence bounds of the effect differences in one block of pairs of arms."""
            at, other = i[here], k[here]
            middle = np.array([self.gap(a, b) for a, b in zip(at.tolist(), other.tolist(), strict=True)])
            step = z[here] * np.sqrt(np.maximum(self._variances[at, other], 0.0))
            step[step == 0.0] = 1.0
            deviate = partial(self._deviates, test, at, other)
            return upper_bounds(deviate, middle, step, z[here], _DOUBLINGS, _TOLERANCE)

        return self._in_blocks(i, k, bounds)

    def _in_blocks(
        self, i: Ints, k: Ints, work: Callable[[Ints, Callable[[Floats], Floats]], Floats]
    ) -> Floats:
        """Apply the function `work` to many pairs of arms, in blocks of pairs that fit into memory."""
        found, rows = np.full(i.size, np.nan), max(1, BLOCK_NUMBERS // self.scale.cells.K)
        assert self._grid is not None
        for start in range(0, i.size, rows):
            here = np.arange(start, min(start + rows, i.size))
            found[here] = work(here, self._grid.test_pairs(i[here], k[here]))
        return found

    def _deviates(self, test: Callable[[Floats], Floats], i: Ints, k: Ints, gap: Floats) -> Floats:
        """Return the z-scores of many pairs of arms, tested together where possible.

        Pairs that cannot be tested together are tested alone.
        """
        z = test(gap)
        for at in np.flatnonzero(np.isnan(z)).tolist():
            z[at] = self.deviate(int(i[at]), int(k[at]), float(gap[at]))
        return z
