"""Noise that differs between arms, with covariates or two factors, against dense matrices and statsmodels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import hypergeom, norm

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.analysis.words.fit_warnings import fit_warnings
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.research.trust.combinations.covariate_calibration import draw_log, play, settings
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.additivity_test import two_factor_fit
from tideproof.stats.pairs.adjusted_pairs import adjusted_pairs
from tideproof.stats.solve.arm_estimators import ArmEstimators
from tideproof.stats.solve.covariate_adjustment import adjust_for_covariates
from tideproof.stats.solve.least_squares import cell_residuals
from tideproof.stats.solve.two_factor_means import adjusted_means_and_shifts
from tideproof.stats.variance.adjusted_variances import (
    AdjustedVariances,
    LabelFactors,
    measure_adjusted_variances,
)
from tideproof.stats.variance.cell_variances import VarianceFactors
from tideproof.stats.variance.expected_squares import residual_shares

KINDS = ["covariates", "two factors", "both"]


class Log:
    """A small log with its dense design matrix: arms, environments, covariates."""

    def __init__(self, kind, seed, rows=70):
        random = np.random.default_rng(seed)
        self.arm, self.cow, self.period = (random.integers(k, size=rows) for k in (3, 7, 4))
        two = kind != "covariates"
        self.x = random.standard_normal((2, rows)) if kind != "two factors" else np.zeros((0, rows))
        sd = np.array([3.0, 1.0, 1.0])[self.arm]
        self.reward = 5.0 * random.standard_normal(7)[self.cow] + sd * random.exponential(size=rows)
        self.reward += self.x.sum(axis=0)
        place = list(zip(self.cow.tolist(), self.period.tolist(), strict=True)) if two else self.cow.tolist()
        c = cells_from_arrays(self.arm, place, self.reward)
        if two:
            c = replace(c, factors=tuple(np.array([pair[i] for pair in c.environments]) for i in (0, 1)))
        order = {
            (a, e): k for k, (a, e) in enumerate(zip(c.arm.tolist(), c.environment.tolist(), strict=True))
        }
        index = [c.arms.index(a) for a in self.arm.tolist()], [c.environments.index(p) for p in place]
        self.cell = np.array([order[pair] for pair in zip(*index, strict=True)])
        if self.x.size:
            mine = [self.cell == k for k in range(c.n.size)]
            values = np.vstack([self.reward, self.x])
            products = np.stack([np.cov(values[:, m], bias=True) * m.sum() for m in mine], axis=2)
            means = np.array([[each[m].mean() for m in mine] for each in self.x])
            c = adjust_for_covariates(c, means, products, ["a", "b"])
        self.c = c
        of_arm = np.eye(3)[np.array(index[0])]
        parts = [of_arm, np.eye(7)[self.cow][:, 1:]] + ([np.eye(4)[self.period][:, 1:]] if two else [])
        self.X = np.hstack([*parts, self.x.T])
        self.linear = np.linalg.pinv(self.X)  # estimates of all parameters, linear in the rewards
        self.M = np.eye(rows) - self.X @ self.linear


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_coefficients_and_covariances_are_those_of_a_dense_fit(kind, seed):
    log = Log(kind, seed)
    c, found = log.c, ArmEstimators(log.c, log.c.solution)
    variance = np.random.default_rng(seed).uniform(0.5, 9.0, c.n.size)
    wanted = log.linear[:3] @ (variance[log.cell][:, None] * log.linear[:3].T)
    covariance = found.covariance(variance)
    for i, k in ((0, 1), (1, 2)):
        row = log.linear[i] - log.linear[k]
        coefficients = found.contrast(i, k)
        mean = np.bincount(log.cell, row) / c.n
        assert coefficients.mean == pytest.approx(mean, abs=1e-10)
        inside = np.bincount(log.cell, (row - mean[log.cell]) ** 2)
        assert coefficients.inside == pytest.approx(inside, abs=1e-10)
        between = np.eye(3)[i] - np.eye(3)[k]
        assert between @ covariance @ between == pytest.approx(between @ wanted @ between, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("numbers", [1, 2**20])
def test_expected_squares_are_those_of_the_projection_onto_residuals(kind, numbers, monkeypatch):
    monkeypatch.setattr("tideproof.stats.solve.environment_factors.BLOCK_NUMBERS", numbers)
    monkeypatch.setattr("tideproof.stats.cells.BLOCK_NUMBERS", numbers)
    log = Log(kind, 4)
    c = log.c
    shares = residual_shares(c, c.solution, ArmEstimators(c, c.solution).design)
    columns = log.X.shape[1] - len(log.x)  # covariates are charged in proportion
    M = np.eye(log.arm.size) - log.X[:, :columns] @ np.linalg.pinv(log.X[:, :columns])
    squares = M**2 @ np.eye(3)[c.arm[log.cell]]
    wanted = np.array([np.bincount(log.cell, column) for column in squares.T]).T
    assert shares == pytest.approx(wanted * c.solution.freedom / wanted.sum(), abs=1e-9)
    assert shares.sum() == pytest.approx(np.trace(log.M))


def test_large_logs_take_the_noise_of_a_residual_for_that_of_its_own_arm(monkeypatch):
    monkeypatch.setattr("tideproof.stats.variance.expected_squares._MOST_STEPS", 0.0)
    log = Log("two factors", 5)
    c = log.c
    shares = residual_shares(c, c.solution, ArmEstimators(c, c.solution).design)
    wanted = np.zeros_like(shares)
    wanted[np.arange(c.n.size), c.arm] = np.bincount(log.cell, np.diag(log.M))
    assert shares == pytest.approx(wanted, abs=1e-9)


def test_adjusted_means_and_shifts_of_two_factors_are_predictions():
    log = Log("two factors", 6)
    c, found = log.c, ArmEstimators(log.c, log.c.solution)
    variance = np.random.default_rng(1).uniform(0.5, 9.0, c.n.size)
    read = adjusted_means_and_shifts(c, c.solution, found, found.covariance(variance), variance)
    for i in range(3):
        row = np.concatenate([np.eye(3)[i], log.X[:, 3:].mean(axis=0)])
        wanted = (row @ log.linear) ** 2 @ variance[log.cell]
        assert read.mean_variance[i] == pytest.approx(wanted, rel=1e-8)
    for j, (cow, period) in enumerate(c.environments):
        place = np.flatnonzero((log.cow == cow) & (log.period == period))[0]
        row = np.concatenate([np.zeros(3), log.X[place, 3:] - log.X[:, 3:].mean(axis=0)])
        assert read.shift_variance[j] == pytest.approx((row @ log.linear) ** 2 @ variance[log.cell], rel=1e-7)


def test_quiet_arms_stay_quiet_in_small_blocks():
    """Three rows for each cow: residuals of the quiet arm hold noise of the other; the shares take it out.

    Its variance 1 is shrunk towards the common one, to about 1.7; the tolerance is four standard errors.
    """
    random = np.random.default_rng(3)
    found, naive = [], []
    for _ in range(60):
        arm = (random.random(180) < 0.7).astype(int)
        reward = np.where(arm == 0, 5.0, 1.0) * random.standard_normal(180)
        c = cells_from_arrays(arm, np.repeat(np.arange(60), 3), reward)
        residual = cell_residuals(c.solution, c)
        shares = residual_shares(c, c.solution, ArmEstimators(c, c.solution).design)
        variance = measure_adjusted_variances(c, residual, shares, ()).variance
        mine = [c.arm == c.arms.index(a) for a in (0, 1)]
        found.append([variance[m][0] for m in mine])
        naive.append([np.sum((c.squares + c.n * residual**2)[m]) / np.sum(shares[m]) for m in mine])
    assert np.mean(found, axis=0) == pytest.approx([23.0, 1.7], rel=0.25)
    assert np.mean(naive, axis=0)[1] > 3.0


def test_the_covariance_with_the_own_variance_is_that_of_two_means():
    """Cov(mean, s^2/n) is third moment/n^2 for each of two arms, with opposite signs."""
    n, third, variance = np.array([10.0, 30.0]), np.array([4.0, 1.5]), np.array([2.0, 1.0])
    arm = np.array([0, 1])
    factors = LabelFactors(arm, VarianceFactors(np.ones(2), np.ones(2), n))
    noise = AdjustedVariances(variance, third, 38.0, (factors,))
    found = noise.covariance_with(variance / n, np.array([1.0, -1.0]))
    assert found == pytest.approx(4.0 / 100.0 - 1.5 / 900.0)


def test_higher_moments_are_those_of_the_adjusted_rewards():
    log = draw_log(settings()[2], 5)
    options = {"arm": "arm", "environment": "first", "reward": "reward"}
    c = tp.fit(log, covariates=["before"], **options).cells
    left = log["reward"] - c.slope.by[0] * log["before"]
    wanted = tp.fit(log | {"reward": left}, **options).cells
    assert c.squares == pytest.approx(wanted.squares)
    assert c.cubes == pytest.approx(wanted.cubes, abs=1e-8)
    assert c.fourths == pytest.approx(wanted.fourths)


def test_equal_noise_gives_the_intervals_of_least_squares():
    """With one variance that all data support, intervals are those of statsmodels up to skewness."""
    random = np.random.default_rng(8)
    arm, cow, period = (random.integers(k, size=1_500) for k in (2, 20, 8))
    reward = random.standard_normal(20)[cow] + random.standard_normal(1_500)
    log = {"arm": arm, "cow": cow, "period": period, "reward": reward}
    found = tp.fit(log, arm="arm", environment="cow + period", reward="reward").contrast(1, 0)
    X = np.hstack([np.eye(2)[arm], np.eye(20)[cow][:, 1:], np.eye(8)[period][:, 1:]])
    wanted = sm.OLS(reward, X).fit(cov_type="HC3")
    assert found.se == pytest.approx(
        float(np.sqrt([1, -1] @ wanted.cov_params()[:2, :2] @ [1, -1])), rel=0.03
    )
    assert found.p == pytest.approx(
        float(wanted.t_test(np.eye(X.shape[1])[1] - np.eye(X.shape[1])[0]).pvalue), abs=0.02
    )


def test_rates_without_an_event_are_tested_under_the_hypothesis():
    """Arm A has no event. At gap 0 both arms have one rate, as in the hypergeometric test (mid-p)."""
    arm = np.repeat(["A", "B"], [100, 900])
    site, day = np.arange(1_000) % 2, (np.arange(1_000) // 2) % 2
    reward = ((arm == "B") & (np.arange(1_000) % 15 == 0)).astype(float)
    log = {"arm": arm, "site": site, "day": day, "reward": reward}
    c = tp.fit(log, arm="arm", environment="site + day", reward="reward").cells
    z = adjusted_pairs(c, c.solution).deviate(c.arms.index("B"), c.arms.index("A"))
    tail = 0.5 * hypergeom.pmf(0, 1_000, int(reward.sum()), 100)
    assert z == pytest.approx(norm.isf(tail), abs=0.1)


def test_events_are_counted_before_the_adjustment():
    log = draw_log(settings()[4], 1)
    first = np.flatnonzero(log["reward"])[4:]
    log["reward"][first] = 0.0  # four events are left
    fit = tp.fit(log, arm="arm", environment="first", reward="reward", covariates=["before"])
    assert not adjusted_pairs(fit.cells, fit.cells.solution).enough(0, 1)


@pytest.mark.parametrize("scale", ["ratio", "odds", "log"])
def test_other_scales_are_refused(scale):
    with pytest.raises(InputError, match=f"covariates require scale='difference', not scale='{scale}'"):
        tp.fit(
            draw_log(settings()[0], 0),
            arm="arm",
            environment="first",
            reward="reward",
            covariates="before",
            scale=scale,
        )
    with pytest.raises(InputError, match="two columns of environments require"):
        Fit(Log("two factors", 1).c, scale=scale)


def test_two_factors_that_do_not_add_up_against_statsmodels():
    random = np.random.default_rng(3)
    arm, site, year = (grid.ravel() for grid in np.meshgrid(range(10), range(6), range(2), indexing="ij"))
    reward = random.standard_normal(120) + 3.0 * (site == 2) * (year == 1)
    pairs = list(zip(site.tolist(), year.tolist(), strict=True))
    c = cells_from_arrays(arm, pairs, reward)
    c = replace(c, factors=tuple(np.array([pair[i] for pair in c.environments]) for i in (0, 1)))
    found = two_factor_fit(c, c.solution)
    arms = np.eye(10)[arm]
    small = sm.OLS(reward, np.hstack([arms, np.eye(6)[site][:, 1:], np.eye(2)[year][:, 1:]])).fit()
    full = sm.OLS(reward, np.hstack([arms, np.eye(12)[2 * site + year][:, 1:]])).fit()
    F, p, df1 = full.compare_f_test(small)
    assert found.against == "pairs"
    assert (found.F, found.df1) == pytest.approx((F, df1), rel=0.05)  # noise is measured by arm
    assert found.p == pytest.approx(p, rel=0.5)
    assert any("do not add up" in said.fact for said in fit_warnings(Fit(c), None))


def test_products_of_factors_against_tukeys_test_by_statsmodels():
    """A Latin square: every pair of row and column has one arm. Tukey's column is added to the regression."""
    random = np.random.default_rng(6)
    row, column = (grid.ravel() for grid in np.meshgrid(range(7), range(7), indexing="ij"))
    arm = (row + column) % 7
    reward = (4.0 + row) * (3.0 + column) * 0.3 + arm + random.standard_normal(49)
    c = cells_from_arrays(arm, list(zip(row.tolist(), column.tolist(), strict=True)), reward)
    c = replace(c, factors=tuple(np.array([pair[i] for pair in c.environments]) for i in (0, 1)))
    found = two_factor_fit(c, c.solution)
    X = np.hstack([np.eye(7)[arm], np.eye(7)[row][:, 1:], np.eye(7)[column][:, 1:]])
    fitted = sm.OLS(reward, X).fit().fittedvalues
    wanted = sm.OLS(reward, np.column_stack([X, fitted**2])).fit()
    assert found.against == "products"
    assert pytest.approx(wanted.tvalues[-1] ** 2, rel=0.1) == found.F  # noise is measured by arm
    assert found.p < 0.001


