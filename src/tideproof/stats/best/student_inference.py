"""Tail probabilities, quantiles, Dunnett's constants, and the probability that each arm is the best.

A sum of many independent terms, some of them rare or with a long tail, is closer to a shifted gamma
distribution (Pearson type III) with the same mean, variance and skewness than to a normal one. Its tails are
returned as z-scores: the standard normal numbers with the same tail probability.

All functions take arrays or numbers. scipy is imported when one of them first runs.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.stats.cells import sum_by_index

MOST_JOINT_ARMS = 500  # With more arms, the joint distribution is too expensive.
_FORGOTTEN = 1e-4  # Total probability that `probabilities_of_best` may neglect.
_SYMMETRIC = 1e-5  # With less skewness the normal distribution is equal up to rounding.
_BEYOND = 1e6  # Numbers this far out are certain, and their cubes do not overflow.
_END = 37.0  # Largest z-score: beyond it tail probabilities underflow.


def pair_variances(C: Floats) -> Floats:
    """Return the variance of the difference of each pair of arms, given the arms' covariance matrix: (K, K).

    >>> pair_variances(np.array([[2.0, 0.5], [0.5, 3.0]]))
    array([[0., 4.],
           [4., 0.]])
    """
    own = np.diag(C)
    return np.asarray(own[:, None] + own - 2.0 * C)


def t_quantile(confidence: float, freedom: float) -> float:
    """Return t such that a Student-t number lies in (-t, t) with probability `confidence`; NaN if df is 0.

    >>> round(t_quantile(0.95, 10), 3)
    2.228
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + 0.5 * confidence)) if freedom else math.nan


def student_intervals(
    estimate: Floats, variance: Floats, freedom: Floats, confidence: float
) -> dict[str, Floats]:
    """Return standard errors and Student-t confidence intervals by name: "se", "low" and "high".

    They are NaN for 0 degrees of freedom.
    """
    from scipy.special import stdtrit

    se = np.sqrt(variance)
    reach = (
        np.where(
            freedom == 0.0, np.nan, stdtrit(np.where(freedom == 0.0, 1.0, freedom), 0.5 + 0.5 * confidence)
        )
        * se
    )
    return {"se": se, "low": estimate - reach, "high": estimate + reach}


def normal_tail(z: float) -> float:
    """Return the probability that a standard normal number exceeds z.

    >>> round(normal_tail(1.96), 3)
    0.025
    """
    from scipy.special import ndtr

    return float(ndtr(-z))


