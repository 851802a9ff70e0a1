"""Empirical-Bayes estimates of the variance of rewards in each cell (one arm in one environment).

The variance of a reward is modelled as base x common x arm factor x environment factor, where `base` is 1 on
the scale of differences and the expected mean on that of ratios. Factors are shrunk towards 1 as far as their
own sampling error explains them. So equal variances are estimated by one common variance with all degrees of
freedom, and a small arm whose few rewards happen to be equal is not treated as free of noise.

After an adaptive policy each arm has practically its own variance, and its own degrees of freedom. Such a
policy gives up the arm that looks worst after a few rewards, and that is often the noisiest one. The other
arms then say that noise is small, and nothing in the data contradicts them.

On the scale of ratios a variance proportional to the mean is only a first guess: that of durations and prices
grows with the square of the mean. Environments with a high mean have most influence on a ratio, so the
variance of the ratio would be too small if environments with few rewards each all got the common variance.
`growth_factors` estimates this growth from the squared residuals of a fit.

`unequal_variances` tests whether variances differ: an analysis of variance of the log variances by arm and
environment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import f_tail
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.solve.least_squares import residuals
from tideproof.table import Table, to_json_values

# Residuals below this share of the largest mean are rounding.
ROUNDING = 32 * float(np.finfo(np.float64).eps)
_MOST_STEPS, _LARGEST_STEP = 30, 1.0
_STEEPEST = 4.0  # Largest power of the mean.
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
        """Return how much of a sum of variances the arms' own variance estimates determine, from 0 to 1."""
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
    """Shrink ratios of variances to their common value towards 1, given the errors of the variances.

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


def growth_factors(cells: Cells, fitted: Floats, squares: Floats, left: Floats, noise: float) -> Floats:
    """Return the factor level^k of the variance of each cell, (C,), relative to its first guess.

    `squares` are squared residuals in units of the first guess, with `left` degrees of freedom. A squared
    residual has the variance `noise` times its squared expectation. k is the maximum likelihood estimate for
    normal noise (a gamma regression), shrunk to 0 by its standard error. The result is 1 in all cells if the
    levels of environments are not above 0 or do not differ.
    """
    freedom, total = cells.by_environment(left), cells.by_environment(squares)
    level = cells.by_environment(cells.n * fitted) / np.maximum(cells.sizes, 1.0)
    seen = freedom > 0.0
    if not np.all(level[seen] > 0.0):
        return np.ones(cells.n.size)
    x = np.log(np.where(seen, level, 1.0))
    x -= np.average(x, weights=freedom)
    information = float(np.sum(freedom * x**2))
    if not information > 1e-9 * float(freedom.sum()):
        return np.ones(cells.n.size)
    k = 0.0
    for _ in range(_MOST_STEPS):  # Fisher scoring; the common variance is the one that fits best for this k.
        expected = freedom * np.exp(k * x)
        expected *= total.sum() / expected.sum()
        ratio = np.divide(total, expected, out=np.ones_like(total), where=seen)
        step = float(np.sum(freedom * x * ratio)) / information
        k = float(np.clip(k + np.clip(step, -_LARGEST_STEP, _LARGEST_STEP), -_STEEPEST, _STEEPEST))
        if abs(step) < 1e-9:
            break
    shrunk = k * max(0.0, 1.0 - noise / information / k**2) if k else 0.0
    return np.asarray(np.where(seen, np.exp(shrunk * x), 1.0)[cells.environment])


@dataclass(frozen=True, slots=True)
class Spread:
    """Result of the F tests of equal variances between arms and between environments.

    Attributes
    ----------
    F_arm, df_arm, p_arm : test that all arms have equal variances, adjusted for environments.
    F_environment, df_environment, p_environment : test that all environments do, adjusted for arms.
    df : denominator degrees of freedom of both tests.
    arms, environments : tables with the standard deviation inside the cells of each, and its degrees of
        freedom.
    """

    F_arm: float
    df_arm: int
    p_arm: float
    F_environment: float
    df_environment: int
    p_environment: float
    df: int
    arms: Table
    environments: Table

    def to_dict(self) -> dict[str, Any]:
        """Return the result of the equal-variance tests as a dictionary of plain values for JSON."""
        found: dict[str, Any] = to_json_values(self)
        return found


def unequal_variances(c: Cells) -> Spread:
    """Test whether all arms have equal reward variances, and whether all environments do.

    ln s^2 of each cell, without its bias under normal noise, is fitted by an arm and an environment effect
    with weights 1/trigamma(df/2). The residuals measure how much heavy tails add to the variation of the log
    variances, so heavy tails do not count as unequal variances.

    References
    ----------
    Bartlett, Kendall (1946), The statistical analysis of variance-heterogeneity and the logarithmic
    transformation; Layard (1973), Robust large-sample tests for homogeneity of variances.
    """
    logs = _log_variances(c)
    s, w, y = logs.solution, logs.weight, logs.mean
    df = w.size - s.environments - s.joins
    df_arm, df_environment = s.joins, s.environments - np.unique(logs.arm).size + s.joins
    if df <= 0 or not s.rss > 0.0:  # df > 0 implies two arms and two environments
        raise InputError(
            "unequal variances cannot be tested: the test needs two arms with three rewards each in each of "
            "two environments"
        )
    noise = s.rss / df
    F_arm = (_around(logs.environment, w, y, c.J) - s.rss) / df_arm / noise
    F_environment = (_around(logs.arm, w, y, c.K) - s.rss) / df_environment / noise
    return Spread(
        F_arm=F_arm,
        df_arm=df_arm,
        p_arm=f_tail(F_arm, df_arm, df),
        F_environment=F_environment,
        df_environment=df_environment,
        p_environment=f_tail(F_environment, df_environment, df),
        df=df,
        arms=_table("arm", c, c.arm, c.arms),
        environments=_table("environment", c, c.environment, c.environments),
    )


def _log_variances(c: Cells) -> Cells:
    """Return a data set of the log variances of rewards: one for each arm in each environment.

    The estimates are unbiased. Their weights are the inverse sampling variances of the log variances.
    """
    from scipy.special import polygamma, psi

    used = np.flatnonzero((c.n >= 3.0) & (c.squares > 0.0))
    half = 0.5 * (c.n[used] - 1.0)
    y = np.log(c.squares[used] / (2.0 * half)) - (psi(half) - np.log(half))
    one, none = np.ones(used.size), np.zeros(used.size)
    made = Cells(c.arms, c.environments, c.arm[used], c.environment[used], one, y, none)
    return made.weighted(1.0 / np.asarray(polygamma(1, half)))


def _around(label: Ints, w: Floats, y: Floats, labels: int) -> float:
    """Return the weighted sum of squared deviations of values from the means of their groups.

    `label` is the group of each value y, and `w` its weight.
    """
    centre = sum_by_index(label, w * y, labels)[label] / sum_by_index(label, w, labels)[label]
    return float(np.sum(w * (y - centre) ** 2))


def _table(name: str, c: Cells, of: Ints, labels: list[object]) -> Table:
    """Return a table of the noise's standard deviation, with one row for each arm or each environment."""
    variance, freedom = variance_inside(c, of, len(labels))
    return Table({name: labels, "sd": np.sqrt(variance), "degrees_of_freedom": freedom.astype(np.int64)})


def variance_inside(c: Cells, of: Ints, labels: int) -> tuple[Floats, Floats]:
    """Return the noise variance in each group of arm-by-environment cells, and its degrees of freedom.

    `of` is the group of each cell, from 0 to `labels` - 1; both results are (labels,).
    """
    freedom = sum_by_index(of, c.n - 1.0, labels)
    with np.errstate(divide="ignore", invalid="ignore"):
        return sum_by_index(of, c.squares, labels) / freedom, freedom
