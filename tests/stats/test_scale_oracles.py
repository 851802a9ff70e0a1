"""Scale tests as a whole: against weighted regressions, score tests of statsmodels, and enumeration."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from multiplicative_logs import conversions, from_events, from_sums, given_total
from tideproof.data import cells_from_arrays
from tideproof.stats.cells import Cells
from tideproof.stats.scales import scale_test as module
from tideproof.stats.scales.conditional_likelihood import solve_ratio
from tideproof.stats.scales.odds_likelihood import count_ones_and_zeros, solve_odds
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES
from tideproof.stats.scales.scale_test import estimate_levels, noise_grows, run_scale_test

LEVEL_DEPENDENCE = {
    ("difference", "ratio"): lambda x: x,
    ("difference", "odds"): lambda x: x * (1 - x),
    ("ratio", "difference"): lambda x: 1 / x,
    ("ratio", "odds"): lambda x: 1 - x,
    ("odds", "difference"): lambda x: 1 / (x * (1 - x)),
    ("odds", "ratio"): lambda x: 1 / (1 - x),
}


def rewards(seed, draw, arms=4, environments=9, most=25):
    """Draw rewards of an incomplete design; one cell in five is missing, and some have a single reward."""
    random = np.random.default_rng(seed)
    n = random.integers(2, most, (environments, arms)) * (random.random((environments, arms)) < 0.8)
    n[0, 0], n[1, 1] = 1, 1
    environment, arm = np.nonzero(n)
    cell = np.repeat(np.arange(arm.size), n[environment, arm])
    arm, environment = arm[cell], environment[cell]
    return cells_from_arrays(arm, environment, draw(random, arm, environment))


def money(random, arm, environment):
    return (1.0 + environment) * (1.0 + 0.3 * arm) * random.gamma(2.0, 0.5, arm.size)


def events(random, arm, environment):
    return random.poisson((0.2 + 0.3 * environment) * (1.0 + 0.3 * arm)).astype(float)


def debts(random, arm, environment):
    return environment - 4.0 + 0.5 * arm * (1.0 + 0.3 * environment) + random.normal(size=arm.size)


def uneven(random, arm, environment):
    """Draw rewards whose arms differ between environments by much more than their noise."""
    own = random.normal(size=(100, 10))[environment, arm]
    return 20.0 + environment + arm + own + 0.2 * random.normal(size=arm.size)


def projected(cells, weight, x):
    """Return the arms' coefficients, and the residuals, of a weighted regression on arms and environments."""
    import statsmodels.api as sm

    D = np.column_stack([np.eye(cells.J)[cells.environment], np.eye(cells.K)[cells.arm][:, 1:]])
    found = sm.WLS(x, D, weights=weight).fit()
    return np.append(0.0, found.params[cells.J :]), x - D @ found.params


def score(of_each, variance):
    """Return z and p, given the terms of the environments and their variances."""
    U, total, J = of_each.sum(), variance.sum(), of_each.size
    apart = np.sum((of_each - U * variance / total) ** 2) * J / (J - 1)
    z = U / math.sqrt(max(total, apart))
    return pytest.approx((z, 2.0 * stats.norm.sf(abs(z))), rel=1e-6), apart > total


def test_the_data_of_these_tests_have_levels_of_both_signs_and_noise_of_both_kinds():
    assert np.all(estimate_levels(rewards(1, money)).here > 0.0)
    assert np.any(estimate_levels(rewards(1, debts)).here < 0.0)
    assert noise_grows(rewards(1, money))
    assert not noise_grows(rewards(1, debts))


