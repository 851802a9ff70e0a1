"""Analysis of the logarithms of positive rewards by least squares, with shifts that multiply rewards.

The model is r = exp(theta_arm + s_environment + noise). If noise is multiplicative, as with prices and
durations, logarithms give every environment the same weight, and no single reward dominates. Means of
logarithms compare geometric means. The ratio of arithmetic means needs half the variance of each arm's
logarithms in addition, whose uncertainty is taken into account. That is correct if the logarithms are
normal, and also if they are not but have equal variances in all arms.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import chi2_tail, normal_tail, pair_variances
from tideproof.stats.cells import Cells, sum_by_index
from tideproof.stats.pairs.difference_pairs import additive_pairs
from tideproof.stats.pairs.log_pairs import LogPairs
from tideproof.stats.pairs.ratio_pairs import factor_means_and_shifts, ratio_pairs
from tideproof.stats.scales.ratio_likelihood import solve_ratio
from tideproof.stats.scales.scale_test import REJECTION_P, ScaleDecision, noise_grows
from tideproof.stats.solve.least_squares import Solution
from tideproof.stats.variance.variance_models import Estimate, uniform_estimate

EQUAL_VARIANCES_P = 0.2  # With a smaller p-value, arms have unequal variances of logarithms.
_NEEDED_GAIN = math.log(20.0)  # Gain in log likelihood that is needed to prefer logarithms.
_NEEDED_VARIANCE_RATIO = 0.8  # Logarithms must reduce the variances of ratios of means to this share.
_MOST_REWARDS = 2e7  # With more rewards, logarithms are computed only on request.
_FAR = 300.0  # exp(300) does not overflow.
_SKEWED = 0.2  # Logarithms may help if the skewness inside cells is larger.


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


def logs_may_help(cells: Cells) -> bool:
    """Return True if logarithms of rewards may improve the analysis, judged before computing them.

    All rewards are above 0, they are not all equal, and they are skewed or vary more where they are larger.
    For very many rewards the answer is False: means are precise enough, and another pass over the rows takes
    long.
    """
    if float(np.sum(cells.n)) > _MOST_REWARDS:
        return False
    if not cells.positive or not cells.squares.any():
        return False
    if cells.cubes is None:
        return noise_grows(cells)
    used = cells.squares > 0.0
    spread = float(np.sum(cells.squares)) / max(1.0, float(np.sum(cells.n - 1.0)))
    own = np.sqrt(np.maximum(cells.squares[used] / np.maximum(cells.n[used] - 1.0, 1.0), 1e-12 * spread))
    skewness = float(np.sum(cells.cubes[used] / own / own / own)) / float(np.sum(cells.n[used]))
    return skewness > _SKEWED or noise_grows(cells)


def choose_logs(cells: Cells, logs: Cells, choice: ScaleDecision) -> ScaleDecision:
    """Decide whether to analyse logarithms of rewards instead of the rewards themselves.

    The earlier decision `choice` is kept unless the data justify logarithms.

    Logarithms are justified if the rewards are more likely under them than under the chosen scale (with the
    Jacobian), if they make comparisons clearly more precise than ratios of means, if no test suggests an
    additive tide (`additive_tide_p`), and if they have equal variances in all arms or are normal. Otherwise
    their variances do not determine the means.
    """
    if not logs.squares.any() or not choice.tests or choice.name == "odds":
        return choice
    gain = (ratio_gain if choice.name == "ratio" else logarithm_gain)(cells, logs)
    if not gain > _NEEDED_GAIN or additive_tide_p(logs) < REJECTION_P or not _more_precise(cells):
        return choice
    p = equal_variances_p(logs, logs.arm, logs.K)
    if p < EQUAL_VARIANCES_P and normality_p(logs) < REJECTION_P:
        said = (
            f" Logarithms of rewards fit better, but they are not normally distributed and their variances "
            f"differ between arms (p = {p:.2g}), so they cannot be used to compare means."
        )
        return choice._replace(sentence=choice.sentence + said)
    said = (
        f"Ratios of means are estimated from the logarithms of rewards, because a normal distribution of the "
        f"logarithms makes the data {_gain_text(gain)} times as likely as a normal distribution of the "
        f"rewards."
    )
    return ScaleDecision("log", choice.tests, True, said, ("log",))


def logarithm_gain(cells: Cells, logs: Cells) -> float:
    """Return the log likelihood ratio of lognormal rewards against normally distributed rewards.

    Both models have one shift for all arms and one variance. `logs` are the cells of log r. The density of r
    is that of log r divided by r, which is the Jacobian.

    References
    ----------
    Box, Cox (1964), An analysis of transformations.
    """
    raw = cells.solution
    return 0.5 * raw.told * math.log(_require_variation(raw.rss)) - _negative_log_likelihood(cells, logs)


def ratio_gain(cells: Cells, logs: Cells) -> float:
    """Return the log likelihood ratio of lognormal rewards against normal rewards with multiplicative shifts.

    The second model is that of the scale of ratios: normal rewards with a multiplicative mean and a
    variance proportional to the mean.
    """
    fitted = solve_ratio(cells).fitted
    squares = float(np.sum((cells.squares + cells.n * (cells.mean - fitted) ** 2) / fitted))
    density = 0.5 * float(np.sum(cells.n * np.log(fitted)))
    return (
        density
        + 0.5 * logs.solution.told * math.log(_require_variation(squares))
        - _negative_log_likelihood(cells, logs)
    )


def _negative_log_likelihood(cells: Cells, logs: Cells) -> float:
    """Return minus the log likelihood of the rewards if they are lognormal, up to a constant."""
    found = logs.solution
    if round(float(np.sum(cells.n))) != found.told:
        raise InputError(
            f"all rewards must be above 0: there are {cells.n.sum():.0f} rewards but {found.told} logarithms"
        )
    return 0.5 * found.told * math.log(_require_variation(found.rss)) + float(np.sum(logs.n * logs.mean))


def _require_variation(squares: float) -> float:
    """Raise `InputError` if a residual sum of squares is 0; otherwise return it.

    Likelihoods are infinite if it is 0.
    """
    if squares <= 0.0:
        raise InputError("scales cannot be compared by likelihood: rewards do not vary around their means")
    return squares


def _more_precise(cells: Cells) -> bool:
    """Return True if logarithms of rewards compare arms clearly more precisely than ratios of means."""
    logs = require_logs(cells)
    by_logs = log_means(logs, logs.solution).covariance
    by_means = ratio_pairs(cells, cells.solution.freedom).covariance
    return bool(np.sum(pair_variances(by_logs)) < _NEEDED_VARIANCE_RATIO * np.sum(pair_variances(by_means)))


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


def additive_tide_p(logs: Cells) -> float:
    """Return the p-value for testing that shifts multiply rewards instead of adding to them.

    It is 1 if this cannot be tested.

    With an additive tide, arms differ less in logarithms where the level is high (Tukey's one degree of
    freedom), and logarithms vary less there, because the noise does not grow. The result is the smaller of
    the two p-values, doubled.
    """
    if not np.any(logs.compares):
        return 1.0
    solution = logs.solution
    residual = logs.centred(logs.mean - solution.mu[logs.arm])
    level = logs.by_environment(logs.n * (logs.mean - solution.mu[logs.arm])) / np.maximum(logs.sizes, 1.0)
    away = level - float(np.average(level, weights=logs.sizes))
    x = logs.centred(solution.mu[logs.arm] * np.exp(-np.clip(away, -_FAR, _FAR))[logs.environment])
    left = logs.centred(x - (solution.P @ logs.by_arm(logs.n * x))[logs.arm])
    variance = additive_pairs(logs, solution).variance
    arms = _two_sided(float(np.sum(logs.n * left * residual)), float(np.sum(logs.n * left**2 * variance)), x)
    seen, y, w = _log_variances(logs, logs.environment, logs.J)
    rise = away[seen] - (np.average(away[seen], weights=w) if seen.size else 0.0)
    noise = _two_sided(float(np.sum(w * rise * y)), float(np.sum(w * rise**2)), rise)
    return min(1.0, 2.0 * min(arms, noise))


def _two_sided(U: float, variance: float, of: Floats) -> float:
    """Return the two-sided p-value of a sum that should have expectation 0; 1 if it has no variance."""
    if not variance > 1e-20 * float(np.sum(of**2)):
        return 1.0
    return 2.0 * normal_tail(abs(U) / math.sqrt(variance))


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


def _gain_text(gain: float) -> str:
    """Return the likelihood ratio exp(gain) as text for a sentence.

    >>> _gain_text(math.log(30)), _gain_text(100.0)
    ('30', '10^43')
    """
    return f"{math.exp(gain):.0f}" if gain < 9.0 else f"10^{gain / math.log(10.0):.0f}"
