"""Rewards of units, such as visitors: variances, skewness and events, against statsmodels and scipy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.analysis.log_analysis import read_log
from tideproof.analysis.log_options import AnalysisOptions, ColumnOptions
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.research.trust.combinations.unit_calibration import UnitSetting, play
from tideproof.stats.cells import UnitRewards
from tideproof.stats.pairs.unit_pairs import additive_unit_pairs, count_unit_events
from tideproof.stats.solve.least_squares import cell_residuals, solve
from tideproof.stats.variance import unit_scores as module
from tideproof.stats.variance.clustered_units import ClusteredCovariance, fit_correlation, fit_skewness
from tideproof.stats.variance.unit_scores import UnitParts, UnitScores


def with_units(arm, day, unit, reward):
    c = cells_from_arrays(arm, day, reward)
    parts = {}
    for a, d, u, r in zip(arm.tolist(), day.tolist(), unit.tolist(), reward.tolist(), strict=True):
        parts.setdefault((u, a, d), []).append(r)
    at = {
        (c.arms[i], c.environments[j]): k for k, (i, j) in enumerate(zip(c.arm, c.environment, strict=True))
    }
    u = UnitRewards(
        np.array([key[0] for key in parts]),
        np.array([at[key[1:]] for key in parts]),
        np.array([float(len(values)) for values in parts.values()]),
        np.array([np.mean(values) for values in parts.values()]),
    )
    return replace(c, units=u)


def draw(seed, rows=400, arms=3, days=8, units=40):
    """Each unit keeps its arm, comes on several days, and has a level of its own."""
    random = np.random.default_rng(seed)
    unit, day = random.integers(units, size=rows), random.integers(days, size=rows)
    arm = unit % arms
    reward = (
        arm
        + 5.0 * random.normal(size=days)[day]
        + 2.0 * random.normal(size=units)[unit]
        + random.normal(size=rows)
    )
    return arm, day, unit, reward


def scores_of(c):
    s = solve(c)
    one = np.full(c.n.size, s.rss / s.freedom)
    parts = UnitParts.of(c, c.units, c.mean - cell_residuals(s, c))
    return UnitScores.of(c, s.P, parts, one), s


def clustered(c):
    """Return the covariance that statistics of units give, with one noise variance."""
    s = solve(c)
    one = np.full(c.n.size, s.rss / s.freedom)
    return ClusteredCovariance(c, s.P, c.mean - cell_residuals(s, c), one, s.freedom)


def pair_variance(C, i, k):
    return C[i, i] + C[k, k] - 2 * C[i, k]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block", [2**20, 30])
def test_scores_against_statsmodels(seed, block, monkeypatch):
    """The sandwich without small-sample corrections, where units stay with an arm and where they do not."""
    monkeypatch.setattr(module, "BLOCK_NUMBERS", block)
    arm, day, unit, reward = draw(seed)
    if seed % 2:
        arm = np.random.default_rng(seed).integers(3, size=arm.size)
    c = with_units(arm, day, unit, reward)
    X = np.hstack([np.array([[a == label for label in c.arms] for a in arm], float), np.eye(8)[day][:, 1:]])
    groups = {"groups": unit, "use_correction": False}
    ols = sm.OLS(reward, X).fit(cov_type="cluster", cov_kwds=groups)
    scores, s = scores_of(c)
    C = s.P @ scores.observed_sums.sum(axis=0) @ s.P
    for i in range(1, 3):
        row = np.zeros(X.shape[1])
        row[i], row[0] = 1.0, -1.0
        assert pair_variance(C, i, 0) == pytest.approx(row @ ols.cov_params() @ row, rel=1e-8)


def with_covariate(seed, level):
    """A covariate of rows, or of units, that the arms do not share evenly."""
    random = np.random.default_rng(seed)
    arm, day, unit, reward = draw(seed)
    x = random.normal(size=40)[unit] if level == "units" else random.normal(size=unit.size)
    x = x + 1.5 * arm
    log = {"arm": arm, "day": day, "unit": unit, "x": x, "reward": reward + 2.0 * x}
    columns = ColumnOptions(arm="arm", environment="day", reward="reward", unit="unit", covariates=["x"])
    return log, read_log(log, AnalysisOptions(columns=columns)).found.cells


@pytest.mark.parametrize("level", ["rows", "units"])
@pytest.mark.parametrize("block", [2**20, 30])
def test_scores_contain_the_error_of_slopes(level, block, monkeypatch):
    """The sandwich with a covariate, against statsmodels; the model without correlation, against OLS."""
    monkeypatch.setattr(module, "BLOCK_NUMBERS", block)
    log, c = with_covariate(1, level)
    arm, dummies = log["arm"], np.eye(8)[log["day"]][:, 1:]
    X = np.column_stack([np.array([[a == label for label in c.arms] for a in arm], float), dummies, log["x"]])
    model = sm.OLS(log["reward"], X)
    robust = model.fit(cov_type="cluster", cov_kwds={"groups": log["unit"], "use_correction": False})
    scores, s = scores_of(c)
    covariances = [s.P @ x.sum(axis=0) @ s.P for x in (scores.observed_sums, scores.separate_sums)]
    for C, want in zip(covariances, (robust.cov_params(), model.fit().cov_params()), strict=True):
        for i in range(1, 3):
            row = np.zeros(X.shape[1])
            row[i], row[0] = 1.0, -1.0
            assert pair_variance(C, i, 0) == pytest.approx(row @ want @ row, rel=1e-8)


def test_expected_sizes_by_brute_force():
    """Covariances (1 - rho) I + rho 1 1' of each unit, put together in a dense matrix."""
    arm, day, unit, reward = draw(5, rows=60, units=12)
    arm = np.random.default_rng(5).integers(3, size=60)
    c = with_units(arm, day, unit, reward)
    scores, s = scores_of(c)
    v = s.rss / s.freedom
    position = [c.arms.index(a) for a in arm.tolist()]
    where = [c.environments.index(d) for d in day.tolist()]
    g = np.eye(3)[position] - c.dense_shares()[where]
    for rho, sums in ((0.0, scores.separate_sums), (1.0, scores.joint_sums)):
        one = v * ((1.0 - rho) * np.eye(60) + rho * (unit[:, None] == unit))
        assert sums.sum(axis=0) == pytest.approx(g.T @ one @ g, abs=1e-8)
    for k, u in enumerate(np.unique(unit)):
        mine = g[unit == u]
        assert scores.separate[k] == pytest.approx(v * np.trace(mine @ s.P @ mine.T), rel=1e-9)
        assert scores.joint[k] == pytest.approx(v * mine.sum(axis=0) @ s.P @ mine.sum(axis=0), rel=1e-9)


