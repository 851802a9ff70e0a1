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
from tideproof.stats.scales import reward_logarithms as module
from tideproof.stats.scales.reward_logarithms import (
    additive_tide_p,
    choose_logs,
    equal_variances_p,
    estimate_log,
    log_means,
    logarithm_gain,
    logs_may_help,
    normality_p,
    ratio_gain,
    require_logs,
)
from tideproof.stats.scales.scale_test import ScaleDecision, ScaleTest

EARLIER = ScaleDecision("difference", {"difference": ScaleTest(0.0, 1.0)}, False, "By differences.")


def one_environment(n, squares, mean=1.0, **moments):
    """Return the cells of arms in a single environment."""
    n, squares = np.array(n, float), np.array(squares, float)
    K = n.size
    mean = np.full(K, mean)
    place = np.zeros(K, np.int64)
    return Cells(list(range(K)), [0], np.arange(K), place, n, mean, squares, **{"low": mean / 9, **moments})


@pytest.mark.parametrize(("skewness", "may_help"), [(0.19, False), (0.21, True), (-0.3, False)])
def test_logarithms_may_help_if_deviations_in_standard_units_are_skewed(skewness, may_help):
    """Two arms with standard deviations 1 and 3, of 10 rewards each; a third has equal rewards and no skewness."""
    own = np.array([1.0, 3.0, 0.0])
    n = np.array([10.0, 10.0, 500.0])
    cubes = n * own**3 * skewness * np.array([1.5, 0.5, 0.0])
    cells = one_environment(n, (n - 1.0) * own**2, cubes=cubes)
    assert logs_may_help(cells) is may_help
    assert logs_may_help(replace(cells, low=None)) is False
    assert logs_may_help(replace(cells, low=np.array([0.0, 1.0, 1.0]))) is False
    assert logs_may_help(replace(cells, cubes=None)) is False


@pytest.mark.parametrize(("skewness", "may_help"), [(0.41, True), (0.39, False)])
def test_an_arm_whose_rewards_are_nearly_equal_has_no_skewness(skewness, may_help):
    """Its deviations of 1e-7 are below a millionth of the others, but its rewards count: 20 of 40."""
    own, n = np.array([1e3, 1e3, 1e-7]), np.array([2.0, 18.0, 20.0])
    cubes = n * own**3 * np.array([skewness, skewness, -9.0])
    cells = one_environment(n, (n - 1.0) * own**2, cubes=cubes)
    assert logs_may_help(cells) is may_help


def test_logarithms_are_not_computed_for_equal_rewards_or_more_than_twenty_million():
    equal = one_environment([10, 10], [0.0, 0.0], cubes=np.zeros(2))
    assert logs_may_help(equal) is False
    for n, may_help in ((1e7, True), (1e7 + 1.0, False)):
        cells = one_environment([1e7, n], [1e7, n], cubes=np.full(2, n))
        assert logs_may_help(cells) is may_help


@pytest.mark.parametrize(
    ("low", "said"), [(0.5, "needs the single rewards"), (0.0, "the lowest is 0"), (-2.0, "the lowest is -2")]
)
def test_missing_logarithms_are_explained_by_the_lowest_reward(low, said):
    with pytest.raises(InputError, match=said):
        require_logs(one_environment([5, 5], [1.0, 1.0], low=np.array([3.0, low])))


@pytest.mark.parametrize("cubes", [None, np.zeros(2)])
def test_logarithms_may_help_if_noise_grows_even_without_skewness(cubes):
    n, arm = np.full(2, 101.0), np.zeros(2, np.int64)
    mean, squares = np.array([10.0, 30.0]), np.array([100.0, 900.0])
    cells = Cells([0], [0, 1], arm, np.arange(2), n, mean, squares, low=mean / 9.0, cubes=cubes)
    assert logs_may_help(cells) is True
    assert logs_may_help(replace(cells, squares=np.full(2, 100.0))) is False


@pytest.fixture
def findings(monkeypatch):
    """Set what the tests of logarithms say; by default they are all in favour."""

    def found(gain=5.0, tide=1.0, precise=True, equal=1.0, normal=1.0, scale="difference"):
        gains = {"logarithm_gain": gain, "ratio_gain": -9.0}
        if scale == "ratio":
            gains = {"logarithm_gain": -9.0, "ratio_gain": gain}
        for name, value in gains.items():
            monkeypatch.setattr(module, name, lambda cells, logs, value=value: value)
        monkeypatch.setattr(module, "additive_tide_p", lambda logs: tide)
        monkeypatch.setattr(module, "_more_precise", lambda cells: precise)
        monkeypatch.setattr(module, "equal_variances_p", lambda logs, of, labels: equal)
        monkeypatch.setattr(module, "normality_p", lambda logs: normal)

    return found


