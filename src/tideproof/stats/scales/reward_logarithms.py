"""Analysis of the logarithms of positive rewards by least squares, with shifts that multiply rewards.

The model is r = exp(theta_arm + s_environment + noise). If noise is multiplicative, as with prices and
durations, logarithms give every environment the same weight, and no single reward dominates. Means of
logarithms compare geometric means. The ratio of arithmetic means needs half the variance of each arm's
logarithms in addition, whose uncertainty is taken into account. That is correct if the logarithms are
normal, and also if they are not but have equal variances in all arms. Tests of
these conditions miss a few timeouts of one arm, which hardly change its logarithms but change its mean, so
logarithms are used only on request.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import chi2_tail
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.pairs.difference_pairs import additive_pairs
from tideproof.stats.pairs.log_pairs import LogPairs
from tideproof.stats.pairs.ratio_pairs import factor_means_and_shifts, ratio_pairs
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Estimate, uniform_estimate


def require_logs(cells: Cells) -> Cells:
    """Return statistics of the logarithms of rewards; raise `InputError` if they were not computed."""
    if cells.logs is not None:
        return cells.logs
    if cells.low is not None and cells.low.min() <= 0.0:
        raise InputError(f"scale='log' needs rewards above 0; the lowest is {cells.low.min():g}")
    raise InputError(
        "scale='log' needs the single rewards, all above 0; it does not support aggregated rows, ratio "
        "metrics, covariates, units, two environment columns or live experiments: use scale='ratio'"
    )


class LogMeans(NamedTuple):
    """Logarithms of the arms' means, up to a constant, with covariance and degrees of freedom.

    Attributes
    ----------
    theta : (K,) mean of the logarithms plus half their variance, `half`. If the logarithms are normal, or
        have equal variances in all arms, differences of theta are log ratios of means.
    covariance, freedom : (K, K) covariance of theta, and degrees of freedom of each difference.
    pairs : tests and confidence bounds for each pair of arms.
    """

    theta: Floats
    half: Floats
    covariance: Floats
    freedom: Floats
    pairs: LogPairs


def log_means(logs: Cells, solution: Solution) -> LogMeans:
    """Estimate the logarithm of each arm's mean reward from the logarithms of the rewards.

    `logs` are the cells of the logarithms, and `solution` is their least-squares fit. Each arm has its own
    variance, around the expected means of its cells. The variance of that estimate is (2 + excess kurtosis)
    times its square over its degrees of freedom, and it is added to the covariance.
    """
    pairs = additive_pairs(logs, solution)
    squares = logs.squares + logs.n * (logs.mean - pairs.scale.fitted) ** 2
    left = logs.by_arm(logs.n * (1.0 - 1.0 / logs.sizes[logs.environment]))
    left = np.maximum(left * solution.freedom / max(1e-300, float(left.sum())), 1e-300)
    own = np.where(left >= 1.0, logs.by_arm(squares) / left, float(squares.sum()) / max(1, solution.freedom))
    nu = 2.0 * np.maximum(left, 1.0) / (2.0 + _excess_kurtosis(logs, logs.arm, logs.K))
    freedom = np.floor(np.minimum(np.maximum(left[:, None] + left - 1.0, 1.0), float(solution.freedom)))
    half, theta = 0.5 * own, solution.mu + 0.5 * own
    tests = LogPairs(theta, pairs.covariance, freedom, half, nu)
    return LogMeans(theta, half, pairs.covariance + np.diag(2.0 * half**2 / nu), freedom, tests)


def equal_variances_p(c: Cells, of: Ints, labels: int) -> float:
    """Return the p-value of Layard's test that all groups of rewards have equal variances.

    It is 0 if this cannot be tested.

    References
    ----------
    Layard (1973), Robust large-sample tests for homogeneity of variances.
    """
    seen, y, w = _log_variances(c, of, labels)
    if seen.size < 2:
        return 0.0
    return chi2_tail(float(np.sum(w * (y - np.average(y, weights=w)) ** 2)), seen.size - 1.0)


def normality_p(logs: Cells) -> float:
    """Return the p-value of the Jarque-Bera test that logarithms of rewards are normally distributed.

    It is 1 if this cannot be tested.

    It tests the deviations from the means of the arm-by-environment cells.

    References
    ----------
    Jarque, Bera (1987), A test for normality of observations and regression residuals.
    """
    used = (logs.n >= 3.0) & (logs.squares > 0.0)
    if logs.cubes is None or logs.fourths is None or not used.any():
        return 1.0
    n, freedom = logs.n[used], logs.n[used] - 1.0
    v = float(np.sum(logs.squares[used]) / np.sum(freedom))
    keep = freedom / n  # Share of the variance left around an estimated mean.
    third = float(np.sum(logs.cubes[used])) / v**1.5 / math.sqrt(6.0 * float(np.sum(n * keep**3)))
    fourth = float(np.sum(logs.fourths[used] - 3.0 * n * (keep * v) ** 2)) / v**2
    fourth /= math.sqrt(24.0 * float(np.sum(n * keep**4)))
    return chi2_tail(third**2 + fourth**2, 2.0)


def _excess_kurtosis(c: Cells, of: Ints, labels: int) -> float:
    """Return the excess kurtosis of rewards around the means of arm-by-environment cells.

    Each group of cells has its own variance. `of` is the group of each cell. The result is 0 if it is
    unknown.
    """
    freedom, squares = sum_by_index(of, c.n - 1.0, labels), sum_by_index(of, c.squares, labels)
    seen = (freedom > 0.0) & (squares > 0.0)
    if c.fourths is None or not seen.any():
        return 0.0
    own = squares[seen] / freedom[seen]
    scaled = sum_by_index(of, c.fourths, labels)[seen] / own / own
    return max(0.0, float(np.sum(scaled) / np.sum(sum_by_index(of, c.n, labels)[seen])) - 3.0)


def _log_variances(c: Cells, of: Ints, labels: int) -> tuple[Ints, Floats, Floats]:
    """Return the log variance of each group of rewards, with its weight.

    The first result lists the groups in which rewards vary; the others are left out.

    The log variances are unbiased. `of` is the group of each cell. The weights are inverse variances of the
    log variances. Heavy tails increase these; one excess kurtosis is used for all groups.
    """
    from scipy.special import polygamma, psi

    freedom, squares = sum_by_index(of, c.n - 1.0, labels), sum_by_index(of, c.squares, labels)
    seen = np.flatnonzero((freedom > 0.0) & (squares > 0.0))
    half, own = 0.5 * freedom[seen], squares[seen] / freedom[seen]
    y = np.log(own) - (psi(half) - np.log(half))
    kurtosis = _excess_kurtosis(c, of, labels)
    return seen, y, 1.0 / np.asarray(polygamma(1, half) + 0.5 * kurtosis / half)


def estimate_log(cells: Cells, solution: Solution) -> Estimate:
    """Estimate the effects of arms and environments from the logarithms of the rewards.

    `solution` is the least-squares fit of the logarithms. Adjusted means and factors are those of rewards:
    the totals of the environments, divided between the arms according to the fit of the logarithms.
    """
    found = log_means(require_logs(cells), solution)
    theta, C = found.theta, found.covariance
    means_and_shifts = factor_means_and_shifts(ratio_pairs(cells, solution.freedom), theta, theta, C)
    made = uniform_estimate(
        theta, C, means_and_shifts, float(solution.freedom), found.pairs, solution.component
    )
    return replace(made, freedom=found.freedom)