@pytest.mark.parametrize(
    ("draw", "heterogeneous"), [(money, True), (events, False), (debts, False), (uneven, True)]
)
def test_differences_are_tested_by_a_weighted_regression_on_corrected_means(draw, heterogeneous):
    """Cell means minus their covariance with the level: one fit gives the arms, another the direction."""
    import statsmodels.api as sm

    cells = rewards(1, draw)
    j, n, mean, level = cells.environment, cells.n, cells.mean, estimate_levels(cells)
    m = cells.sizes[j]
    pooled = cells.squares.sum() / (n - 1).sum()
    q = n * np.array([s / (k - 1) if k > 1 else pooled for s, k in zip(cells.squares, n, strict=True)])
    bias = q - n / m * cells.by_environment(q)[j]

    def corrected(f):
        slope = (f(level.here) - f(level.less)) / level.reward
        return f(level.here)[j], mean - (slope / f(level.here))[j] * bias / n

    def precision(x):
        return 1.0 / level.variance(x)

    f0, y0 = corrected(precision)
    f1, y1 = corrected(lambda x: x * precision(x))
    mu, e0 = projected(cells, n * f0, y0)
    centre = cells.by_environment(n * mu[cells.arm])[j] / m
    moved = mu[cells.arm] - centre
    fitted, c = level.here[j] + moved, mu
    if np.all(level.here > 0.0):
        fitted = np.maximum(fitted, 0.1 * level.here[j])
        D = np.column_stack([np.eye(cells.J)[j], np.eye(cells.K)[cells.arm][:, 1:]])
        poisson = sm.GLM(n * fitted, D, offset=np.log(n), family=sm.families.Poisson()).fit(tol=1e-13)
        c = np.append(0.0, poisson.params[cells.J :])
    b, z = projected(cells, n * f0, c[cells.arm] * level.here[j])
    e1 = y1 - cells.by_environment(n * y1)[j] / m - moved
    of_each = cells.by_environment(n * (c[cells.arm] * f1 * e1 - b[cells.arm] * f0 * e0))
    variance = cells.by_environment(n * level.variance(fitted) * (f0 * z) ** 2)
    want, apart = score(of_each, variance)
    assert tuple(run_scale_test(cells, "difference", "ratio")) == want
    assert apart == heterogeneous


@pytest.mark.parametrize("other", ["difference", "odds"])
@pytest.mark.parametrize("draw", [money, events, uneven])
def test_ratios_are_tested_by_a_weighted_regression_given_totals(draw, other):
    cells = rewards(2, draw)
    cells = replace(cells, mean=cells.mean / 100.0, squares=cells.squares / 1e4)  # 1 - x is positive.
    level, fitted = estimate_levels(cells), solve_ratio(cells).fitted
    j, n = cells.environment, cells.n
    h = LEVEL_DEPENDENCE["ratio", other]
    weight = n * fitted
    expected = fitted * level.here[j] / (cells.by_environment(weight) / cells.sizes)[j]
    q = weight * level.variance(expected) / expected
    bias = q - weight / cells.by_environment(weight)[j] * cells.by_environment(q)[j]
    c = solve_ratio(cells).theta
    if other == "difference":
        c, _ = projected(cells, n / level.variance(level.here)[j], fitted)
    slope = (h(level.here) - h(level.less)) / level.reward
    b, z = projected(cells, weight, c[cells.arm] * h(level.here)[j])
    residual = n * (cells.mean - fitted)
    of_each = c[cells.arm] * (h(level.here)[j] * residual - slope[j] * bias) - b[cells.arm] * residual
    want, _ = score(cells.by_environment(of_each), cells.by_environment(q * z**2))
    assert tuple(run_scale_test(cells, "ratio", other)) == want


@pytest.mark.parametrize("other", ["difference", "odds"])
def test_ratios_of_four_arms_are_tested_as_poisson_regression_does(monkeypatch, other):
    """If levels are known and the variance is the mean, z^2 is Rao's score statistic."""
    import statsmodels.api as sm

    cells = rewards(7, lambda random, arm, j: random.poisson((0.1 + 0.09 * j) * (1.0 + 0.2 * arm)) * 1.0)
    here = 0.1 + 0.09 * np.arange(cells.J)
    known = module.EnvironmentLevels(here, here, 1.0, lambda x: x)
    monkeypatch.setattr(module, "estimate_levels", lambda cells: known)
    D = np.column_stack([np.eye(cells.J)[cells.environment], np.eye(cells.K)[cells.arm][:, 1:]])
    model = sm.GLM(cells.n * cells.mean, D, offset=np.log(cells.n), family=sm.families.Poisson())
    fit = model.fit(tol=1e-13)
    c = np.append(0.0, fit.params[cells.J :])
    if other == "difference":
        c, _ = projected(cells, cells.n / here[cells.environment], fit.fittedvalues / cells.n)
    extra = c[cells.arm] * LEVEL_DEPENDENCE["ratio", other](here)[cells.environment]
    statistic = float(np.squeeze(fit.model.score_test(fit.params, exog_extra=extra[:, None])[0]))
    assert run_scale_test(cells, "ratio", other).z ** 2 == pytest.approx(statistic, rel=1e-6)


