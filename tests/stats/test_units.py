"""Standard errors where units come back, against statsmodels' clustered covariance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.stats.cells import UnitRewards
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance import clustered_units as module
from tideproof.stats.variance.clustered_units import clustered_covariance
from tideproof.stats.variance.variance_models import comparison_counts


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


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("block", [2**20, 30])
def test_against_statsmodels(seed, block, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", block)
    arm, day, unit, reward = draw(seed)
    c = with_units(arm, day, unit, reward)
    X = np.hstack([np.array([[a == label for label in c.arms] for a in arm], float), np.eye(8)[day][:, 1:]])
    ols = sm.OLS(reward, X).fit(cov_type="cluster", cov_kwds={"groups": unit})
    found = clustered_covariance(c, solve(c))
    for i in range(1, 3):
        row = np.zeros(X.shape[1])
        row[i], row[0] = 1.0, -1.0
        C = found.covariance
        assert C[i, i] + C[0, 0] - 2 * C[i, 0] == pytest.approx(row @ ols.cov_params() @ row, rel=1e-8)
    assert found.freedom.tolist() == [39.0] * 3


def test_units_that_are_the_environments_are_the_clustered_model():
    arm, day, _, reward = draw(1)
    random = np.random.default_rng(0)
    arm = random.integers(3, size=arm.size)
    c = with_units(arm, day, day, reward)
    found, fit = clustered_covariance(c, solve(c)), Fit(c, variance="clustered")
    wanted = fit.contrast(1, 0)
    i, k = c.arms.index(1), c.arms.index(0)
    C = found.covariance
    assert np.sqrt(C[i, i] + C[k, k] - 2 * C[i, k]) == pytest.approx(wanted.se, rel=1e-10)
    assert found.freedom[i] == wanted.degrees_of_freedom == comparison_counts(c, solve(c)).environments[0] - 1


def test_groups_and_days_with_one_arm_count_apart():
    """What units do in another group of arms, or on days with a single arm, says nothing of this group."""
    arm, day, unit, reward = draw(3, arms=2)
    alone = with_units(arm, day, unit, reward)
    more = with_units(
        np.concatenate([arm, arm + 2, arm[:50]]),
        np.concatenate([day, day + 100, arm[:50] + 1000]),
        np.concatenate([unit, unit + 7, unit[:50] + 500]),
        np.concatenate([reward, 3.0 * reward, reward[:50]]),
    )
    found, wanted = clustered_covariance(more, solve(more)), clustered_covariance(alone, solve(alone))
    i, k = more.arms.index(0), more.arms.index(1)
    want = wanted.covariance[0, 0] + wanted.covariance[1, 1] - 2 * wanted.covariance[0, 1]
    C = found.covariance
    assert C[i, i] + C[k, k] - 2 * C[i, k] == pytest.approx(want, rel=1e-9)
    assert found.freedom[i] == wanted.freedom[0]


def test_coverage_where_units_come_back():
    """95 % intervals of 400 logs without a difference; fewer than 360 or more than 396 cover with probability 3e-4.

    Intervals that take rows for independent cover far less: the negative control.
    """
    covered, naive = 0, 0
    for seed in range(400):
        random = np.random.default_rng(1000 + seed)
        unit, day = np.repeat(np.arange(60), 6), random.integers(10, size=360)
        reward = (
            3.0 * random.normal(size=10)[day] + 2.0 * random.normal(size=60)[unit] + random.normal(size=360)
        )
        c = with_units(unit % 2, day, unit, reward)
        s = solve(c)
        found = clustered_covariance(c, s)
        C = found.covariance
        gap = abs(s.mu[0] - s.mu[1])
        covered += gap <= 2.001 * np.sqrt(C[0, 0] + C[1, 1] - 2 * C[0, 1])  # t with 59 degrees of freedom
        rows = Fit(c, variance="common").contrast(0, 1)
        naive += rows.low <= 0.0 <= rows.high
    assert 360 <= covered <= 396
    assert naive < 300


def test_bad_units():
    arm, day, unit, reward = draw(0)
    c = cells_from_arrays(arm, day, reward)
    with pytest.raises(InputError, match="variance='by-unit' needs a column of units"):
        clustered_covariance(c, solve(c))
    one = with_units(arm, day, 0 * unit, reward)
    with pytest.raises(InputError, match=r"needs at least two units; the group of arms .* and . has only 1"):
        clustered_covariance(one, solve(one))


def test_a_fit_by_units_is_that_of_statsmodels():
    arm, day, unit, reward = draw(2)
    log = {"arm": arm, "day": day, "user": unit, "reward": reward}
    fit = tp.fit(log, arm="arm", environment="day", reward="reward", unit="user")
    X = np.hstack([np.eye(3)[arm], np.eye(8)[day][:, 1:]])
    ols = sm.OLS(reward, X).fit(cov_type="cluster", cov_kwds={"groups": unit}, use_t=True)
    row = np.zeros(X.shape[1])
    row[1], row[0] = 1.0, -1.0
    wanted, found = ols.t_test(row), fit.contrast(1, 0)
    assert (found.estimate, found.se, found.p) == pytest.approx(
        (float(wanted.effect[0]), float(wanted.sd[0, 0]), float(wanted.pvalue)), rel=1e-8
    )
    assert found.degrees_of_freedom == 39
    assert fit.arms["se"][0] > tp.fit(log, arm="arm", environment="day", reward="reward").arms["se"][0]
    with pytest.raises(InputError, match="leave out variance='sandwich'"):
        tp.fit(log, arm="arm", environment="day", reward="reward", unit="user", variance="sandwich")


def unit_log(rows):
    """Return the columns of rows of arm, day and unit, with two rewards each."""
    random = np.random.default_rng(3)
    arm, day, unit = zip(*[row for row in rows for _ in range(2)], strict=True)
    return {"arm": arm, "day": day, "user": unit, "reward": random.normal(size=len(arm))}


ENOUGH_UNITS = [(arm, day, f"{arm}{day}{i}") for arm in "AB" for day in (1, 2) for i in range(3)]
TOO_FEW_UNITS = [("C", 3, "u1"), ("D", 3, "u2")]
COLUMNS = {"arm": "arm", "environment": "day", "reward": "reward", "unit": "user"}


def test_units_of_one_environment_leave_as_many_degrees_of_freedom_as_rows_of_their_means_would():
    fit = tp.fit(unit_log(ENOUGH_UNITS), **COLUMNS)
    assert fit.contrast("A", "B").degrees_of_freedom == 12 - 2 - 2 + 1


def test_the_arms_with_too_few_units_are_named():
    with pytest.raises(InputError, match="arms C and D has 2 units in 1 env"):
        tp.fit(unit_log(ENOUGH_UNITS + TOO_FEW_UNITS), **COLUMNS)


def test_units_of_several_environments_are_no_part_of_one_whatever_their_numbers():
    """Two units and three environments, as few pairs of them as may be."""
    day, unit = np.array([0, 0, 1, 2]).repeat(6), np.array([0, 1, 0, 0]).repeat(6)
    random = np.random.default_rng(4)
    arm, reward = np.tile(np.arange(2), 12), random.normal(size=24) + 3.0 * unit
    c = with_units(arm, day, unit, reward)
    X = np.hstack([np.eye(2)[arm], np.eye(3)[day][:, 1:]])
    ols = sm.OLS(reward, X).fit(cov_type="cluster", cov_kwds={"groups": unit})
    found = clustered_covariance(c, solve(c)).covariance
    want = ols.cov_params()
    assert found[0, 0] + found[1, 1] - 2 * found[0, 1] == pytest.approx(
        want[0, 0] + want[1, 1] - 2 * want[0, 1], rel=1e-8
    )
