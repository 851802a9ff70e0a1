"""Rewards above 0 seen in logarithms: r = exp(theta_arm + s_environment + noise), by least squares.

Where noise multiplies, as that of prices and of seconds does, logarithms hear every environment alike and no
single reward above all others. Their means compare geometric means; the ratio of means is what is asked for,
so half the variance of an arm's logarithms is added, and how well it is known counts. That is right if the
logarithms are normal, and also if they are not but vary alike in all arms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import chi2_tail, normal_tail, pair_variances
from tideproof.stats.cells import Cells, sums
from tideproof.stats.pairs.difference_pairs import additive_pairs
from tideproof.stats.pairs.log_pairs import LogPairs
from tideproof.stats.pairs.ratio_pairs import multiplying_pairs, read_factors
from tideproof.stats.scales.ratio_likelihood import solve_ratio
from tideproof.stats.scales.scale_choice import DOUBT, Choice
from tideproof.stats.scales.scale_test import noise_grows
from tideproof.stats.solve.least_squares import Solution, solve
from tideproof.stats.variance.variance_models import Estimate, uniform

ALIKE = 0.2  # p below which the logarithms of arms do not vary alike
_BETTER = math.log(20.0)  # by how much a likelihood must be higher, in logs, to be preferred
_SHARPER = 0.8  # variances over those of ratios of means, below which logarithms are worth it
_PLENTY = 2e7  # rewards, beyond which logarithms are read only if they are asked for
_FAR = 300.0  # exp of it is still a number
_SKEWED = 0.2  # skewness inside cells above which logarithms may help


def logs_of(cells: Cells) -> Cells:
    """Return the cells of log r, or say why there are none."""
    if cells.logs is not None:
        return cells.logs
    if cells.low is not None and cells.low.min() <= 0.0:
        raise InputError(f"scale='log' needs rewards above 0; the lowest is {cells.low.min():g}")
    raise InputError(
        "scale='log' needs the single rewards, all above 0: aggregated rows, quotients, covariates, units, "
        "two factors and live runs have no logarithms; scale='ratio' compares their means"
    )


def may_help(cells: Cells) -> bool:
    """Tell, without a look at them, whether logarithms are worth another pass over the rows.

    All rewards are above 0, not all are alike, and they are skewed or vary more where there are more. Of very
    many rewards means are sharp enough, and another pass takes long.
    """
    if float(np.sum(cells.n)) > _PLENTY:
        return False
    if cells.low is None or not cells.n.size or not cells.low.min() > 0.0 or not cells.squares.any():
        return False
    if cells.cubes is None:
        return noise_grows(cells)
    used = cells.squares > 0.0
    spread = float(np.sum(cells.squares)) / max(1.0, float(np.sum(cells.n - 1.0)))
    own = np.sqrt(np.maximum(cells.squares[used] / np.maximum(cells.n[used] - 1.0, 1.0), 1e-12 * spread))
    skewness = float(np.sum(cells.cubes[used] / own**3)) / float(np.sum(cells.n[used]))
    return skewness > _SKEWED or noise_grows(cells)


def with_logs(cells: Cells, choice: Choice) -> Choice:
    """Return the choice of logarithms where they are right, otherwise the one made without them.

    They are if rewards are likelier by them than by the scale that was chosen, the Jacobian counted; if they
    make comparisons clearly sharper than ratios of means; if nothing says that the tide adds (`tide_adds`);
    and if they vary alike in all arms, or are normal: otherwise their variances do not say what means are.
    """
    logs = cells.logs
    if logs is None or not logs.squares.any() or not choice.tests or choice.name == "odds":
        return choice
    gain = (gain_over_ratios if choice.name == "ratio" else logarithm_gain)(cells, logs)
    if not gain > _BETTER or tide_adds(logs) < DOUBT or not _sharper(cells):
        return choice
    p = alike(logs, logs.arm, logs.K)
    if p < ALIKE and normality(logs) < DOUBT:
        said = (
            f" Logarithms of rewards would be nearer to normal, but are not, and do not vary alike in all "
            f"arms (p = {p:.2g}): means do not follow from them."
        )
        return choice._replace(sentence=choice.sentence + said)
    said = (
        f"Ratios of means are read from the logarithms of rewards: rewards are {_times(gain)} times as "
        f"likely by them (Jacobian counted)."
    )
    return Choice("log", choice.tests, True, said, ("log",))


def logarithm_gain(cells: Cells, logs: Cells) -> float:
    """Return by how much the likelihood is higher, in logs, if the logarithms of the rewards are normal.

    Instead of the rewards: both with one shift for all arms and one variance. `logs` are the cells of log r.
    Logarithms are dense where r is small: the density of r is that of log r over r, which is the Jacobian.

    References
    ----------
    Box, Cox (1964), An analysis of transformations.
    """
    raw = solve(cells)
    return 0.5 * raw.told * math.log(_varying(raw.rss)) - _of_logs(cells, logs)


def gain_over_ratios(cells: Cells, logs: Cells) -> float:
    """Return the same gain over normal rewards whose mean is a product, and whose variance is as the mean.

    That is what the scale of ratios takes them for.
    """
    fitted = solve_ratio(cells).fitted
    squares = float(np.sum((cells.squares + cells.n * (cells.mean - fitted) ** 2) / fitted))
    density = 0.5 * float(np.sum(cells.n * np.log(fitted)))
    return density + 0.5 * solve(logs).told * math.log(_varying(squares)) - _of_logs(cells, logs)


def _of_logs(cells: Cells, logs: Cells) -> float:
    """Return minus the log likelihood of normal logarithms, as a likelihood of the rewards; no constants."""
    found = solve(logs)
    if round(float(np.sum(cells.n))) != found.told:
        raise InputError(
            f"{cells.n.sum():.0f} rewards but {found.told} logarithms; all rewards must be above 0"
        )
    return 0.5 * found.told * math.log(_varying(found.rss)) + float(np.sum(logs.n * logs.mean))


def _varying(squares: float) -> float:
    if squares <= 0.0:
        raise InputError("likelihoods cannot be compared: rewards do not vary around what is expected")
    return squares


def _sharper(cells: Cells) -> bool:
    """Tell whether pairs of arms are better known by logarithms, on average, than by ratios of means."""
    logs = logs_of(cells)
    by_logs = log_means(logs, solve(logs)).covariance
    by_means = multiplying_pairs(cells, solve(cells).freedom).covariance
    return bool(np.sum(pair_variances(by_logs)) < _SHARPER * np.sum(pair_variances(by_means)))


class LogMeans(NamedTuple):
    """Logarithms of the arms' means, up to a constant, and how well they are known.

    Attributes
    ----------
    theta : (K,) mean of the logarithms plus half their variance, `half`: if they are normal, or vary alike in
        all arms, differences are those of the logarithms of means.
    covariance, freedom : (K, K).
    pairs : tests and limits of each arm against each.
    """

    theta: Floats
    half: Floats
    covariance: Floats
    freedom: Floats
    pairs: LogPairs


def log_means(logs: Cells, solution: Solution) -> LogMeans:
    """Return the logarithms of the arms' means; `solution` is that of the least squares of `logs`.

    The variance of an arm is its own, around what is expected of the cells. It errs by (2 + excess kurtosis)
    of its square over its degrees of freedom, and what it adds to a mean does so too.
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


