"""Analyses of logarithms as a whole: against regressions of single rewards, closed forms and a table of decisions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import oracles
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.pairs.difference_pairs import additive_pairs
from tideproof.stats.scales.reward_logarithms import (
    equal_variances_p,
    estimate_log,
    log_means,
    normality_p,
    require_logs,
)


def one_environment(n, squares, mean=1.0, **moments):
    """Return the cells of arms in a single environment."""
    n, squares = np.array(n, float), np.array(squares, float)
    K = n.size
    mean = np.full(K, mean)
    place = np.zeros(K, np.int64)
    return Cells(list(range(K)), [0], np.arange(K), place, n, mean, squares, **{"low": mean / 9, **moments})


@pytest.mark.parametrize(
    ("low", "said"), [(0.5, "needs the single rewards"), (0.0, "the lowest is 0"), (-2.0, "the lowest is -2")]
)
def test_missing_logarithms_are_explained_by_the_lowest_reward(low, said):
    with pytest.raises(InputError, match=said):
        require_logs(one_environment([5, 5], [1.0, 1.0], low=np.array([3.0, low])))


def lognormal_rows(seed=4, scale=None):
    """Draw rewards of an incomplete design, and their cells; the last arms have one and two rewards."""
    random = np.random.default_rng(seed)
    n = random.integers(3, 9, (6, 5)) * (random.random((6, 5)) < 0.9)
    n[:, 3:] = 0
    n[0, :3], n[2, 3], n[4, 4] = 5, 1, 2
    environment, arm = np.nonzero(n)
    cell = np.repeat(np.arange(arm.size), n[environment, arm])
    arm, environment = arm[cell], environment[cell]
    spread = np.ones(6) if scale is None else np.asarray(scale)
    noise = (0.3 + 0.2 * arm) * spread[environment] * random.standard_t(2, arm.size)
    y = 0.3 * arm + 0.4 * environment + noise
    return arm, environment, y, cells_from_arrays(arm, environment, np.exp(y), logs=True)


def kurtosis(group, arm, environment, y):
    """Return the excess kurtosis around cell means, each group in units of its own variance."""
    _, cell = np.unique(environment * 10 + arm, return_inverse=True)
    left = y - (np.bincount(cell, y) / np.bincount(cell))[cell]
    total, n = 0.0, 0
    for each in np.unique(group):
        here = left[group == each]
        freedom = here.size - np.unique(cell[group == each]).size
        if freedom > 0:
            total += np.sum(here**4) / (np.sum(here**2) / freedom) ** 2
            n += here.size
    return max(0.0, total / n - 3.0)


def test_log_means_are_least_squares_means_and_half_the_variances_around_them():
    """Land, Cox: the error of the variance is added; the arm with one reward has the variance of all arms."""
    import statsmodels.api as sm

    arm, environment, y, cells = lognormal_rows()
    fit = sm.OLS(y, oracles.dummies(arm, environment, 5, 6)[:, 1:]).fit()
    m = np.bincount(environment)
    left = np.array([np.sum(1.0 - 1.0 / m[environment[arm == a]]) for a in range(5)])
    left *= fit.df_resid / left.sum()
    squares = np.array([np.sum(fit.resid[arm == a] ** 2) for a in range(5)])
    assert left[3] < 1.0 < left[4] < 2.0 < left[:3].min()
    v = np.where(left < 1.0, squares.sum() / fit.df_resid, squares / left)
    excess = kurtosis(arm, arm, environment, y)
    assert excess > 0.1
    found = log_means(cells.logs, cells.logs.solution)
    assert found.half == pytest.approx(0.5 * v)
    assert np.diff(found.theta - 0.5 * v) == pytest.approx(np.diff(np.append(0.0, fit.params[:4])))
    extra = found.covariance - additive_pairs(cells.logs, cells.logs.solution).covariance
    assert extra == pytest.approx(np.diag((0.5 * v) ** 2 * (2.0 + excess) / np.maximum(left, 1.0)), abs=1e-12)
    freedom = np.floor(np.minimum(np.maximum(np.add.outer(left, left) - 1.0, 1.0), fit.df_resid))
    assert found.freedom.tolist() == freedom.tolist()
    assert found.pairs.gap(2, 0) == found.theta[2] - found.theta[0]


def test_environments_totals_are_divided_as_the_logarithms_say():
    random = np.random.default_rng(8)
    arm, environment = random.integers(3, size=200), random.integers(4, size=200)
    reward = np.exp(0.5 * environment + 0.2 * arm + 0.6 * random.normal(size=200))
    cells = cells_from_arrays(arm, environment, reward, logs=True)
    found = estimate_log(cells, cells.logs.solution)
    theta = log_means(cells.logs, cells.logs.solution).theta
    assert np.diff(found.mu) == pytest.approx(np.diff(theta))
    factor = np.exp(theta)
    counts = np.zeros((cells.J, 3))
    counts[cells.environment, cells.arm] = cells.n
    rate = cells.by_environment(cells.n * cells.mean) / (counts @ factor)
    want = factor * (cells.sizes @ rate) / cells.sizes.sum()
    assert found.means_and_shifts.mean == pytest.approx(want)


PATTERNS = {
    "normal": stats.norm.ppf((np.arange(12) + 0.5) / 12.0),
    "heavy": np.array([-9.0, 9.0] + [0.5, -0.5] * 5),
}


def patterned(interaction, scale, pattern):
    """Return rows of three arms in seven environments, with the same deviations in all cells, but for a scale."""
    deviation = PATTERNS[pattern] / PATTERNS[pattern].std(ddof=1)
    arm, environment = np.tile(np.repeat([0, 1, 2], 12), 7), np.repeat(np.arange(7), 36)
    level = np.array([0.0, 0.7, -0.4, 1.1, 0.3, -0.9, 0.5])[environment]
    y = level + 0.4 * arm - interaction * arm * level + np.exp(scale * level) * np.tile(deviation, 21)
    keep = (environment != 3) | (arm != 1)
    return arm[keep], environment[keep], y[keep]


def test_what_cannot_be_tested_has_p_1_or_0():
    arm, environment, y = patterned(0.2, 0.0, "normal")
    logs: Any = cells_from_arrays(arm, environment, np.exp(y), logs=True).logs
    alone = logs.select(np.flatnonzero(logs.arm == 0))
    assert equal_variances_p(alone, alone.arm, 3) == 0.0
    assert normality_p(replace(logs, cubes=None)) == normality_p(replace(logs, fourths=None)) == 1.0
    assert normality_p(replace(logs, squares=0.0 * logs.squares)) == 1.0


def test_two_arms_with_equal_variances_are_compared_too():
    equal = one_environment([10, 10], [9.0, 9.0])
    assert equal_variances_p(equal, equal.arm, 2) == pytest.approx(1.0)
    unequal = one_environment([10, 10], [9.0, 36.0])
    z2 = math.log(4.0) ** 2 / (2.0 * special.polygamma(1, 4.5))
    assert equal_variances_p(unequal, unequal.arm, 2) == pytest.approx(stats.chi2.sf(z2, 1), rel=1e-9)


@pytest.mark.parametrize("by", ["arm", "environment"])
def test_layards_test_of_groups_is_that_of_their_log_variances(by):
    arm, environment, y, cells = lognormal_rows(scale=[1.0, 1.5, 1.0, 2.0, 1.0, 1.0])
    logs, group = cells.logs, arm if by == "arm" else environment
    _, cell = np.unique(environment * 10 + arm, return_inverse=True)
    left = y - (np.bincount(cell, y) / np.bincount(cell))[cell]
    found = []
    excess = kurtosis(group, arm, environment, y)
    for each in np.unique(group):
        half = 0.5 * (np.sum(group == each) - np.unique(cell[group == each]).size)
        if half > 0.0:
            own = 0.5 * np.sum(left[group == each] ** 2) / half
            error = special.polygamma(1, half) + 0.5 * excess / half
            found.append((math.log(own) - special.psi(half) + math.log(half), 1.0 / error))
    x, w = np.array(found).T
    want = stats.chi2.sf(np.sum(w * (x - np.average(x, weights=w)) ** 2), x.size - 1)
    of, labels = (logs.arm, logs.K) if by == "arm" else (logs.environment, logs.J)
    assert equal_variances_p(logs, of, labels) == pytest.approx(want, rel=1e-6)
    assert x.size == (4 if by == "arm" else 6)


def test_normality_is_tested_by_skewness_and_kurtosis_around_cell_means():
    random = np.random.default_rng(3)
    arm, environment = random.integers(3, size=90), random.integers(8, size=90)
    y = arm + environment + 0.2 * random.gamma(6.0, size=90)
    cells = cells_from_arrays(arm, environment, np.exp(y), logs=True)
    _, cell, size = np.unique(environment * 10 + arm, return_inverse=True, return_counts=True)
    left = (y - (np.bincount(cell, y) / size)[cell])[size[cell] >= 3]
    n = size[size >= 3].astype(float)
    v = np.sum(left**2) / np.sum(n - 1)
    keep = (n - 1) / n
    third = np.sum(left**3) / v**1.5
    fourth = np.sum(left**4) / v**2 - 3.0 * np.sum(n * keep**2)
    X2 = third**2 / (6.0 * np.sum(n * keep**3)) + fourth**2 / (24.0 * np.sum(n * keep**4))
    assert normality_p(cells.logs) == pytest.approx(stats.chi2.sf(X2, 2), rel=1e-6)
    assert 0.001 < normality_p(cells.logs) < 0.9