@pytest.mark.parametrize("heterogeneous", [False, True])
@pytest.mark.parametrize("other", ["difference", "ratio"])
def test_odds_of_three_arms_are_tested_by_enumeration_of_all_tables_with_the_same_totals(
    other, heterogeneous
):
    random = np.random.default_rng(5)
    counts = random.integers(5, 12, (6, 3))
    level = np.linspace(0.15, 0.8, 6)[:, None]
    chance = np.minimum(level * [1.0, 1.1, 1.2], 0.95)
    if heterogeneous:
        chance = np.abs(chance - 0.9 * random.integers(2, size=(6, 3)))
    cells = conversions(counts, chance, random)
    here, theta = estimate_levels(cells).here, solve_odds(cells).theta
    fitted = solve_odds(cells).fitted
    h = LEVEL_DEPENDENCE["odds", other](here)
    S = count_ones_and_zeros(cells)[0].reshape(6, 3)
    mean, V = zip(*(given_total(n, s.sum(), theta) for n, s in zip(counts, S, strict=True)), strict=True)
    c = theta
    if other == "difference":
        c, _ = projected(cells, cells.n / estimate_levels(cells).variance(here)[cells.environment], fitted)
    slope = sum(x * C for x, C in zip(h, V, strict=True)) @ c
    b = np.linalg.pinv(sum(V)) @ slope
    along = [x * c - b for x in h]
    of_each = np.array([d @ (s - m) for d, s, m in zip(along, S, mean, strict=True)])
    total = c @ sum(x**2 * C for x, C in zip(h, V, strict=True)) @ c - slope @ b
    assert total == pytest.approx(sum(d @ C @ d for d, C in zip(along, V, strict=True)))
    q = counts * fitted.reshape(6, 3) * (1.0 - fitted.reshape(6, 3))
    centred = [d - np.average(d, weights=w) for d, w in zip(along, q, strict=True)]
    about = np.array([w @ d**2 for d, w in zip(centred, q, strict=True)])
    want, apart = score(of_each, total * about / about.sum())
    assert apart == heterogeneous
    assert tuple(run_scale_test(cells, "odds", other)) == want


def test_where_nothing_can_be_compared_or_levels_are_equal_no_scale_is_rejected():
    alone = Cells(
        [0, 1], [0, 1], np.array([0, 1]), np.array([0, 1]), np.full(2, 4.0), np.full(2, 4.0), np.full(2, 4.0)
    )
    steady = Cells(
        [0, 1],
        [0, 1],
        np.array([0, 1, 0, 1]),
        np.array([0, 0, 1, 1]),
        np.full(4, 5.0),
        np.array([1.0, 3.0, 3.0, 1.0]),
        np.full(4, 2.0),
    )
    for cells in (alone, steady):
        for scale, other in (("difference", "ratio"), ("ratio", "difference")):
            assert run_scale_test(cells, scale, other) == (0.0, 1.0)
    exact = replace(steady, mean=np.array([1.0, 2.0, 4.0, 9.0]), squares=np.zeros(4))
    assert run_scale_test(exact, "difference", "ratio") == (0.0, 1.0)
    three = from_sums(np.array([[1, 2], [2, 1], [1, 1]]), np.array([[1.0, 5.0], [9.0, 5.0], [7.0, 2.0]]))
    assert run_scale_test(replace(three, squares=np.zeros(6)), "difference", "ratio") == (0.0, 1.0)
    noisy = replace(exact, squares=np.full(4, 1e-3))
    assert run_scale_test(noisy, "difference", "ratio").p < 1e-6