@pytest.mark.parametrize("setting", [s for s in settings() if not s.anytime], ids=lambda s: s.name)
def test_equal_arms_seldom_have_a_winner(setting):
    """At a rate of 5 %, 13 or more of 100 logs have a winner once in 700 tests; before, 15 to 40 had."""
    assert sum(bool(play(setting, number)) for number in range(100)) < 13


@pytest.mark.filterwarnings("error")
def test_an_arm_without_noise_does_not_stop_the_fit():
    """All noise of one environment is that of arm A; B's rewards are equal, and nothing overflows."""
    x = np.random.default_rng(1).standard_normal(60)
    arm = np.repeat(["A", "B"], 30)
    reward = np.where(arm == "A", np.arange(60) % 7, 2.0)
    for covariates in ([], ["x"]):
        log = {"arm": arm, "day": np.arange(60) % 2, "site": np.arange(60) // 2 % 2, "x": x, "reward": reward}
        options = {"arm": "arm", "environment": "day + site", "reward": "reward", "covariates": covariates}
        contrast = tp.fit(log, **options).contrast("A", "B")
        assert 0.0 < contrast.se < 1.0


def test_noise_is_unknown_without_degrees_of_freedom():
    log = {"arm": ["A", "B", "A"], "day": [0, 0, 0], "x": [1.0, 2.0, 5.0], "reward": [1.0, 3.0, 4.0]}
    fit = tp.fit(log, arm="arm", environment="day", reward="reward", covariates=["x"])
    assert fit.decision.doubt == "no degrees of freedom"
    assert isinstance(fit.cells, Cells)