def test_equal_units_of_two_arms_are_a_t_test_of_their_means():
    """With one environment, the model of equal correlations is the pooled t-test, and its df are exact."""
    random = np.random.default_rng(6)
    unit, arm = np.repeat(np.arange(30), 4), np.repeat(np.arange(30) < 12, 4).astype(int)
    reward = random.normal(size=30)[unit] + random.normal(size=120)
    c = with_units(arm, np.zeros(120, int), unit, reward)
    scores, s = scores_of(c)
    model = fit_correlation(scores)
    rho = model.correlation
    C = s.P @ ((1.0 - rho) * scores.separate_sums + rho * scores.joint_sums).sum(axis=0) @ s.P
    means = reward.reshape(30, 4).mean(axis=1)
    wanted = stats.ttest_ind(means[:12], means[12:])
    gap = means[:12].mean() - means[12:].mean()
    assert np.sqrt(pair_variance(C, 0, 1)) == pytest.approx(abs(gap / wanted.statistic), rel=1e-8)
    assert model.kept.sum() == pytest.approx(28.0)


def test_many_units_are_the_cluster_robust_covariance():
    """Rewards of one arm are three times as noisy, which the model of equal correlations does not know."""
    random = np.random.default_rng(7)
    unit = np.repeat(np.arange(6000), 3)
    arm, day = unit % 2, random.integers(5, size=18000)
    reward = (1.0 + 2.0 * arm) * (random.normal(size=6000)[unit] + random.normal(size=18000))
    c = with_units(arm, day, unit, reward)
    X = np.hstack([np.eye(2)[arm], np.eye(5)[day][:, 1:]])
    ols = sm.OLS(reward, X).fit(cov_type="cluster", cov_kwds={"groups": unit})
    row = np.array([1.0, -1.0, 0, 0, 0, 0])
    assert pair_variance(clustered(c).covariance, 0, 1) == pytest.approx(
        row @ ols.cov_params() @ row, rel=0.02
    )


