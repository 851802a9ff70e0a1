"""Empirical-Bayes estimates of the variance of rewards in each cell (one arm in one environment).

The variance of a reward is modelled as base x common x arm factor x environment factor, where `base` is 1 on
the scale of differences and the expected mean on that of ratios. Factors are shrunk towards 1 as far as their
own sampling error explains them. So equal variances are estimated by one common variance with all degrees of
freedom, and a small arm whose few rewards happen to be equal is not treated as free of noise.

After an adaptive policy each arm has practically its own variance, and its own degrees of freedom. Such a
policy gives up the arm that looks worst after a few rewards, and that is often the noisiest one. The other
arms then say that noise is small, and nothing in the data contradicts them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.solve.least_squares import residuals
from tideproof.stats.variance.variance_growth import growth_factors

# Residuals below this share of the largest mean are rounding.
ROUNDING = 32 * float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)
# Degrees of freedom that the common variance is worth to an arm after an adaptive policy. With 1 or more,
# intervals miss too often if the noisiest arm is given up early; with 0, an arm may seem free of noise.
_COMMON_AFTER_A_POLICY = 0.5


def is_exact(sigma: float, largest: float) -> bool:
    """Return whether a residual standard deviation is so small that it is only rounding error.

    It is compared with the largest mean.
    """
    return sigma <= ROUNDING * largest


class CellVariances(NamedTuple):
    """Variance and skewness of the rewards in each cell, with degrees of freedom.

    Attributes
    ----------
    variance, skewness : (C,) variance and skewness of a single reward.
    freedom : degrees of freedom of the common variance; infinite if those of the arms include them.
    arm_trust, environment_trust : (K,), (J,) weight of the own estimate in each factor, from 0 to 1.
    arm_freedom, environment_freedom : (K,), (J,) degrees of freedom of the own estimates.
    environment_factor : (J,) factor of the variance in each environment.
    own_skewness : (C,) skewness of a reward by the rewards of its arm alone; `skewness` is that of all
        rewards together. None if it is not used, as after an adaptive policy.
    """

    variance: Floats
    skewness: Floats
    freedom: float
    arm_trust: Floats
    environment_trust: Floats
    arm_freedom: Floats
    environment_freedom: Floats
    environment_factor: Floats
    own_skewness: Floats | None = None

    @property
    def third(self) -> Floats:
        """Third central moment of a single reward in each cell: (C,)."""
        return np.asarray(self.skewness * self.variance**1.5)

    def own_share(self, cells: Cells, parts: Floats) -> float:
        """Return the share of a sum of variances that the arms' own estimates determine, from 0 to 1."""
        return float(np.dot(self.arm_trust, cells.by_arm(parts)) / parts.sum())

    def freedom_of(self, cells: Cells, parts: Floats) -> float:
        """Return Satterthwaite's degrees of freedom of a sum of variances estimated by arm and environment.

        The errors of the common variance and of the own part of each factor add up.
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


def measure_variances(
    cells: Cells, fitted: Floats, base: Floats, freedom: int, *, adaptive: bool = False
) -> CellVariances:
    """Estimate the variance of rewards by arm and environment, around their expected means `fitted`.

    `freedom` is that of all residuals; the degrees of freedom used by the fit are charged to the cells in
    proportion. Heavy tails make a variance estimate noisier: if cells hold fourth powers, excess kurtosis
    reduces the weight of an arm's own variance. It does not for environments, whose variances enter long sums
    in which the noise averages out. `adaptive` means that a policy chose pulls by rewards.
    """
    used = (base > 0.0) & (cells.n > 0.0)
    left = np.where(used, cells.n * (1.0 - 1.0 / cells.sizes[cells.environment]), 0.0)
    if freedom <= 0 or not left.sum() > 0.0:
        return _unknown_variances(cells)
    left *= freedom / left.sum()
    squares = np.where(used, cells.squares + cells.n * (cells.mean - fitted) ** 2, 0.0)
    if is_exact(math.sqrt(squares.sum() / left.sum()), float(np.abs(cells.mean).max())):
        return _unknown_variances(cells)
    unit = np.where(used, base, 1.0)
    squares /= unit
    common = float(squares.sum() / left.sum())
    kurtosis = 0.0
    if cells.fourths is not None:
        kurtosis = _excess_kurtosis(cells, squares, left, np.where(used, cells.fourths / unit**2, 0.0))
    if np.array_equal(base, fitted):  # On the scale of ratios, proportional to means is a first guess.
        growth = growth_factors(cells, fitted, squares, left, 2.0 + kurtosis)
        squares, unit = squares / growth, unit * growth
        common = float(squares.sum() / left.sum())
    relative, known = squares / common, math.inf if adaptive else float(freedom)
    if adaptive:
        arm = own_variances(cells, relative, 2.0 + kurtosis)
    else:
        arm = shrink_variances(cells.arm, relative, left, cells.K, 2.0 + kurtosis)
    of_arm = arm.value[cells.arm]
    remaining = relative / of_arm
    # The shrunk factors of arms do not explain all squares; environments must not absorb what they leave.
    remaining *= left.sum() / remaining.sum()
    environment = shrink_variances(cells.environment, remaining, left, cells.J, 2.0)
    variance = common * unit * of_arm * environment.value[cells.environment]
    skewness, own_skewness = np.zeros(variance.size), None
    if cells.cubes is not None:
        seen = used & (variance > 0.0)
        sd = np.sqrt(variance[seen])
        skewness[used] = np.sum(cells.cubes[seen] / sd / sd / sd) / np.sum(cells.n[used])
        if not adaptive:
            usual = np.sqrt(np.where(seen, common * unit * of_arm, 1.0))  # in an average environment
            cubes = np.where(seen, cells.cubes / usual / usual / usual, 0.0)
            rewards = np.maximum(cells.by_arm(np.where(seen, cells.n, 0.0)), 1.0)
            of_one = (cells.by_arm(cubes) / rewards)[cells.arm]
            own_skewness = of_one * (usual / np.sqrt(np.where(seen, variance, np.inf))) ** 3
    variance = np.where(used, variance, 0.0)
    return CellVariances(
        variance,
        skewness,
        known,
        arm.trust,
        environment.trust,
        arm.freedom,
        environment.freedom,
        environment.value,
        own_skewness,
    )


def _excess_kurtosis(cells: Cells, squares: Floats, left: Floats, fourths: Floats) -> float:
    """Return the excess kurtosis of rewards by arm and environment, where each arm has its own variance.

    Separate variances keep unequal variances from counting as heavy tails.
    """
    freedom = np.maximum(cells.by_arm(left), 1e-300)
    own = cells.by_arm(squares) / freedom
    seen = own > 0.0
    if not seen.any():
        return 0.0
    scaled = cells.by_arm(fourths)[seen] / own[seen] / own[seen]
    return max(0.0, float(scaled.sum() / cells.counts[seen].sum()) - 3.0)


class VarianceFactors(NamedTuple):
    """Factors by which the reward variances of arms, or of environments, differ from the common variance.

    Attributes
    ----------
    value : the factors, shrunk towards 1.
    trust : weight of the own estimate in each factor, from 0 to 1.
    freedom : degrees of freedom of the own estimates.
    """

    value: Floats
    trust: Floats
    freedom: Floats


def shrink_variances(of: Ints, squares: Floats, left: Floats, labels: int, noise: float) -> VarianceFactors:
    """Return the reward variance of each arm or environment relative to the common one, shrunk towards 1.

    `of` is the arm or environment of each cell, its label. The own ratio of a label with n degrees of freedom
    has the sampling variance noise/n. The variance between labels is chosen such that the weighted squares of
    the own ratios around 1 equal their expectation.

    References
    ----------
    Paule, Mandel (1982), Consensus values and weighting factors.
    """
    freedom = sum_by_index(of, left, labels)
    seen = freedom > 0.0
    own, error = np.ones(labels), np.full(labels, np.inf)
    own[seen] = sum_by_index(of, squares, labels)[seen] / freedom[seen]
    error[seen] = noise / freedom[seen]
    return shrink_ratios(own, error, freedom)


def shrink_ratios(own: Floats, error: Floats, freedom: Floats) -> VarianceFactors:
    """Shrink ratios of variances to the common one towards 1, given the variances of their errors.

    An infinite error means that nothing is known. The variance between labels is that of `shrink_variances`.
    """
    seen = np.isfinite(error)
    between = variance_between(own[seen] - 1.0, error[seen])
    trust = between / (between + error)
    return VarianceFactors(np.where(seen, 1.0 + trust * (own - 1.0), 1.0), trust, freedom)


def own_variances(cells: Cells, squares: Floats, noise: float) -> VarianceFactors:
    """Return the reward variance of each arm relative to the common one, from the arm's own rewards.

    `squares` are the sums of squared residuals of the cells, in units of the common variance. The common
    variance counts as `_COMMON_AFTER_A_POLICY` further degrees of freedom of each arm, as a scaled inverse
    chi-squared prior does. An arm's own degrees of freedom are its residual ones, fewer with heavy tails.

    References
    ----------
    Smyth (2004), Linear models and empirical Bayes methods for assessing differential expression.
    """
    _, variance = residuals(cells.solution, cells)
    left = 1.0 - 1.0 / cells.n + variance  # 1 minus the leverage of a reward
    own = np.maximum(sum_by_index(cells.arm, cells.n * left, cells.K), 0.0)
    mean = sum_by_index(cells.arm, squares, cells.K) / np.maximum(own, _TINY)
    own *= 2.0 / noise
    freedom = own + _COMMON_AFTER_A_POLICY
    value = (own * mean + _COMMON_AFTER_A_POLICY) / freedom
    return VarianceFactors(value, np.ones(cells.K), freedom)


def variance_between(deviation: Floats, error: Floats) -> float:
    """Estimate the variance of true values, by the method of moments, from deviations and error variances.

    It is the t >= 0 at which deviation^2/(t + error) averages 1, or 0 if the average is below 1 at t = 0.
    """
    if deviation.size < 2:
        return 0.0
    t = 0.0
    for _ in range(100):
        weighted = deviation**2 / (t + error)
        excess = float(weighted.sum()) - deviation.size
        if excess <= 1e-9 * deviation.size:
            return t
        t += excess / float(np.sum(weighted / (t + error)))  # Convex and decreasing: Newton never overshoots.
    return t


def _unknown_variances(cells: Cells) -> CellVariances:
    """Return NaN for reward variances that cannot be estimated, with 0 degrees of freedom."""
    none = np.full(cells.n.size, np.nan)
    arms, environments = np.zeros(cells.K), np.zeros(cells.J)
    return CellVariances(none, none, 0.0, arms, environments, arms, environments, np.ones(cells.J))