def alike(c: Cells, of: Ints, labels: int) -> float:
    """Return p of the test that the rewards of all labels vary alike; 0 where nothing tells.

    References
    ----------
    Layard (1973), Robust large-sample tests for homogeneity of variances.
    """
    seen, y, w = _log_variances(c, of, labels)
    if seen.size < 2:
        return 0.0
    return chi2_tail(float(np.sum(w * (y - np.average(y, weights=w)) ** 2)), seen.size - 1.0)


def tide_adds(logs: Cells) -> float:
    """Return p of two tests that the tide multiplies, against a tide that adds; 1 where nothing could tell.

    If it adds, arms differ less in logarithms where the level is high (Tukey's one degree of freedom), and
    logarithms vary less there, for noise stays as it is. The smaller p, doubled.
    """
    if not np.any(logs.compares):
        return 1.0
    solution = solve(logs)
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
    """Return p of a sum with mean 0; 1 where it does not vary but for rounding."""
    if not variance > 1e-20 * float(np.sum(of**2)):
        return 1.0
    return 2.0 * normal_tail(abs(U) / math.sqrt(variance))


def normality(logs: Cells) -> float:
    """Return p of the test that deviations inside cells are normal: skewness and kurtosis; 1 if unknown.

    References
    ----------
    Jarque, Bera (1987), A test for normality of observations and regression residuals.
    """
    used = (logs.n >= 3.0) & (logs.squares > 0.0)
    if logs.cubes is None or logs.fourths is None or not used.any():
        return 1.0
    n, freedom = logs.n[used], logs.n[used] - 1.0
    v = float(np.sum(logs.squares[used]) / np.sum(freedom))
    keep = freedom / n  # of deviations from a mean that was estimated with them
    third = float(np.sum(logs.cubes[used])) / v**1.5 / math.sqrt(6.0 * float(np.sum(n * keep**3)))
    fourth = float(np.sum(logs.fourths[used] - 3.0 * n * (keep * v) ** 2)) / v**2
    fourth /= math.sqrt(24.0 * float(np.sum(n * keep**4)))
    return chi2_tail(third**2 + fourth**2, 2.0)