VARIED = one_environment([5, 5], [1.0, 1.0])


def below(x):
    return math.nextafter(x, -math.inf)


def above(x):
    return math.nextafter(x, math.inf)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ({}, "log"),
        ({"scale": "ratio"}, "log"),
        ({"gain": math.log(20.0)}, "difference"),
        ({"gain": above(math.log(20.0))}, "log"),
        ({"gain": math.nan}, "difference"),
        ({"gain": math.log(20.0), "scale": "ratio"}, "ratio"),
        ({"tide": below(0.05)}, "difference"),
        ({"tide": 0.05}, "log"),
        ({"precise": False}, "difference"),
        ({"equal": below(0.2)}, "log"),
        ({"normal": 0.0}, "log"),
        ({"equal": 0.2, "normal": 0.0}, "log"),
        ({"equal": below(0.2), "normal": 0.05}, "log"),
        ({"equal": below(0.2), "normal": below(0.05)}, "neither"),
    ],
)
def test_logarithms_are_chosen_by_this_table(findings, name, said):
    findings(**name)
    earlier = EARLIER._replace(name=name.get("scale", "difference"))
    found = choose_logs(VARIED, VARIED, earlier)
    if said == "log":
        assert (found.name, found.tests, found.told, found.possible) == ("log", earlier.tests, True, ("log",))
        assert found.sentence.startswith("Ratios of means are estimated from the logarithms of rewards")
    elif said == "neither":
        assert found._replace(sentence="") == earlier._replace(sentence="")
        assert found.sentence.startswith("By differences. Logarithms of rewards fit better, but")
        assert "variances differ between arms (p = 0.2)" in found.sentence
    else:
        assert found == earlier


def test_an_arm_whose_logarithms_do_not_vary_is_no_obstacle(findings):
    findings()
    logs = replace(VARIED, squares=np.array([1.0, 0.0]))
    assert choose_logs(VARIED, logs, EARLIER).name == "log"


def test_an_earlier_decision_stays_without_tests_and_for_odds_and_without_variation(findings):
    findings()
    for earlier in (EARLIER._replace(tests={}), EARLIER._replace(name="odds")):
        assert choose_logs(VARIED, VARIED, earlier) is earlier
    same = replace(VARIED, squares=np.zeros(2))
    assert choose_logs(VARIED, same, EARLIER) is EARLIER


@pytest.mark.parametrize(
    ("gain", "said"), [(math.log(30.0), "30"), (8.99, "8022"), (9.0, "10^4"), (100.0, "10^43")]
)
def test_the_sentence_says_how_much_likelier_the_rewards_are(findings, gain, said):
    findings(gain=gain)
    assert f"makes the data {said} times as likely" in choose_logs(VARIED, VARIED, EARLIER).sentence


@pytest.mark.parametrize(("share", "name"), [(0.79, "log"), (0.81, "difference")])
def test_logarithms_are_chosen_if_they_save_a_fifth_of_the_variance(monkeypatch, share, name):
    """Two arms, 500 rewards each: the variance by logarithms is v/n + v^2/(2(n - 1)) of each arm.

    By means it is the squared coefficient of variation over n.
    """
    n, v, mean = 500.0, 1.0, 100.0
    by_logs = v / n + v**2 / (2.0 * (n - 1.0))
    squares = np.full(2, (n - 1.0) * by_logs / share * n * mean**2)
    logs = one_environment([n, n], [(n - 1.0) * v] * 2, 4.0)
    cells = one_environment([n, n], squares, mean, logs=logs)
    monkeypatch.setattr(module, "logarithm_gain", lambda cells, logs: 5.0)
    assert choose_logs(cells, logs, EARLIER).name == name


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


