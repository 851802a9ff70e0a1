"""Rewards above 0 seen in logarithms: r = exp(theta_arm + s_environment + noise), by least squares.

Where noise multiplies, as that of prices and of seconds does, logarithms hear every environment alike and no
single reward above all others. What they compare are geometric means. The ratio of these is the ratio of the
means where noise is alike in all arms, so that is tested before `scale="auto"` takes them.
"""

from __future__ import annotations

import math

import numpy as np

from tideproof.core.arrays import Floats, Ints
from tideproof.errors import InputError
from tideproof.stats.additive import additive_pairs
from tideproof.stats.cells import Cells, sums
from tideproof.stats.inference import chi2_tail, normal_tail, pair_variances
from tideproof.stats.multiplying import multiplying_pairs, read_factors
from tideproof.stats.noise import Estimate, uniform
from tideproof.stats.ratio import solve_ratio
from tideproof.stats.scale import DOUBT, Choice
from tideproof.stats.solve import Solution, solve
from tideproof.stats.wrong_scale import noise_grows

ALIKE = 0.1  # p below which the logarithms of arms do not vary alike
_BETTER = math.log(20.0)  # by how much a likelihood must be higher, in logs, to be preferred
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

    All rewards are above 0, not all are alike, and they are skewed or vary more where there are more.
    """
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
    make comparisons sharper than ratios of means; if nothing says that the tide adds (`tide_adds`); and if
    they vary alike in all arms. Otherwise ratios of geometric means were not those of means.
    """
    logs = cells.logs
    if logs is None or not logs.squares.any() or not choice.tests or choice.name == "odds":
        return choice
    gain = (gain_over_ratios if choice.name == "ratio" else logarithm_gain)(cells, logs)
    if not gain > _BETTER or not _sharper(cells, logs) or tide_adds(logs) < DOUBT:
        return choice
    p = alike(logs, logs.arm, logs.K)
    if p < ALIKE:
        said = (
            f" The logarithms of rewards are nearer to normal, but do not vary alike in all arms "
            f"(p = {p:.2g}): ratios of typical rewards would not be those of means, so means are compared."
        )
        return choice._replace(sentence=choice.sentence + said)
    said = (
        f"Logarithms of rewards are compared: rewards are {_times(gain)} times as likely by them (Jacobian "
        f"counted), and they vary alike in all arms (p = {p:.2g}), so that ratios of typical rewards are "
        f"those of means."
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


def _sharper(cells: Cells, logs: Cells) -> bool:
    """Tell whether pairs of arms are better known by logarithms, on average, than by ratios of means."""
    by_logs, by_means = additive_pairs(logs, solve(logs)), multiplying_pairs(cells, solve(cells).freedom)
    return bool(np.sum(pair_variances(by_logs.covariance)) < np.sum(pair_variances(by_means.covariance)))


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


def _log_variances(c: Cells, of: Ints, labels: int) -> tuple[Ints, Floats, Floats]:
    """Return the labels whose rewards vary, the logarithm of the variance of each without bias, and weights.

    Weights are over the variance of those. Heavy tails make it larger: excess kurtosis, the same for all.
    """
    from scipy.special import polygamma, psi

    freedom, squares = sums(of, c.n - 1.0, labels), sums(of, c.squares, labels)
    seen = np.flatnonzero((freedom > 0.0) & (squares > 0.0))
    half, own = 0.5 * freedom[seen], squares[seen] / freedom[seen]
    kurtosis = 0.0
    if c.fourths is not None and seen.size:
        fourths, n = sums(of, c.fourths, labels)[seen], sums(of, c.n, labels)[seen]
        kurtosis = max(0.0, float(np.sum(fourths / own**2) / np.sum(n)) - 3.0)
    y = np.log(own) - (psi(half) - np.log(half))
    return seen, y, 1.0 / np.asarray(polygamma(1, half) + 0.5 * kurtosis / half)


def estimate_log(cells: Cells, solution: Solution) -> Estimate:
    """Estimate arms and environments from logarithms; `solution` is that of their least squares.

    Adjusted means and factors are those of rewards: the totals of the environments, split between arms as the
    logarithms say.
    """
    pairs = additive_pairs(logs_of(cells), solution)
    means = multiplying_pairs(cells, solution.freedom)
    readout = read_factors(means, solution.mu, solution.mu, pairs.covariance)
    return uniform(solution.mu, pairs.covariance, readout, float(solution.freedom), pairs, solution.component)


def _times(gain: float) -> str:
    """Return exp(gain) as people read it.

    >>> _times(math.log(30)), _times(100.0)
    ('30', '10^43')
    """
    return f"{math.exp(gain):.0f}" if gain < 9.0 else f"10^{gain / math.log(10.0):.0f}"
