"""Test of whether arms differ by the same difference, ratio or odds ratio in all environments.

It generalises Tukey's test with one degree of freedom.

On the right scale, the difference between arms does not depend on the level of the environment. If the tide
is multiplicative, differences grow with the level; if it is additive, log ratios shrink with it. So the
residuals R_aj of the fit are regressed on c_a h_j. Here c are the estimates that the other scale would derive
from this fit (not from its residuals), and h_j describes how a small constant difference on the other scale
varies on this one with the level of environment j (`level_dependence`). The part of c_a h_j that a change of
the estimates explains is projected out; the remaining sum has mean 0 and a variance that follows from the
variances inside the cells.

Levels are estimates, too, and with few events their errors correlate with the residuals. For any function f
of the total T of an environment, Cov(R_a, f(T)) is, to first order, Cov(R_a, T) times the slope of f, and
Cov(R_a, T) = q_a - share_a Q, with q the variances of the cells' sums and Q their sum. That is subtracted,
with a backward slope from T to T less one typical reward: for Poisson counts, however few, this removes the
bias, because E[T g(T)] = E[T] E[g(T + 1)].

If no arm has two rewards in one environment, the noise can only be estimated from residuals, and the test is
Tukey's own, on differences and on logarithms.

References
----------
Tukey (1949), One degree of freedom for non-additivity; Pregibon (1980), Goodness of link tests for
generalized linear models.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats
from tideproof.stats.best.student_inference import f_tail, normal_tail
from tideproof.stats.cells import Cells
from tideproof.stats.scales.conditional_likelihood import cells_with_events, competing_cells, solve_ratio
from tideproof.stats.scales.odds_likelihood import conditional_moments, count_ones_and_zeros
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES, Scale, ScaleName
from tideproof.stats.solve.least_squares import (
    connected_components,
    factor_inverse,
    invert_laplacian,
    link_weights,
)

REJECTION_P = 0.05  # A scale with a smaller p-value is rejected.


class ScaleTest(NamedTuple):
    """Result of testing one scale on which arms are compared (differences, ratios or odds) against another.

    Attributes
    ----------
    z : test statistic; positive if estimates are larger in the environments where the other scale predicts
        it.
    p : two-sided p-value of the hypothesis that the scale is right; 1 if it cannot be tested.
    """

    z: float
    p: float


class ScaleDecision(NamedTuple):
    """Decision to compare arms by differences, ratios, odds or logarithms, with the tests behind it.

    Attributes
    ----------
    name : "difference", "ratio", "odds" or "log".
    tests : for each possible scale, its test with the smallest p-value; with two rivals p is doubled.
    told : whether the data reject another scale; if not, the choice is a convention.
    sentence : explanation of the choice.
    possible : the scales that were tested and not rejected, including `name`. A winner must win on each of
        them, and confidence intervals must cover each of them.
    requested : whether the user named the scale.
    """

    name: ScaleName
    tests: dict[Scale, ScaleTest]
    told: bool
    sentence: str
    possible: tuple[ScaleName, ...] = ()
    requested: bool = False


class EnvironmentLevels(NamedTuple):
    """Estimated mean reward of each environment, and the variance of a reward as a function of its mean.

    The arrays are (J,) each.

    Attributes
    ----------
    here : mean reward, shrunk towards the overall mean according to its uncertainty.
    less : the same with one typical reward less.
    reward : size of a typical reward, variance over mean.
    variance : function that returns the variance of a reward, given its mean.
    """

    here: Floats
    less: Floats
    reward: float
    variance: Callable[[Floats], Floats]


def run_scale_test(cells: Cells, scale: Scale, other: Scale) -> ScaleTest:
    """Test whether differences, ratios or odds ratios between arms are equal in all environments.

    `scale` says which of these is tested, and `other` is the alternative.
    """
    if not cells.binary and not np.any(cells.squares > 0.0):  # The variance inside cells is unknown.
        return _tukey_test(cells, scale) if np.all(cells.n == 1.0) else ScaleTest(0.0, 1.0)
    level = estimate_levels(cells)
    if not np.any(cells.compares) or np.ptp(level.here[cells.compares]) < 1e-12 * np.abs(level.here).max():
        return ScaleTest(0.0, 1.0)  # With equal levels all scales are equivalent.
    test = {"difference": _difference_test, "ratio": _ratio_test, "odds": _odds_test}[scale]
    return test(cells, level, other)


def _tukey_test(cells: Cells, scale: Scale) -> ScaleTest:
    """Test whether arm effects and shifts add up, for rewards or for their logarithms (Tukey's test).

    Each cell has one reward. z is Student's t. For any c and h that depend on the fit alone, the residuals
    along the part of c_a h_j that the fit leaves are independent of the other residuals: the test is exact
    for normal noise with one variance.
    """
    if cells.factors is not None or (scale == "ratio" and not np.all(cells.mean > 0.0)):
        return ScaleTest(0.0, 1.0)
    c = cells if scale == "difference" else replace(cells, mean=np.log(cells.mean))
    s = c.solution
    without_arm = c.mean - s.mu[c.arm]
    level = c.by_environment(without_arm) / np.maximum(c.sizes, 1.0)
    x = c.centred(s.mu[c.arm] * level[c.environment])
    left = c.centred(x - (s.P @ c.by_arm(x))[c.arm])
    square, freedom = float(np.sum(left**2)), s.freedom - 1
    exact = s.rss <= 1e-20 * float(np.sum(c.mean**2))
    with np.errstate(over="ignore"):  # With equal levels all is rounding.
        rounding = 1e-26 * float(np.max(c.mean**2) * np.sum(s.mu[c.arm] ** 2))
    if freedom < 1 or exact or not square > rounding:
        return ScaleTest(0.0, 1.0)
    U = float(np.sum(left * c.centred(without_arm))) / math.sqrt(square)
    t = U / math.sqrt(max(s.rss - U**2, 1e-20 * s.rss) / freedom)
    return ScaleTest(t if scale == "difference" else -t, f_tail(t**2, 1, freedom))


def _difference_test(cells: Cells, level: EnvironmentLevels, other: Scale) -> ScaleTest:
    """Test if differences between arms are equal in all environments, against equal ratios or odds ratios.

    Environments are weighted by 1/variance. The weights depend on the level, too, and their bias is
    corrected.
    """
    otherwise, j = SCALE_PROPERTIES["difference"].level_dependence[other], cells.environment

    def weight(x: Floats) -> Floats:
        """Return the weight of a reward with mean `x` in the fit: the inverse of its variance."""
        return 1.0 / level.variance(x)

    q = _sum_variances(cells)
    bias = q - cells.n * cells.by_environment(q)[j] / cells.sizes[j]
    raw = cells.n * replace(cells, other_weight=None).centred(cells.mean)
    f0, slope0 = _function(level, weight)
    f1, slope1 = _function(level, lambda x: otherwise(x) * weight(x))
    part = cells.weighted(cells.n * f0[j])
    P = _inverse(part)
    mu = P @ cells.by_arm(f0[j] * raw - slope0[j] * bias)
    moved = part.centred(mu[cells.arm])
    c = mu
    fitted = level.here[j] + moved
    if np.all(level.here > 0.0):
        fitted = np.maximum(fitted, 0.1 * level.here[j])
        c = solve_ratio(replace(cells, mean=fitted)).theta
    c = np.where(cells.counts > 0.0, c, 0.0)
    noise, residual = cells.n * level.variance(fitted), raw - cells.n * moved
    return _regression_test(part, P, c, residual, noise, bias, (f0, slope0), (f1, slope1))


def _ratio_test(cells: Cells, level: EnvironmentLevels, other: Scale) -> ScaleTest:
    """Test if ratios between arms are equal in all environments, against equal differences or odds ratios.

    The test is conditional on the totals of the environments. Residual R_a and total T are uncorrelated if
    the ratio of variance to mean is the same for all arms.
    """
    found = cells.ratio_fit
    part, kept = cells_with_events(cells, found)
    if not part.n.size:
        return ScaleTest(0.0, 1.0)
    fitted = found.fitted[kept]
    j = part.environment
    expected = level.here[j] * fitted * part.sizes[j] / part.totals[j]
    q = part.n * fitted * level.variance(expected) / expected
    bias = q - part.shares * part.by_environment(q)[j]
    ones = np.ones(cells.J), np.zeros(cells.J)
    c = _other_scale_estimates(other, part, fitted, level, found.theta)
    residual = part.n * (part.mean - fitted)
    extra = _function(level, SCALE_PROPERTIES["ratio"].level_dependence[other])
    return _regression_test(part, found.P, c, residual, q, bias, ones, extra)


def _odds_test(cells: Cells, level: EnvironmentLevels, other: Scale) -> ScaleTest:
    """Test if odds ratios between arms are equal in all environments, against equal differences or ratios.

    The test is conditional on the totals of the environments, which determine their levels.
    """
    found = cells.odds_fit
    S, F = count_ones_and_zeros(cells)
    part, kept = competing_cells(cells, found.component, S, F)
    if not part.n.size:
        return ScaleTest(0.0, 1.0)
    environment = np.zeros(part.J, np.int64)
    environment[part.environment] = cells.environment[kept]
    h = SCALE_PROPERTIES["odds"].level_dependence[other](level.here)[environment]
    there = level._replace(here=level.here[environment])
    c = _other_scale_estimates(other, part, found.fitted[kept], there, found.theta)
    theta = np.where(np.isfinite(found.theta), found.theta, 0.0)
    T = part.by_environment(S[kept])
    expected, first = conditional_moments(part, T, theta, h)
    _, second = conditional_moments(part, T, theta, h**2)
    slope = first.sum(axis=1) * c - first @ c
    b = found.P @ slope
    direction = c[part.arm] * h[part.environment] - b[part.arm]
    square = float(c @ (second.sum(axis=1) * c - second @ c))
    of_each = part.by_environment(direction * (S[kept] - expected))
    q = part.n * found.fitted[kept] * (1.0 - found.fitted[kept])
    about = part.by_environment(q * part.weighted(q).centred(direction) ** 2)
    if not about.sum() > 0.0:
        return ScaleTest(0.0, 1.0)
    return _environment_sum_test(of_each, (square - float(slope @ b)) * about / about.sum(), square)


def _other_scale_estimates(
    other: Scale, part: Cells, fitted: Floats, level: EnvironmentLevels, theta: Floats
) -> Floats:
    """Estimate what the arm effects are on another scale of comparison, such as ratios.

    They follow from the expected means of a fitted scale.

    The effects, (K,), depend on the fit alone and not on its residuals.
    """
    if other != "difference":
        return np.where(np.isfinite(theta), theta, 0.0)
    weight = part.n / level.variance(level.here)[part.environment]
    weighted = replace(part, mean=fitted).weighted(weight)
    return _inverse(weighted) @ part.by_arm(weight * weighted.centred(fitted))


def _inverse(part: Cells) -> Floats:
    """Return the generalised inverse of the Laplacian matrix of the graph that links compared arms.

    The matrix is (K, K).
    """
    if (short := factor_inverse(part)) is not None:
        return short.inverse()
    between = link_weights(part)
    np.fill_diagonal(between, 0.0)
    return invert_laplacian(between, connected_components(between > 0.0))


def _regression_test(
    part: Cells,
    P: Floats,
    c: Floats,
    residual: Floats,
    q: Floats,
    bias: Floats,
    base: tuple[Floats, Floats],
    extra: tuple[Floats, Floats],
) -> ScaleTest:
    """Test whether residuals by arm and environment suggest that arms be compared on another scale.

    The statistic is the sum of c_a (f1 R_aj - slope1 bias_aj) - b_a (f0 R_aj - slope0 bias_aj). The second
    term adds up to 0. b is the change of the estimates that explains most of f1 c_a, and z is the remainder,
    centred in the environment: the sum has the variance of sum_aj z_aj (sum of the cell).
    """
    arm, j = part.arm, part.environment
    (f0, slope0), (f1, slope1) = ((f[j], slope[j]) for f, slope in (base, extra))
    b = P @ part.by_arm(f1 / f0 * part.weight * part.centred(c[arm]))
    of_each = c[arm] * (f1 * residual - slope1 * bias) - b[arm] * (f0 * residual - slope0 * bias)
    z, whole = part.centred(f1 * c[arm] - f0 * b[arm]), part.centred(f1 * c[arm])
    by = part.by_environment
    return _environment_sum_test(by(of_each), by(q * z**2), float(np.sum(q * whole**2)))


def _environment_sum_test(of_each: Floats, variance: Floats, whole: float) -> ScaleTest:
    """Test whether a sum over environments has expectation 0, given each environment's term and variance.

    p is 1 if the variance of the sum is only rounding. If environments differ by more than their noise (heavy
    tails, interactions), the variance is estimated from the contributions of the environments around their
    expectation, which is proportional to their variances if the other scale is right.
    """
    U, total, J = float(of_each.sum()), float(variance.sum()), int(np.count_nonzero(variance))
    if not total > 1e-10 * whole:
        return ScaleTest(0.0, 1.0)
    apart = float(np.sum((of_each - U / total * variance) ** 2)) * J / max(1, J - 1)
    z = U / math.sqrt(max(total, apart))
    return ScaleTest(z, 2.0 * normal_tail(abs(z)))


def _function(level: EnvironmentLevels, f: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """Evaluate a function at the mean reward of each environment, and differentiate it.

    The derivative is with respect to the total reward of the environment.
    """
    here = f(level.here)
    return here, (here - f(level.less)) / level.reward


def _sum_variances(cells: Cells) -> Floats:
    """Return the variance of the sum of rewards of each arm-by-environment cell: (C,).

    A cell with a single reward gets the pooled variance of a reward or, for 0/1 rewards, that of the rewards
    of its environment.
    """
    freedom = cells.n - 1.0
    alone: float | Floats = float(np.sum(cells.squares)) / max(1.0, float(np.sum(freedom)))
    if cells.binary:
        size = np.maximum(cells.sizes, 1.0)
        ones = cells.by_environment(cells.n * cells.mean)
        alone = (ones * (size - ones) / (size * np.maximum(size - 1.0, 1.0)))[cells.environment]
    return np.asarray(cells.n * np.where(freedom > 0.0, cells.squares / np.maximum(freedom, 1.0), alone))


def estimate_levels(cells: Cells) -> EnvironmentLevels:
    """Estimate the mean reward of each environment with shrinkage.

    The result also describes how the variance of a reward depends on its mean.

    Levels are shrunk towards their mean by the share of the noise in their variance (Efron, Morris 1973). For
    rewards of 0 or more they stay above half a reward.
    """
    m = np.maximum(cells.sizes, 1.0)
    mean = cells.by_environment(cells.n * cells.mean) / m
    overall = float(np.average(mean, weights=cells.sizes))
    noise = float(np.sum(_sum_variances(cells)) / np.sum(cells.n))
    if cells.binary:  # all rewards of each cell may be equal by chance
        noise = max(noise, overall * (1.0 - overall) / cells.n.sum())
    spread = float(np.sum(m * (mean - overall) ** 2)) - (cells.J - 1.0) * noise
    between = max(0.0, spread / max(1.0, float(np.sum(m) - np.sum(m**2) / np.sum(m))))
    kept = between / (between + noise / m) if between > 0.0 else np.zeros(cells.J)
    reward = noise / overall if overall > 0.0 and noise > 0.0 else max(math.sqrt(noise), 1e-300)
    here, less = (overall + kept * (x - overall) for x in (mean, mean - reward / m))
    if np.all(cells.mean >= 0.0) and overall > 0.0:
        low = np.minimum(0.5 * reward / m, 0.5 * overall)
        here, less = np.maximum(here, low), np.maximum(less, 0.5 * low)
        if cells.binary:
            here, less = (np.minimum(x, 1.0 - low) for x in (here, less))
    return EnvironmentLevels(here, less, reward, _variance_function(cells, here))


def _variance_function(cells: Cells, level: Floats) -> Callable[[Floats], Floats]:
    """Return the function that gives the variance of a reward, given its mean.

    For a mean of x the variance is x (1 - x) for 0/1 rewards, else s x^k.
    """
    if cells.binary:
        return lambda x: np.maximum(x * (1.0 - x), 1e-12)
    squares, freedom = cells.by_environment(cells.squares), cells.by_environment(cells.n - 1.0)
    power = _growth(cells, level).power
    if power == 0.0:
        scale = float(np.sum(squares)) / max(1.0, float(np.sum(freedom)))
        return lambda x: np.full(x.shape, max(scale, 1e-300))
    scale = float(np.sum(squares) / np.sum(freedom * level**power))
    least = 1e-12 * float(np.max(level))
    return lambda x: scale * np.maximum(x, least) ** power


class _Growth(NamedTuple):
    """Growth of the noise variance with the mean reward: the power in a power law, and its z-score.

    The power is the k of s x^k for a mean of x. The z-score tests it against 0.
    """

    power: float
    z: float


def noise_grows(cells: Cells) -> bool:
    """Return True if rewards vary significantly more in environments with higher mean rewards.

    The noise is then multiplicative.
    """
    return _growth(cells, estimate_levels(cells).here).z > 2.0


def _growth(cells: Cells, level: Floats) -> _Growth:
    """Compare the noise variance between environments with low and with high mean rewards.

    The noise variance is that inside cells. The compared environments are the thirds with the lowest and
    the highest levels.

    The log variance of n degrees of freedom has the variance (2 + excess kurtosis)/n. The result is 0 if
    levels may be negative or hardly differ.
    """
    order, third = np.argsort(level, kind="stable"), max(1, cells.J // 3)
    ends = order[:third], order[-third:]
    squares, freedom = cells.by_environment(cells.squares), cells.by_environment(cells.n - 1.0)
    left = [max(1.0, float(np.sum(freedom[these]))) for these in ends]
    inside = [float(np.sum(squares[these])) / n for these, n in zip(ends, left, strict=True)]
    if not np.all(level > 0.0) or not min(inside) > 0.0:
        return _Growth(0.0, 0.0)
    low, high = (float(np.average(level[these], weights=freedom[these] + 1e-9)) for these in ends)
    if not high > 1.1 * low:
        return _Growth(0.0, 0.0)
    noise = np.full(2, 2.0)
    if cells.fourths is not None:
        fourths = cells.by_environment(cells.fourths)
        for end, these in enumerate(ends):
            noise[end] += max(0.0, fourths[these].sum() / left[end] / inside[end] / inside[end] - 3.0)
    rise = math.log(inside[1] / inside[0])
    power = float(np.clip(rise / math.log(high / low), 0.0, 3.0))
    return _Growth(power, rise / math.sqrt(float(np.sum(noise / left))))