def test_gains_are_those_of_scipys_densities():
    """Each density at its maximum: lognormal, normal, and normal with a variance proportional to the mean."""
    import statsmodels.api as sm

    arm, environment, y, cells = lognormal_rows()
    D, reward = oracles.dummies(arm, environment, 5, 6)[:, 1:], np.exp(y)

    fitted = sm.OLS(y, D).fit().fittedvalues
    own = math.sqrt(np.mean((y - fitted) ** 2))
    logged = np.sum(stats.lognorm.logpdf(reward, own, scale=np.exp(fitted)))
    mean = sm.OLS(reward, D).fit().fittedvalues
    raw = np.sum(stats.norm.logpdf(reward, mean, math.sqrt(np.mean((reward - mean) ** 2))))
    assert logarithm_gain(cells, cells.logs) == pytest.approx(logged - raw, rel=1e-9)
    mean = sm.GLM(reward, D, family=sm.families.Poisson()).fit(tol=1e-13).fittedvalues
    own = math.sqrt(np.mean((reward - mean) ** 2 / mean))
    multiplied = np.sum(stats.norm.logpdf(reward, mean, own * np.sqrt(mean)))
    assert ratio_gain(cells, cells.logs) == pytest.approx(logged - multiplied, rel=1e-7)
    assert logged > max(raw, multiplied)


def test_a_likelihood_without_residuals_is_refused():
    equal = one_environment([5, 5], [0.0, 0.0])
    with pytest.raises(InputError, match="do not vary"):
        logarithm_gain(VARIED, equal)
    with pytest.raises(InputError, match="10 rewards but 9 logarithms"):
        ratio_gain(VARIED, one_environment([5, 4], [1.0, 1.0]))


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


def outcome(arm, environment, y):
    return additive_tide_p(cells_from_arrays(arm, environment, np.exp(y), logs=True).logs)


@pytest.mark.parametrize("interaction", [0.3, 0.25, -0.2])
def test_arms_that_differ_less_at_high_levels_suggest_a_tide_that_adds(interaction):
    """Rao's test of one more column, the arms' effects over the level, with equal noise in all cells."""
    import statsmodels.api as sm

    arm, environment, y = patterned(interaction, 0.0, "normal")
    D = oracles.dummies(arm, environment, 3, 7)[:, 1:]
    fit = sm.OLS(y, D).fit()
    mu = np.append(0.0, fit.params[:2])
    level = np.bincount(environment, y - mu[arm]) / np.bincount(environment)
    x = mu[arm] * np.exp(-(level - level[environment].mean())[environment])
    left = sm.OLS(x, D).fit().resid
    z = left @ y / math.sqrt(fit.mse_resid * left @ left)
    assert outcome(arm, environment, y) == pytest.approx(min(1.0, 4.0 * stats.norm.sf(abs(z))), rel=1e-6)
    assert outcome(arm, environment, y) < 0.5


@pytest.mark.parametrize(("scale", "pattern"), [(-0.2, "normal"), (0.25, "normal"), (-0.5, "heavy")])
def test_logarithms_that_vary_less_at_high_levels_suggest_a_tide_that_adds(scale, pattern):
    """Regression of the log variances on the level, with known errors; arms differ equally everywhere."""
    import statsmodels.api as sm

    arm, environment, y = patterned(0.0, scale, pattern)
    _, cell = np.unique(environment * 3 + arm, return_inverse=True)
    mean = np.bincount(cell, y) / np.bincount(cell)
    m = np.bincount(environment)
    freedom = m - np.array([np.unique(arm[environment == j]).size for j in range(7)])
    own = np.bincount(environment, (y - mean[cell]) ** 2) / freedom
    half = 0.5 * freedom
    excess = kurtosis(environment, arm, environment, y)
    assert (excess > 1.0) == (pattern == "heavy")
    error = special.polygamma(1, half) + 0.5 * excess / half
    fit = sm.OLS(y, oracles.dummies(arm, environment, 3, 7)[:, 1:]).fit()
    level = np.bincount(environment, y - np.append(0.0, fit.params[:2])[arm]) / m
    unbiased = np.log(own) - special.psi(half) + np.log(half)
    slope = sm.WLS(unbiased, sm.add_constant(level), weights=1.0 / error).fit()
    z = slope.params[1] / math.sqrt(slope.normalized_cov_params[1, 1])
    assert outcome(arm, environment, y) == pytest.approx(4.0 * stats.norm.sf(abs(z)), rel=1e-6)


def test_what_cannot_be_tested_has_p_1_or_0():
    arm, environment, y = patterned(0.2, 0.0, "normal")
    logs: Any = cells_from_arrays(arm, environment, np.exp(y), logs=True).logs
    alone = logs.select(np.flatnonzero(logs.arm == 0))
    assert additive_tide_p(alone) == 1.0
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
