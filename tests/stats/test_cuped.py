"""Covariates taken out of rewards, against statsmodels' OLS with a dummy for every arm and environment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

import tideproof as tp
from oracles import dummies
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.stats.solve.adjusted_means import adjusted_means
from tideproof.stats.solve.covariate_adjustment import adjust_for_covariates
from tideproof.stats.solve.least_squares import solve


def draw(seed, rows=90, arms=3, days=6, covariates=2):
    random = np.random.default_rng(seed)
    arm, day = random.integers(arms, size=rows), random.integers(days, size=rows)
    x = random.normal(size=(covariates, rows)) * np.array([[1.0], [1000.0]])[:covariates] + 50.0 * (day % 2)
    reward = arm + 10.0 * random.normal(size=days)[day] + 3.0 * x[0] + random.normal(size=rows)
    return arm, day, x, reward


def taken_out(arm, day, x, reward, names=("before", "age")):
    c = cells_from_arrays(arm, day, reward)
    cell = [(c.arms[i], c.environments[j]) for i, j in zip(c.arm, c.environment, strict=True)]
    mine = [(arm == a) & (day == d) for a, d in cell]
    means = np.array([[value[rows].mean() for rows in mine] for value in x])
    values = np.vstack([reward, x])
    products = np.stack(
        [np.atleast_2d(np.cov(values[:, rows], bias=True)) * rows.sum() for rows in mine], axis=2
    )
    return adjust_for_covariates(c, means, products, names[: len(x)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("covariates", [1, 2])
def test_slopes_contrasts_and_noise_are_those_of_least_squares(seed, covariates):
    arm, day, x, reward = draw(seed, covariates=covariates)
    c = taken_out(arm, day, x, reward)
    arms, days = np.array(c.arms), np.array(c.environments)
    X = dummies(np.searchsorted(np.sort(arms), arm), day, 3, 6)[:, :-1]
    X = np.hstack([X, x.T])
    ols = sm.OLS(reward, X).fit()
    s = solve(c)
    assert c.slope.by == pytest.approx(ols.params[-covariates:], rel=1e-8)
    assert s.freedom == ols.df_resid
    assert s.rss == pytest.approx(ols.ssr, rel=1e-8)
    P = s.P + c.slope.loose
    place = np.argsort(np.argsort(arms))
    for i in range(1, 3):
        row = np.zeros(ols.params.size)
        row[place[i]], row[place[0]] = 1.0, -1.0
        assert s.mu[i] - s.mu[0] == pytest.approx(row @ ols.params, rel=1e-8)
        variance = P[i, i] + P[0, 0] - 2 * P[i, 0]
        assert variance == pytest.approx(row @ ols.normalized_cov_params @ row, rel=1e-8)
    mean, variance = adjusted_means(s._replace(P=P), c)
    for i in range(3):  # the arm in every row's place, covariates at their mean
        row = X.mean(axis=0)
        row[:3] = 0.0
        row[place[i]] = 1.0
        assert mean[i] == pytest.approx(row @ ols.params, rel=1e-8)
        assert variance[i] == pytest.approx(row @ ols.normalized_cov_params @ row, rel=1e-8)
    assert days.size == 6


def test_cells_are_those_of_the_rewards_left():
    arm, day, x, reward = draw(9)
    c = taken_out(arm, day, x, reward)
    left = reward - c.slope.by @ (x - x.mean(axis=1, keepdims=True))
    wanted = cells_from_arrays(arm, day, left)
    assert c.mean == pytest.approx(wanted.mean, rel=1e-9)
    assert c.squares == pytest.approx(wanted.squares, rel=1e-8, abs=1e-8)


def test_less_noise_is_left():
    arm, day, x, reward = draw(2)
    before, after = (solve(c) for c in (cells_from_arrays(arm, day, reward), taken_out(arm, day, x, reward)))
    assert after.rss / after.freedom < before.rss / before.freedom / 5


def test_a_covariate_that_says_nothing_of_its_own_is_refused():
    arm, day, x, reward = draw(3)
    with pytest.raises(InputError, match="covariate 'age' does not vary"):
        taken_out(arm, day, np.array([x[0], 7.0 * day + arm]), reward)
    with pytest.raises(InputError, match=r"collinear: one of \['before', 'age'\]"):
        taken_out(arm, day, np.array([x[0], 2.0 * x[0] - day]), reward)


def test_covariates_with_two_factors():
    """The pair (day, shop) as a sum: dummies of both and the covariate."""
    random = np.random.default_rng(4)
    arm, day, shop = (random.integers(k, size=200) for k in (3, 5, 7))
    x = random.normal(size=200)
    reward = arm + day - shop + 2.0 * x + random.normal(size=200)
    pairs = list(zip(day.tolist(), shop.tolist(), strict=True))
    c = cells_from_arrays(arm, pairs, reward)
    c = replace(c, factors=tuple(np.array([pair[i] for pair in c.environments]) for i in (0, 1)))
    mine = [
        (arm == c.arms[i]) & np.array([p == c.environments[j] for p in pairs])
        for i, j in zip(c.arm, c.environment, strict=True)
    ]
    means = np.array([[x[rows].mean() for rows in mine]])
    products = np.stack(
        [np.cov(np.vstack([reward, x])[:, rows], bias=True) * rows.sum() for rows in mine], axis=2
    )
    found = adjust_for_covariates(c, means, products, ["x"])
    ols = sm.OLS(
        reward, np.column_stack([np.eye(3)[arm], np.eye(5)[day][:, 1:], np.eye(7)[shop][:, 1:], x])
    ).fit()
    assert found.slope.by[0] == pytest.approx(ols.params[-1], rel=1e-8)
    s = solve(found)
    assert s.rss == pytest.approx(ols.ssr, rel=1e-8)
    assert s.freedom == ols.df_resid


def test_a_fit_with_covariates_is_that_of_statsmodels():
    arm, day, x, reward = draw(8, rows=40)  # few rows: the slope is not well known
    log = {"arm": arm, "day": day, "before": x[0], "age": x[1], "reward": reward}
    fit = tp.fit(
        log, arm="arm", environment="day", reward="reward", covariates=["before", "age"], variance="common"
    )
    X = np.hstack([np.eye(3)[arm], np.eye(6)[day][:, 1:], x.T])
    wanted = sm.OLS(reward, X).fit().t_test(np.eye(X.shape[1])[2] - np.eye(X.shape[1])[0])
    found = fit.contrast(2, 0)
    assert (found.estimate, found.se, found.p) == pytest.approx(
        (float(wanted.effect[0]), float(wanted.sd[0, 0]), float(wanted.pvalue)), rel=1e-7
    )