def by_level(level, variance, freedom):
    """Return one arm with these means and variances, which are known to within their rounding."""
    level, variance, freedom = (np.asarray(x, float) for x in (level, variance, freedom))
    J = level.size
    n = freedom + 1.0
    return Cells(
        [0], list(range(J)), np.zeros(J, int), np.arange(J), n, level, variance * freedom, low=level * 0 + 1
    )


@pytest.mark.parametrize(
    ("last", "power"),
    [(4.0, 2.0), (0.25, 0.0), (2.0**0.5, 0.5), (2.0**3.5, 3.0), (2.0**-0.5, 0.0)],
)
def test_the_variance_is_a_power_of_the_mean_from_the_lowest_to_the_highest_third(last, power):
    """The lowest third has mean 100 and variance 1e-4, the highest mean 200 and `last` times that variance."""
    level, freedom = [200.0, 100.0, 150.0, 100.0, 140.0, 200.0, 160.0], np.full(7, 1e4)
    variance = 1e-4 * np.array([last, 1.0, 9.0, 1.0, 5.0, last, 1.0])
    cells = by_level(level, variance, freedom)
    found = estimate_levels(cells)
    assert found.here == pytest.approx(level, rel=1e-9)
    x = np.array([50.0, 170.0])
    constant = np.sum(variance * freedom) / np.sum(freedom * np.array(level) ** power)
    assert found.variance(x) == pytest.approx(constant * x**power, rel=1e-6)


def test_ends_are_weighted_by_degrees_of_freedom():
    """Low end: means 100 and 120 with 300 and 100 degrees of freedom; high end: 200 and 240 with 100 and 300."""
    level, freedom = np.array([100.0, 120.0, 150.0, 155.0, 200.0, 240.0]), [300, 100, 50, 50, 100, 300]
    variance = 1e-6 * np.array([1.0, 3.0, 1.0, 1.0, 2.0, 6.0])
    low, high = 105.0, 230.0
    inside = (1.0 * 300 + 3.0 * 100) / 400, (2.0 * 100 + 6.0 * 300) / 400
    power = math.log(inside[1] / inside[0]) / math.log(high / low)
    constant = np.sum(variance * freedom) / np.sum(freedom * level**power)
    found = estimate_levels(by_level(level, variance, freedom)).variance(np.array([80.0]))
    assert found == pytest.approx(constant * 80.0**power, rel=1e-6)


@pytest.mark.parametrize(("ratio", "power"), [(1.09, 0.0), (1.11, 1.0)])
def test_levels_that_differ_by_less_than_a_tenth_say_nothing_of_the_noise(ratio, power):
    cells = by_level([100.0, 100.0 * ratio], [1e-4, 1e-4 * ratio], [1e4, 1e4])
    found = estimate_levels(cells).variance(np.array([100.0, 200.0]))
    assert found[1] / found[0] == pytest.approx(2.0**power, rel=1e-6)


def test_noise_does_not_grow_from_a_level_that_is_exactly_0():
    """Rewards of both signs: the first environment has the mean 0, and noise too small to shrink it."""
    cells = Cells(
        [0, 1],
        [0, 1, 2],
        np.array([0, 1, 0, 1, 0, 1]),
        np.array([0, 0, 1, 1, 2, 2]),
        np.full(6, 50.0),
        np.array([-1.0, 1.0, 8.0, 8.0, 16.0, 16.0]),
        1e-18 * np.array([1.0, 1.0, 9.0, 9.0, 99.0, 99.0]),
    )
    assert estimate_levels(cells).here.min() == 0.0
    assert not noise_grows(cells)
    assert noise_grows(replace(cells, mean=cells.mean + 8.0))


def test_without_events_or_without_a_loser_nothing_is_tested():
    full, none = (
        from_events(np.full((2, 2), 10), np.array([[0, 0], [10, 10]])),
        from_events(np.full((2, 2), 10), np.zeros((2, 2), int)),
    )
    same = from_events(np.full((2, 2), 10), np.array([[2, 2], [5, 5]]))
    for cells in (full, none, same):
        assert run_scale_test(cells, "odds", "difference") == (0.0, 1.0)
    assert run_scale_test(none, "ratio", "difference") == (0.0, 1.0)


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
def test_whether_noise_grows_does_not_depend_on_the_unit(unit):
    level, freedom = unit * np.array([1.0, 2.0, 3.0]), [50.0, 50.0, 50.0]
    assert noise_grows(by_level(level, unit**2 * np.array([1e-3, 4e-3, 9e-3]), freedom))
    assert not noise_grows(by_level(level, unit**2 * np.array([1e-3, 4e-3, 1e-3]), freedom))
    assert not noise_grows(by_level(level, unit**2 * np.array([0.0, 4e-3, 9e-3]), freedom))