def normal_quantile(probability: float) -> float:
    """Return the quantile of the standard normal distribution at `probability`."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def f_tail(F: float, df1: float, df2: float) -> float:
    """Return the upper tail probability of the F distribution at `F`: a p-value.

    >>> round(f_tail(4.96, 1, 10), 3)
    0.05
    """
    from scipy.special import fdtrc

    return float(fdtrc(df1, df2, F))


def probabilities_of_best(mu: Floats, sigma: float, P: Floats, freedom: float) -> tuple[Floats, float]:
    """Return each arm's probability of having the highest mean, under a flat prior, with the numerical error.

    The contrasts are multivariate Student-t around those of `mu`, with squared scale sigma^2 P. On a line mu
    + r v with r real, each arm is the highest on one interval of r, whose probability is known in closed
    form. So only the direction v is integrated numerically, over a Kronecker lattice on the sphere with 16
    random shifts and a fixed seed. With many arms, those whose probabilities of exceeding the leader add up
    to less than 1e-4 are left out. The error, the largest over arms, is 0 for two arms, a few 1e-4 for ten
    and about 1e-3 for fifty.

    References
    ----------
    Monahan, Genz (1997), Spherical-radial integration rules for Bayesian computation.

    Examples
    --------
    >>> chance, error = probabilities_of_best(np.zeros(3), 1.0, np.eye(3), freedom=9)
    >>> chance.round(2)
    array([0.33, 0.33, 0.33])
    >>> error < 1e-3
    True
    """
    if sigma == 0.0 or not P.any():
        best = mu == mu.max()
        return best / best.sum(), 0.0
    K = mu.size
    if K > MOST_JOINT_ARMS and (near := _relevant_arms(mu, sigma, P, freedom)).size < K:
        chance = np.zeros(K)
        chance[near], error = probabilities_of_best(mu[near], sigma, P[np.ix_(near, near)], freedom)
        return chance, error
    root = sigma * _root(P)
    points = _points(K, 64, 2**16)
    random = np.random.default_rng(20240919)
    chances = []
    for _ in range(16):
        v = directions(points, random.random(K - 1)) @ root.T
        chances.append(line_probabilities(mu, v, freedom))
    error = np.std(chances, axis=0, ddof=1).max() / math.sqrt(len(chances))
    return np.clip(np.mean(chances, axis=0), 0.0, 1.0), float(error)


def _relevant_arms(mu: Floats, sigma: float, P: Floats, freedom: float) -> Ints:
    """Return the leading arm and all arms with a non-negligible probability of being better.

    There is at least one of these other arms.
    """
    from scipy.special import stdtr

    leader = int(np.argmax(mu))
    se = sigma * np.sqrt(np.maximum(np.diag(P) + P[leader, leader] - 2.0 * P[leader], 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        above = stdtr(freedom, (mu - mu[leader]) / se)
    above[leader] = np.inf
    above[np.isnan(above)] = 1.0  # 0/0: an exact copy of the leader.
    limit = min(_FORGOTTEN / mu.size, float(np.sort(above)[-2]))
    return np.flatnonzero(above >= limit)


def line_probabilities(mu: Floats, v: Floats, freedom: float) -> Floats:
    """Return the probability that each arm is the best, by integrating along lines of possible arm means.

    A line consists of the vectors of arm means `mu` + r * direction. r has the distribution of `radial_cdf`,
    and each row of `v` is the direction of one line. `mu` is (K,), or (lines, K) if each line has its own
    centre. Each line is followed from r = -inf, where the arm with the smallest slope is the highest, from
    one crossing to the next. That takes a few steps, however many arms there are.
    """
    K, line = mu.shape[-1], np.arange(len(v))
    mu, chance = np.broadcast_to(mu, v.shape), np.zeros(K)
    arm, low = v.argmin(axis=1), np.zeros(len(v))
    while True:
        rise = v - v[line, arm, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            crossing = np.where(rise > 0.0, (mu[line, arm, None] - mu) / rise, np.inf)
        following = crossing.argmin(axis=1)
        r = crossing[line, following]
        high = radial_cdf(r, K - 1, freedom)
        chance += sum_by_index(arm, high - low, K)
        if np.all(r == np.inf):
            return chance / len(v)
        arm, low = np.where(r == np.inf, arm, following), high


def radial_cdf(r: Floats, dimension: int, freedom: float) -> Floats:
    """Return the distribution function of the randomly signed length of a multivariate Student-t vector.

    The vector has `dimension` elements and the identity as its scale matrix. Both signs are equally likely.
    """
    from scipy.special import fdtr

    with np.errstate(over="ignore"):
        return np.asarray(0.5 + 0.5 * np.sign(r) * fdtr(dimension, freedom, r**2 / dimension))


def dunnett_constants(C: Floats, freedom: Floats, confidence: float, which: Ints | None = None) -> Floats:
    """Return Dunnett's one-sided critical value of each arm as the control: (K,).

    With probability `confidence` no (x_k - x_i)/se_ik, k != i, exceeds d_i. Here x is multivariate Student-t
    with squared scale C and `freedom[i]` degrees of freedom, and se_ik is the scale of x_k - x_i; the design
    may be unbalanced. The error is below 0.015 for up to twelve arms and below 0.03 for more. Equal arms may
    differ by that, and so may machines whose linear algebra chooses other axes. Beyond 500 arms the result is
    Bonferroni's constant, which is larger. If `which` is given, values are computed for these arms only and
    are NaN for the others.

    References
    ----------
    Dunnett (1955), A multiple comparison procedure for comparing several treatments with a control.

    Examples
    --------
    Two arms are a Student-t quantile; Dunnett's table says 2.25 for five with 30 degrees of freedom.

    >>> dunnett_constants(np.eye(2), np.full(2, 10.0), 0.95).round(3)
    array([1.812, 1.812])
    >>> d = dunnett_constants(np.eye(5), np.full(5, 30.0), 0.95)
    >>> bool(np.abs(d - 2.25).max() < 0.015)
    True
    """
    from scipy.special import stdtrit

    K = len(C)
    single = stdtrit(freedom, confidence)  # Critical value of a single comparison.
    bonferroni = stdtrit(freedom, 1.0 - (1.0 - confidence) / (K - 1))
    if K > MOST_JOINT_ARMS:
        return np.asarray(bonferroni)
    found = np.full(K, np.nan)
    for i, chance in dunnett_functions(C, freedom, np.arange(K) if which is None else which):
        found[i] = root_between(float(single[i]), float(bonferroni[i]), partial(_excess, chance, confidence))
    return found


def _excess(chance: Callable[[float], float], confidence: float, d: float) -> float:
    """Return the probability that no t statistic exceeds `d`, minus the wanted probability `confidence`."""
    return chance(d) - confidence


def dunnett_probabilities(C: Floats, freedom: Floats, d: Floats, which: Ints) -> Floats:
    """Return the confidence level of a given Dunnett critical value, for each arm as the control.

    It is the probability that no other arm's t statistic against the control exceeds the given value.

    For arm i as the control the value is `d[i]`. The result is NaN for arms that are not in `which`.

    It inverts `dunnett_constants`, at a tenth of the cost. Beyond 500 arms it is Bonferroni's bound.
    """
    from scipy.special import stdtr

    found = np.full(len(C), np.nan)
    if len(C) > MOST_JOINT_ARMS:
        found[which] = 1.0 - (len(C) - 1.0) * stdtr(freedom[which], -d[which])
        return found
    for i, chance in dunnett_functions(C, freedom, which):
        found[i] = chance(float(d[i]))
    return found


def dunnett_functions(
    C: Floats, freedom: Floats, which: Ints
) -> Iterator[tuple[int, Callable[[float], float]]]:
    """Yield, for each arm as the control, the distribution function of the other arms' largest t statistic.

    Along a direction the largest ratio is a multiple of the radius, whose distribution is known. Directions
    are integrated over the lattice of `probabilities_of_best` and its mirror image.
    """
    K = len(C)
    points = 1024 if K <= 5 else _points(K, 1024, 2**19)
    v = centred_directions(points, K - 1) @ _root(C).T
    scale = np.sqrt(np.maximum(pair_variances(C), 0.0))
    inside = {nu: radial_table(K - 1, nu) for nu in set(freedom[which].tolist())}
    for i in which.tolist():
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.delete((v - v[:, i, None]) / scale[i], i, axis=1)
        steepest = np.concatenate([ratio.max(axis=1), -ratio.min(axis=1)])
        yield i, largest_ratio_cdf(steepest, *inside[float(freedom[i])])


def radial_table(dimension: int, freedom: float) -> tuple[Floats, Floats]:
    """Return a table of the distribution function of the length of a multivariate Student-t vector.

    It is equally spaced in r/(1 + r).
    """
    step = np.linspace(0.0, 1.0, 2**12, endpoint=False)
    r = step / (1.0 - step)
    return r, 2.0 * radial_cdf(r, dimension, freedom) - 1.0


def largest_ratio_cdf(steepest: Floats, r: Floats, cdf: Floats) -> Callable[[float], float]:
    """Return the distribution function of the largest of several t statistics.

    It is valid for arguments of at least 0.

    `steepest` holds the largest ratio along each direction, per unit of the radius; `r` and `cdf` are a table
    of the radius's distribution function.
    """
    rising = np.minimum(steepest[steepest > 0.0], np.finfo(np.float64).max)  # finite, if a variance is 0
    never = steepest.size - rising.size
    return lambda d: float((np.sum(np.interp(d / rising, r, cdf)) + never) / steepest.size)


def root_between(low: float, high: float, f: Callable[[float], float], close: float = 1e-9) -> float:
    """Return the zero of an increasing function between two points, by the Illinois root-finding method.

    The method is a variant of false position.
    """
    at_low, at_high = f(low), f(high)
    if at_low >= 0.0 or high <= low:
        return low
    if at_high <= 0.0:
        return high
    for _ in range(60):
        x = high - at_high * (high - low) / (at_high - at_low)
        y = f(x)
        if abs(y) < close:
            return x
        if y < 0.0:
            low, at_low, at_high = x, y, 0.5 * at_high
        else:
            high, at_high, at_low = x, y, 0.5 * at_low
    return x


def _points(arms: int, fewest: int, numbers: int) -> int:
    """Return how many directions a numerical integral over a sphere uses.

    There are 4096, or fewer to save memory, but at least `fewest`.

    >>> [_points(arms, 64, 2**16) for arms in (2, 15, 16, 17, 100, 2000)]
    [4096, 4096, 4096, 3855, 655, 64]
    """
    return max(fewest, min(4096, numbers // arms))


def directions(points: int, shift: Floats) -> Floats:
    """Return points spread evenly on the unit sphere: a folded Kronecker lattice of normal quantiles."""
    from scipy.special import ndtri

    lattice = np.outer(np.arange(points), 2.0 ** (np.arange(1, shift.size + 1) / (shift.size + 1)))
    uniform = np.abs(2.0 * ((lattice + shift) % 1.0) - 1.0)
    z = ndtri(np.clip(uniform, 2.0**-53, 1.0 - 2.0**-53))
    return np.asarray(z / np.linalg.norm(z, axis=1, keepdims=True))


@lru_cache(maxsize=8)
def centred_directions(points: int, dimension: int) -> Floats:
    """Return points spread evenly on the unit sphere, always the same ones, from a cache.

    They are `directions` for a lattice shift of one half.
    """
    return directions(points, np.full(dimension, 0.5))


def _root(C: Floats) -> Floats:
    """Return a square root R of the arms' covariance matrix C: R R' equals C for differences between arms.

    R is (K, K - 1). It is computed from eigenvectors, or by Cholesky factorisation for many arms.
    """
    if len(C) > MOST_JOINT_ARMS:
        R = np.zeros((len(C), len(C) - 1))
        with contextlib.suppress(np.linalg.LinAlgError):  # an arm without variance
            R[1:] = np.linalg.cholesky(C[1:, 1:] - C[1:, :1] - C[:1, 1:] + C[0, 0])
            return R
    C = C - C.mean(axis=0) - C.mean(axis=1, keepdims=True) + C.mean()
    variance, axes = np.linalg.eigh(C)  # The first axis is the common level, which is irrelevant.
    return np.asarray(axes[:, 1:] * np.sqrt(np.maximum(variance[1:], 0.0)))


def chi2_tail(x: float, freedom: float) -> float:
    """Return the upper tail probability of the chi-squared distribution at `x`; 1 for 0 degrees of freedom.

    >>> round(chi2_tail(3.841, 1), 3)
    0.05
    """
    from scipy.special import chdtrc

    return float(chdtrc(freedom, x)) if freedom else 1.0


def deviate(x: float, variance: float, third: float) -> float:
    """Return the normal z-score of a skewed number x with mean 0, given its variance and third moment.

    `third` is the third central moment. For a count the result is close to the z-score of the mid-p-value:
    half the probability of the observed count is included.

    Examples
    --------
    Nine events where four were expected: for a Poisson number P(X > 9) + P(X = 9)/2 is 0.0147, a z-score of
    2.18.

    >>> round(deviate(5.0, 4.0, 4.0), 2), round(deviate(5.0, 4.0, 0.0), 2)
    (2.19, 2.5)
    """
    if variance <= 0.0:
        return 0.0
    sd = math.sqrt(variance)
    return skewed_deviate(x / sd, third / sd / sd / sd)  # A power of the variance might be 0 or infinite.


def skewed_deviate(z: float, skewness: float) -> float:
    """Return the normal z-score of a skewed number with mean 0 and variance 1.

    References
    ----------
    Pearson (1895), Contributions to the mathematical theory of evolution II.
    """
    from scipy.special import gammainc, gammaincc, ndtri

    if abs(skewness) < _SYMMETRIC:
        return z
    shape = (2.0 / skewness) ** 2
    at = shape + 2.0 * z / skewness
    if at <= 0.0:  # x is beyond the end of the shorter tail.
        return -math.copysign(_END, skewness)
    longer, shorter = float(gammaincc(shape, at)), float(gammainc(shape, at))
    found = -ndtri(longer) if longer < shorter else ndtri(shorter)
    return math.copysign(1.0, skewness) * float(min(max(found, -_END), _END))


def hall_transform(t: Any, skewness: Any) -> Any:
    """Return t statistics from which the effect of the skewness of their numerator is removed.

    References
    ----------
    Hall (1992), On the removal of skewness by transformation.

    >>> hall_transform(2.0, 0.0), round(hall_transform(-2.0, 0.3), 2)
    (2.0, -1.58)
    """
    cubic = t + skewness * t * t / 3.0 + skewness * skewness * t**3 / 27.0
    return cubic + skewness / 6.0


def allow_for_own_shapes(z: Any, t: Any, skewness: Any, share: Any) -> Any:
    """Correct the z-scores of arm differences for arms whose rewards are distributed differently.

    A z-score `z` takes the variance of the score for known. If the arms' own rewards determine the variance,
    the standardized score `t` is a Student statistic instead: a skewed arm with few large rewards seems to
    have both a small mean and little noise. `skewness` is that of the score, by each arm's own rewards. If
    the z-score without its effect is nearer to 0, the result moves there: hardly if the `share` of the
    variance that is due to the arms' own estimates is small, and almost the whole way if it is large.

    >>> [round(float(allow_for_own_shapes(-2.4, -2.4, 0.3, share)), 2) for share in (0.0, 0.3, 1.0)]
    [-2.4, -2.31, -1.82]
    """
    own = hall_transform(np.clip(t, -_BEYOND, _BEYOND), np.clip(skewness, -_BEYOND, _BEYOND))
    own = np.where(z * own < 0.0, 0.0, own)
    weight = share * share / (share * share + (1.0 - share) ** 2)
    return np.where(np.abs(own) < np.abs(z), z + weight * (own - z), z)


def deviates(x: Floats, variance: Floats, third: Floats) -> Floats:
    """Return the normal z-scores of many skewed numbers: the function `deviate` for arrays.

    >>> deviates(np.array([5.0, 5.0]), np.array([4.0, 4.0]), np.array([4.0, 0.0])).round(2)
    array([2.19, 2.5 ])
    """
    from scipy.special import gammainc, gammaincc, ndtri

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        sd = np.sqrt(variance)
        z, skewness = x / sd, third / sd / sd / sd
        shape, sign = (2.0 / skewness) ** 2, np.sign(skewness)
        at = shape + 2.0 * z / skewness
        longer, shorter = gammaincc(shape, at), gammainc(shape, at)
        bent = sign * np.clip(np.where(longer < shorter, -ndtri(longer), ndtri(shorter)), -_END, _END)
        bent = np.where(at <= 0.0, -sign * _END, bent)
        found = np.where(np.abs(skewness) < _SYMMETRIC, z, bent)
    return np.where(variance <= 0.0, 0.0, found)


def normals_from_student(t: Floats, freedom: Floats) -> Floats:
    """Convert Student-t numbers to normal z-scores of equal tail probability; NaN for 0 degrees of freedom.

    >>> normals_from_student(np.array([2.228, 1.3, 1.0]), np.array([10.0, np.inf, 0.0])).round(2)
    array([1.96, 1.3 ,  nan])
    """
    from scipy.special import ndtri, stdtr

    with np.errstate(invalid="ignore"):
        tail = stdtr(np.where(np.isinf(freedom), 1.0, freedom), -np.abs(t))
        found = np.copysign(np.where(tail > 0.0, ndtri(tail), _END), t)
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
    return math.copysign(float(ndtri(tail)) if tail > 0.0 else _END, t)


def student_from_normal(z: float, freedom: float) -> float:
    """Return the Student-t quantile with the same tail probability as the normal z-score `z`.

    >>> round(student_from_normal(1.96, 10.0), 2)
    2.23
    """
    from scipy.special import ndtr, stdtrit

    return z if math.isinf(freedom) else math.copysign(float(stdtrit(freedom, ndtr(-abs(z)))), z)