def test_groups_and_days_with_one_arm_count_apart():
    """What units do on days with a single arm says nothing of the comparison."""
    arm, day, unit, reward = draw(3, arms=2)
    alone = with_units(arm, day, unit, reward)
    more = with_units(
        np.concatenate([arm, arm[:50]]),
        np.concatenate([day, np.arange(50) + 1000]),
        np.concatenate([unit, unit[:50]]),
        np.concatenate([reward, reward[:50]]),
    )
    found, wanted = (unit_tests_of(c) for c in (more, alone))
    i, k = more.arms.index(0), more.arms.index(1)
    assert pair_variance(found.covariance, i, k) == pytest.approx(
        pair_variance(wanted.covariance, 0, 1), rel=1e-9
    )
    assert found.freedom[i, k] == pytest.approx(wanted.freedom[0, 1])


def unit_tests_of(c):
    return additive_unit_pairs(c, solve(c))


@pytest.mark.parametrize("share", [0.5, 0.1])
def test_coverage_where_units_come_back(share):
    """95 % intervals of 400 logs without a difference: fewer than 365 cover with probability 6e-4.

    Intervals that take rows for independent cover far less: the negative control.
    """
    covered, naive = 0, 0
    for seed in range(400):
        random = np.random.default_rng(1000 + seed)
        unit, day = np.repeat(np.arange(60), 6), random.integers(10, size=360)
        reward = (
            3.0 * random.normal(size=10)[day] + 2.0 * random.normal(size=60)[unit] + random.normal(size=360)
        )
        c = with_units((unit < 60 * share).astype(int), day, unit, reward)
        found = Fit(c, variance="by-unit").contrast(1, 0)
        covered += found.low <= 0.0 <= found.high
        rows = Fit(c, variance="common").contrast(0, 1)
        naive += rows.low <= 0.0 <= rows.high
    assert 365 <= covered <= 396
    assert naive < 300


@pytest.mark.parametrize(
    "setting",
    [UnitSetting("money", "once", 2_000, 0.05), UnitSetting("conversions", "zipf", 400, 0.3)],
    ids=lambda setting: setting.name,
)
def test_equal_arms_rarely_have_a_winner(setting):
    """More than 18 of 200 logs with probability 0.006, if 5 % have one; Student-t tests had 41 and 20."""
    assert sum(play(setting, number) for number in range(200)) <= 18


def test_a_unit_in_both_arms_is_its_own_control():
    """The variance of differences within units: the paired t-test."""
    random = np.random.default_rng(8)
    unit, arm = np.repeat(np.arange(4000), 2), np.tile([0, 1], 4000)
    reward = 5.0 * random.normal(size=4000)[unit] + random.normal(size=8000)
    c = with_units(arm, np.zeros(8000, int), unit, reward)
    found = Fit(c, variance="by-unit").contrast(1, 0)
    differences = reward[1::2] - reward[::2]
    assert found.se == pytest.approx(differences.std(ddof=1) / np.sqrt(4000), rel=0.02)


def test_units_with_one_reward_are_a_log_without_units():
    random = np.random.default_rng(9)
    arm, day = random.integers(2, size=300), random.integers(5, size=300)
    reward = np.where(random.random(300) < 0.3, random.lognormal(0, 1, 300), 0.0)
    c = with_units(arm, day, np.arange(300), reward)
    plain = replace(c, units=None)
    by_unit = Fit(c, variance="by-unit", about="these").contrast(1, 0)
    assert by_unit == Fit(plain, scale="difference", about="these").contrast(1, 0)
    unit = np.arange(300)
    unit[1] = 0  # one visitor comes twice
    nearly = Fit(with_units(arm, day, unit, reward), variance="by-unit", about="these").contrast(1, 0)
    assert (nearly.low, nearly.high) == pytest.approx((by_unit.low, by_unit.high), rel=0.03)


def test_skewness_has_two_parts():
    n = np.array([1.0, 1.0, 2.0, 3.0, 5.0, 40.0])
    scale = np.sqrt(n * (1.0 + 0.3 * (n - 1.0)))
    assert fit_skewness(n, scale, np.cbrt(2.0 * n + 0.25 * n**3)) == pytest.approx((2.0, 0.25))
    assert fit_skewness(n, scale, np.cbrt(-0.5 * n)) == pytest.approx((-0.5, 0.0), abs=1e-12)
    assert fit_skewness(np.ones(4), np.ones(4), np.array([1.0, 1.0, -1.0, 2.0])) == (2.25, 0.0)


