"""Environments that are sums of two factors, against dense least squares and statsmodels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

from tideproof.analysis import Fit
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError, NotComparable
from tideproof.stats.solve.adjusted_means import adjusted_means, environment_shifts
from tideproof.stats.solve.least_squares import residuals, solve


def draw(seed, rows=120, arms=4, cows=9, periods=5):
    random = np.random.default_rng(seed)
    arm, cow, period = (random.integers(count, size=rows) for count in (arms, cows, periods))
    reward = (
        random.normal(size=arms)[arm]
        + 100 * random.normal(size=cows)[cow]
        + random.normal(size=periods)[period]
    )
    return arm, cow, period, reward + random.normal(size=rows)


def cells_of(arm, cow, period, reward):
    c = cells_from_arrays(arm, list(zip(cow.tolist(), period.tolist(), strict=True)), reward)
    return replace(c, factors=tuple(np.array([pair[i] for pair in c.environments]) for i in (0, 1)))


def design(c, arm, cow, period):
    """Arms in the order of the cells, then dummies of both factors, the first of each left out."""
    of_arm = np.array([[label == a for label in c.arms] for a in arm], float)
    others = [np.eye(level.max() + 1)[level][:, 1:] for level in (cow, period)]
    return np.hstack([of_arm, *others])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("swapped", [False, True])
def test_contrasts_are_those_of_statsmodels(seed, swapped):
    arm, cow, period, reward = draw(seed)
    c = cells_of(arm, period, cow, reward) if swapped else cells_of(arm, cow, period, reward)
    ols = sm.OLS(reward, design(c, arm, cow, period)).fit()
    s = solve(c)
    assert s.freedom == ols.df_resid
    assert s.rss == pytest.approx(ols.ssr, rel=1e-9)
    fit = Fit(c, variance="common")
    for i in range(1, c.K):
        wanted = ols.t_test(
            np.concatenate([np.eye(c.K)[i] - np.eye(c.K)[0], np.zeros(ols.params.size - c.K)])
        )
        found = fit.contrast(c.arms[i], c.arms[0])
        assert found.estimate == pytest.approx(wanted.effect[0], rel=1e-8)
        assert found.se == pytest.approx(wanted.sd[0, 0], rel=1e-8)
        assert found.p == pytest.approx(float(wanted.pvalue), rel=1e-7)


def test_adjusted_means_and_shifts_are_predictions():
    arm, cow, period, reward = draw(5)
    c = cells_of(arm, cow, period, reward)
    X = design(c, arm, cow, period)
    ols = sm.OLS(reward, X).fit()
    mean, variance = adjusted_means(solve(c), c)
    for i in range(c.K):
        row = np.concatenate([np.eye(c.K)[i], X[:, c.K :].mean(axis=0)])  # in every row's place
        assert mean[i] == pytest.approx(row @ ols.params, rel=1e-8)
        assert variance[i] == pytest.approx(row @ ols.normalized_cov_params @ row, rel=1e-8)
    shift, variance = environment_shifts(solve(c), c)
    for j, (of_cow, of_period) in enumerate(c.environments):
        place = np.flatnonzero((cow == of_cow) & (period == of_period))[0]
        row = np.concatenate([np.zeros(c.K), X[place, c.K :] - X[:, c.K :].mean(axis=0)])
        assert shift[j] == pytest.approx(row @ ols.params, rel=1e-7)
        assert variance[j] == pytest.approx(row @ ols.normalized_cov_params @ row, rel=1e-7)


def test_residuals_of_cells_and_the_test_of_additivity():
    """Without cells to themselves, the F test is that of statsmodels: cell dummies against the sum."""
    arm, cow, period, reward = draw(6, rows=300, arms=3, cows=4, periods=3)
    c = cells_of(arm, cow, period, reward)
    X = design(c, arm, cow, period)
    cell = np.unique(np.stack([arm, cow, period]), axis=1, return_inverse=True)[1].ravel()
    wanted = sm.OLS(reward, np.eye(cell.max() + 1)[cell]).fit().compare_f_test(sm.OLS(reward, X).fit())
    test = Fit(c).additivity()
    assert (test.F, test.p, test.df1) == pytest.approx(wanted, rel=1e-8)
    residual, variance = residuals(solve(c), c)
    hat = X @ np.linalg.pinv(X)
    for k in range(c.n.size):
        mine = (arm == c.arms[c.arm[k]]) & (
            c.environments[c.environment[k]] == np.stack([cow, period]).T
        ).all(axis=1)
        average = mine / mine.sum()
        left = np.eye(arm.size) - hat
        assert residual[k] == pytest.approx(average @ left @ reward, abs=1e-9)
        assert variance[k] == pytest.approx(average @ left @ average, abs=1e-9)


def test_arms_that_two_factors_do_not_connect_are_named():
    """Arms 0 and 1 meet cow 0 only, 2 and 3 cow 1 only; no period is shared."""
    arm, cow = np.array([0, 1, 0, 1, 2, 3, 2, 3]), np.array([0, 0, 0, 0, 1, 1, 1, 1])
    with pytest.raises(NotComparable, match=r"\(0, 1\) and \(2, 3\)"):
        solve(cells_of(arm, cow, np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.arange(8.0)))


@pytest.mark.parametrize("numbers", [1, 40, 100])
def test_blocks_of_levels_do_not_change_the_solution(numbers, monkeypatch):
    columns = draw(5)
    whole = Fit(cells_of(*columns))
    monkeypatch.setattr("tideproof.stats.solve.environment_factors.BLOCK_NUMBERS", numbers)
    found = Fit(cells_of(*columns))
    assert found.contrast(0, 1).estimate == pytest.approx(whole.contrast(0, 1).estimate, rel=1e-9)
    assert found.contrast(0, 1).se == pytest.approx(whole.contrast(0, 1).se, rel=1e-9)
    assert found.shifts["shift"] == pytest.approx(whole.shifts["shift"], rel=1e-8, abs=1e-9)


@pytest.mark.parametrize("variance", ["sandwich", "clustered", "by-arm", "by-environment"])
def test_other_models_of_the_noise_are_refused(variance):
    arm, cow, period, reward = draw(7, rows=600, arms=2, cows=3, periods=3)
    with pytest.raises(InputError, match="requires one column of environments, not two"):
        Fit(cells_of(arm, cow, period, reward), variance=variance)
    with pytest.raises(InputError, match=r"influence\(\) requires"):
        Fit(cells_of(arm, cow, period, reward)).influence()


def test_cells_that_are_selected_keep_both_factors_of_their_environments():
    c = cells_of(*draw(0, rows=30))
    kept = np.flatnonzero(c.environment % 2 == 1)
    some = c.select(kept)
    assert some.environments == [label for j, label in enumerate(c.environments) if j % 2 == 1]
    assert [
        tuple(pair) for pair in zip(*(x.tolist() for x in some.factors), strict=True)
    ] == some.environments
    assert [some.environments[j] for j in some.environment] == [
        c.environments[c.environment[k]] for k in kept
    ]
