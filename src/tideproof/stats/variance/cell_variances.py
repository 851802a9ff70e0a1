"""How much single rewards vary in each cell, measured, where nobody said what they are like.

The variance of a reward is taken as base x common x arm's factor x environment's factor, where `base` is 1
on the scale of differences and the expected mean on that of ratios. A factor is drawn towards 1 as far as its
own noise explains it (empirical Bayes), so that equal variances stay one variance, known on all degrees of
freedom, and a small arm whose few rewards happen to be alike is not believed to be without noise.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.stats.cells import Cells, sums

_ROUNDING = 32 * float(np.finfo(np.float64).eps)  # of the largest mean; what adds up exactly leaves less
_TINY = float(np.finfo(np.float64).tiny)  # a power below this has underflowed and divides nothing


def is_exact(sigma: float, largest: float) -> bool:
    """Tell whether residuals are mere rounding of rewards as large as that, as no real ones are."""
    return sigma <= _ROUNDING * largest


class Spreads(NamedTuple):
    """How much rewards vary, and how well that is known.

    Attributes
    ----------
    variance, third : (C,) second and third central moment of a single reward.
    freedom : degrees of freedom of the common variance.
    arm_trust, environment_trust : (K,), (J,) how much of each factor is its own, from 0 to 1.
    arm_freedom, environment_freedom : (K,), (J,) degrees of freedom behind the own part.
    """

    variance: Floats
    third: Floats
    freedom: float
    arm_trust: Floats
    environment_trust: Floats
    arm_freedom: Floats
    environment_freedom: Floats

    def freedom_of(self, cells: Cells, parts: Floats) -> float:
        """Return the degrees of freedom of a sum of variances, of which each cell contributes a part.

        Satterthwaite's: the errors of the common variance and of what is each factor's own add up.
        """
        total = float(parts.sum())
        if not self.freedom > 0.0 or not total > 0.0:
            return 0.0
        error = 1.0 / self.freedom
        for trust, freedom, own in (
            (self.arm_trust, self.arm_freedom, cells.by_arm(parts)),
            (self.environment_trust, self.environment_freedom, cells.by_environment(parts)),
        ):
            here = trust > 0.0
            error += float(np.sum((trust[here] * own[here] / total) ** 2 / freedom[here]))
        return 1.0 / error


def measure(cells: Cells, fitted: Floats, base: Floats, freedom: int) -> Spreads:
    """Measure how much rewards vary around `fitted`, the expected mean of each cell.

    `freedom` is that of all residuals; what the fit took is charged to the cells in proportion.
    Heavy tails make a variance noisier: excess kurtosis, where cells know fourth powers, counts against what
    an arm claims for itself. An environment's own variance is a part of a long sum, where noise averages out.
    """
    used = (base > 0.0) & (cells.n > 0.0)
    left = np.where(used, cells.n * (1.0 - 1.0 / cells.sizes[cells.environment]), 0.0)
    if freedom <= 0 or not left.sum() > 0.0:
        return _unknown(cells)
    left *= freedom / left.sum()
    squares = np.where(used, cells.squares + cells.n * (cells.mean - fitted) ** 2, 0.0)
    if is_exact(math.sqrt(squares.sum() / left.sum()), float(np.abs(cells.mean).max())):
        return _unknown(cells)
    unit = np.where(used, base, 1.0)
    squares /= unit
    common = float(squares.sum() / left.sum())
    kurtosis = 0.0
    if cells.fourths is not None:
        kurtosis = _excess_kurtosis(cells, squares, left, np.where(used, cells.fourths / unit**2, 0.0))
    arm = _factors(cells.arm, squares / common, left, cells.K, 2.0 + kurtosis)
    of_arm = arm.value[cells.arm]
    place = _factors(cells.environment, squares / common / of_arm, left, cells.J, 2.0)
    variance = common * unit * of_arm * place.value[cells.environment]
    third = np.zeros(variance.size)
    if cells.cubes is not None:
        power = variance**1.5
        safe = used & (power >= _TINY)
        skewness = float(np.sum(cells.cubes[safe] / power[safe]) / np.sum(cells.n[used]))
        third = skewness * variance**1.5
    variance, third = np.where(used, variance, 0.0), np.where(used, third, 0.0)
    return Spreads(variance, third, float(freedom), arm.trust, place.trust, arm.freedom, place.freedom)


def _excess_kurtosis(cells: Cells, squares: Floats, left: Floats, fourths: Floats) -> float:
    """Return how heavy the tails are, each arm by its own variance: unequal ones are no heavy tails."""
    freedom = np.maximum(cells.by_arm(left), 1e-300)
    own = cells.by_arm(squares) / freedom
    squared = own**2
    seen = squared >= _TINY
    if not seen.any():
        return 0.0
    scaled = cells.by_arm(fourths)[seen] / squared[seen]
    return max(0.0, float(scaled.sum() / cells.counts[seen].sum()) - 3.0)


class _Factors(NamedTuple):
    value: Floats
    trust: Floats
    freedom: Floats


def _factors(of: Ints, squares: Floats, left: Floats, labels: int, noise: float) -> _Factors:
    """Return the variance of each label relative to the common one, drawn towards 1, and how far.

    An own ratio of n degrees of freedom has the variance noise/n around the true one; the true ones vary
    around 1 by as much as makes the weighted squares of the own ones come out as expected.

    References
    ----------
    Paule, Mandel (1982), Consensus values and weighting factors.
    """
    freedom = sums(of, left, labels)
    seen = freedom > 0.0
    own, error = np.ones(labels), np.full(labels, np.inf)
    own[seen] = sums(of, squares, labels)[seen] / freedom[seen]
    error[seen] = noise / freedom[seen]
    between = _variance_between(own[seen] - 1.0, error[seen])
    trust = between / (between + error)
    return _Factors(np.where(seen, 1.0 + trust * (own - 1.0), 1.0), trust, freedom)


def _variance_between(deviation: Floats, error: Floats) -> float:
    """Return t >= 0 at which the deviations' squares, over t + error, average 1; 0 if they are less at 0."""
    if deviation.size < 2:
        return 0.0
    t = 0.0
    for _ in range(100):
        weighted = deviation**2 / (t + error)
        excess = float(weighted.sum()) - deviation.size
        if excess <= 1e-9 * deviation.size:
            return t
        t += excess / float(np.sum(weighted / (t + error)))  # convex and falling: Newton never overshoots
    return t


def _unknown(cells: Cells) -> Spreads:
    """Nothing says how much rewards vary."""
    none = np.full(cells.n.size, np.nan)
    arms, places = np.zeros(cells.K), np.zeros(cells.J)
    return Spreads(none, none, 0.0, arms, places, arms, places)