def _excess_kurtosis(c: Cells, of: Ints, labels: int) -> float:
    """Return the excess kurtosis inside cells, each label by its own variance; 0 where it is unknown."""
    freedom, squares = sums(of, c.n - 1.0, labels), sums(of, c.squares, labels)
    seen = (freedom > 0.0) & (squares > 0.0)
    if c.fourths is None or not seen.any():
        return 0.0
    own = squares[seen] / freedom[seen]
    scaled = sums(of, c.fourths, labels)[seen] / own**2
    return max(0.0, float(np.sum(scaled) / np.sum(sums(of, c.n, labels)[seen])) - 3.0)


def _log_variances(c: Cells, of: Ints, labels: int) -> tuple[Ints, Floats, Floats]:
    """Return the labels whose rewards vary, the logarithm of the variance of each without bias, and weights.

    Weights are over the variance of those. Heavy tails make it larger: excess kurtosis, the same for all.
    """
    from scipy.special import polygamma, psi

    freedom, squares = sums(of, c.n - 1.0, labels), sums(of, c.squares, labels)
    seen = np.flatnonzero((freedom > 0.0) & (squares > 0.0))
    half, own = 0.5 * freedom[seen], squares[seen] / freedom[seen]
    y = np.log(own) - (psi(half) - np.log(half))
    kurtosis = _excess_kurtosis(c, of, labels)
    return seen, y, 1.0 / np.asarray(polygamma(1, half) + 0.5 * kurtosis / half)


def estimate_log(cells: Cells, solution: Solution) -> Estimate:
    """Estimate arms and environments from logarithms; `solution` is that of their least squares.

    Adjusted means and factors are those of rewards: the totals of the environments, split between arms as the
    logarithms say.
    """
    found = log_means(logs_of(cells), solution)
    theta, C = found.theta, found.covariance
    readout = read_factors(multiplying_pairs(cells, solution.freedom), theta, theta, C)
    made = uniform(theta, C, readout, float(solution.freedom), found.pairs, solution.component)
    return made._replace(freedom=found.freedom)


def _times(gain: float) -> str:
    """Return exp(gain) as people read it.

    >>> _times(math.log(30)), _times(100.0)
    ('30', '10^43')
    """
    return f"{math.exp(gain):.0f}" if gain < 9.0 else f"10^{gain / math.log(10.0):.0f}"