def test_events_of_one_unit_count_less():
    """Arm 0: units with 3 and 1 ones, (3 + 1)^2 / (9 + 1). Arm 1: three units with one each."""
    unit = np.array([0, 0, 0, 0, 1, 1, 2, 3, 4, 4])
    arm = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    ones = np.array([1, 1, 1, 0, 1, 0, 1, 1, 0, 1.0])
    c = with_units(arm, np.zeros(10, int), unit, ones)
    assert count_unit_events(c).kinds[:, 0].tolist() == [1.6, 3.0]
    amounts = np.where(ones > 0.0, 7.0, 0.0)
    amounts = np.concatenate([amounts, np.zeros(40)])
    more = with_units(
        np.concatenate([arm, np.ones(40, int)]),
        np.zeros(50, int),
        np.concatenate([unit, np.arange(40) + 5]),
        amounts,
    )
    both, rarer = count_unit_events(more).worth(0, 1)
    assert both == pytest.approx((28 + 21) ** 2 / (21**2 + 7**2 + 3 * 7**2))
    assert rarer == pytest.approx(both * 2 / 45)


@pytest.mark.parametrize("scale", ["ratio", "odds"])
def test_other_scales_against_gee(scale):
    """Poisson and logistic regressions with equal correlations, sandwich standard errors; 3,000 units."""
    random = np.random.default_rng(10)
    unit = np.repeat(np.arange(3000), random.geometric(0.4, 3000))
    arm, day = unit % 2, random.integers(4, size=unit.size)
    reward = (random.random(unit.size) < random.beta(1.5, 3.5, 3000)[unit]).astype(float)
    c = with_units(arm, day, unit, reward)
    found = Fit(c, variance="by-unit", scale=scale, about="these").contrast(1, 0)
    X = np.hstack([np.eye(2)[arm][:, 1:], np.eye(4)[day]])
    family = sm.families.Poisson() if scale == "ratio" else sm.families.Binomial()
    gee = sm.GEE(reward, X, groups=unit, family=family).fit()
    assert np.log1p(found.estimate) == pytest.approx(gee.params[0], abs=0.1 * gee.bse[0])
    assert found.se == pytest.approx(gee.bse[0], rel=0.03)


def test_bad_units():
    arm, day, unit, reward = draw(0)
    c = cells_from_arrays(arm, day, reward)
    with pytest.raises(InputError, match="variance='by-unit' needs a column of units"):
        Fit(c, variance="by-unit")
    log = {"arm": arm, "day": day, "user": unit, "reward": reward}
    with pytest.raises(InputError, match="leave out variance='sandwich'"):
        tp.fit(log, **COLUMNS, variance="sandwich")
    with pytest.raises(InputError, match="requires scale='difference'"):
        tp.fit({**log, "reward": reward - reward.min() + 1.0}, **COLUMNS, scale="log")


COLUMNS = {"arm": "arm", "environment": "day", "reward": "reward", "unit": "user"}


def test_an_arm_of_one_unit_is_no_winner():
    random = np.random.default_rng(11)
    unit = np.repeat(np.arange(20), 10)
    log = {"arm": (unit == 0).astype(int), "day": np.zeros(200, int), "user": unit}
    log["reward"] = 50.0 * log["arm"] + random.normal(size=200) + random.normal(size=20)[unit]
    fit = tp.fit(log, **COLUMNS)
    assert fit.decision.doubt == "too few units"
    assert fit.decision.standing == "open"
    assert "the effective number of units of 1 is 1, because" in fit.verdict


def test_too_few_events_are_counted_by_unit():
    """One visitor of arm 1 buys 40 times: as one event."""
    unit = np.concatenate([np.arange(200), np.full(40, 0)])
    log = {"arm": unit % 2 == 0, "day": np.zeros(240, int), "user": unit}
    log["reward"] = np.concatenate([np.arange(200) % 50 == 7, np.ones(40)]).astype(float)
    fit = tp.fit(log, **COLUMNS)
    assert fit.decision.doubt in ("too few events", "too few units")
    assert fit.verdict.startswith("too few")
    assert tp.fit({**log, "user": np.arange(240)}, **COLUMNS).decision.standing == "winner_on_these"