@pytest.mark.parametrize(
    ("mean", "variance", "reward"), [(0.5, 0.16, 0.32), (2.0, 9.0, 4.5), (-0.5, 0.16, 0.4), (0.0, 4.0, 2.0)]
)
def test_a_typical_reward_is_the_variance_over_the_mean_or_else_a_standard_deviation(mean, variance, reward):
    found = estimate_levels(by_level([mean, mean], [variance, variance], [9.0, 9.0]))
    assert found.reward == pytest.approx(reward)
    assert found.here == pytest.approx([mean, mean])
    assert found.less == pytest.approx([mean, mean])  # Equal levels are shrunk to the overall mean.


def test_levels_without_noise_are_the_means():
    found = estimate_levels(by_level([1.0, 5.0, 9.0], [0.0, 0.0, 0.0], [0.0, 0.0, 3.0]))
    assert found.here == pytest.approx([1.0, 5.0, 9.0])
    assert 0.0 < found.reward < 1e-200


def test_levels_and_variances_of_conversions_are_those_of_a_rate():
    cells = conversions(
        np.full((4, 2), 30), np.array([[0.5], [0.6], [0.97], [1.0]]), np.random.default_rng(1)
    )
    found = estimate_levels(cells)
    low = min(0.5 * found.reward / 60.0, 0.5 * cells.mean.mean())
    assert found.here.max() <= 1.0 - low
    x = np.array([0.2, 0.5, 1.0])
    assert found.variance(x) == pytest.approx([0.16, 0.25, 1e-12])


def test_a_traffic_gap_of_odds_leaves_out_environments_where_an_odds_is_0_or_infinite():
    gap = SCALE_PROPERTIES["odds"].gap_over_traffic
    share = np.array([0.1, 0.2, 0.1, 0.2, 0.1, 0.3])
    x = np.array([0.5, 0.8, 0.0, 1.0, 0.4, 0.3])
    y = np.array([0.2, 0.5, 0.4, 0.5, 1.0, 0.0])
    assert gap(share, x, y) == pytest.approx((0.1 * math.log(4.0) + 0.2 * math.log(4.0)) / 0.3)
    y[0] = 1.0
    assert gap(share, x, y) == pytest.approx(math.log(4.0))
    assert math.isnan(gap(share[2:], x[2:], y[2:]))


def test_traffic_gaps_of_means_and_ratios_are_those_of_all_rewards_together():
    share, x, y = np.array([0.25, 0.75]), np.array([1.0, 5.0]), np.array([2.0, 0.0])
    assert SCALE_PROPERTIES["difference"].gap_over_traffic(share, x, y) == pytest.approx(3.5)
    for scale in ("ratio", "log"):
        assert SCALE_PROPERTIES[scale].gap_over_traffic(share, x, y) == pytest.approx(math.log(8.0))
        assert SCALE_PROPERTIES[scale].gap_over_traffic(share, x, 0.0 * y) == math.inf


@pytest.mark.parametrize(("scale", "other"), LEVEL_DEPENDENCE)
def test_small_gaps_depend_on_the_level_as_the_derivatives_of_the_scales_say(scale, other):
    """A mean x moves by a small step of the other scale: how far it moves on this one, up to a constant."""
    maps = {"difference": lambda x: x, "ratio": np.log, "odds": lambda x: np.log(x / (1 - x))}
    x, step = np.array([0.1, 0.3, 0.6]), 1e-6
    speed = {name: (f(x + step) - f(x - step)) / (2 * step) for name, f in maps.items()}
    want = speed[scale] / speed[other]
    assert SCALE_PROPERTIES[scale].level_dependence[other](x) == pytest.approx(want, rel=1e-6)
