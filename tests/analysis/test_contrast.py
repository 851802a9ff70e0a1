"""Two arms by the tests of their pair to an interval, and groups each by itself: against scipy.stats."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tideproof.analysis import Fit
from tideproof.analysis.arm_comparisons import (
    best_probabilities,
    compare_arms,
    compare_with_group_best,
    find_candidates,
    finite_or_none,
    planned_critical_values,
)
from tideproof.analysis.scales.scale_fits import to_lift
from tideproof.stats.best.multiple_comparisons import ArmGroup, compare_with_best
from tideproof.stats.best.student_inference import probabilities_of_best
from tideproof.stats.pairs.difference_pairs import WaldPairs
from tideproof.stats.variance.variance_models import Estimate


class Normal:
    """theta_0 - theta_1 is normal around `estimate`, with a standard error of 1."""

    def __init__(self, estimate):
        self.estimate = estimate

    def gap(self, i, k):
        return self.estimate if i < k else -self.estimate

    def deviate(self, i, k, gap=0.0):
        return self.gap(i, k) - gap

    def upper(self, i, k, z):
        return self.gap(i, k) + z

    def lower(self, i, k, z):
        return self.gap(i, k) - z


class On:
    """A scale with these tests of its pair."""

    exact = False
    error_of = Estimate.error_of

    def __init__(self, pairs, name="ratio", freedom=9.0, variance=1.0, arms=2):
        self.found, self.name, self.mu = self, name, np.zeros(arms)
        self.pairs, self.freedom = pairs, np.full((arms, arms), freedom)
        self.covariance = np.diag([0.7 * variance, 0.3 * variance, *[1.0] * (arms - 2)])

    def shown(self, values):
        return values if self.name == "difference" else to_lift(values)


def planned(on, indices=(0, 1), confidence=0.95, adaptive=False, picked=False):
    """Return the contrast of two arms that were chosen in advance or picked as the best two."""
    critical = planned_critical_values(on.found, indices, confidence, adaptive=adaptive, picked=picked)
    return compare_arms(("B", "A"), on, on.found, indices, critical, adaptive)


def student(variance, freedom, confidence=0.9, adaptive=False):
    """Return the contrast of B and A, which are -1.5 apart."""
    own = np.array([0.7 * variance, 0.3 * variance])
    pairs = WaldPairs(np.array([0.5, 2.0]), np.diag(own), np.full((2, 2), freedom))
    return planned(On(pairs, "difference", freedom, variance), confidence=confidence, adaptive=adaptive)


def test_an_interval_and_its_p_value():
    found = student(0.25, 7.5)
    reach = stats.t.ppf(0.95, 7.5) * 0.5
    assert (found.a, found.b, found.estimate, found.se) == ("B", "A", -1.5, 0.5)
    assert (found.low, found.high) == pytest.approx((-1.5 - reach, -1.5 + reach), rel=1e-12)
    assert found.p == pytest.approx(2 * stats.t.sf(3.0, 7.5), rel=1e-12)
    assert (found.degrees_of_freedom, found.adaptive, found.scale) == (7.5, False, "difference")
    assert isinstance(student(1.0, 7.0).degrees_of_freedom, int)


def test_after_an_adaptive_run_limits_are_as_much_further_out_as_the_table_says():
    """Two arms: 0.4 standard errors, of a normal number with as much in its tail."""
    found = student(0.25, 7.5, adaptive=True)
    reach = stats.t.isf(stats.norm.sf(stats.norm.ppf(0.95) + 0.4), 7.5) * 0.5
    assert (found.low, found.high, found.adaptive) == pytest.approx(
        (-1.5 - reach, -1.5 + reach, True), rel=1e-9
    )
    away = stats.norm.isf(stats.t.sf(3.0, 7.5))
    assert found.p == pytest.approx(2 * stats.norm.sf(away - 0.4), rel=1e-9)


def test_limits_of_the_leader_and_its_runner_up_are_those_of_the_least_of_many_differences():
    """Five arms: each of four one-sided statements at the fourth root of the confidence."""
    found = planned(On(Normal(3.0), "difference", arms=5), picked=True)
    reach = stats.norm.ppf(0.95**0.25)
    assert (found.low, found.high) == pytest.approx((3.0 - reach, 3.0 + reach), rel=1e-9)
    assert found.p == pytest.approx(1.0 - stats.norm.cdf(3.0) ** 4, rel=1e-9)


@pytest.mark.parametrize("scale", ["ratio", "odds", "log"])
def test_where_the_tide_multiplies_a_contrast_is_a_lift(scale):
    """Limits are those of the logarithm; its standard error is not turned into anything."""
    on = On(Normal(0.2), scale)
    found = planned(on)
    low, high = stats.norm.interval(0.95, loc=0.2)
    assert found.estimate == pytest.approx(math.exp(0.2) - 1, rel=1e-12)
    assert (found.low, found.high) == pytest.approx((math.exp(low) - 1, math.exp(high) - 1), rel=1e-12)
    assert (found.se, found.scale) == (1.0, scale)
    assert found.p == pytest.approx(2 * stats.norm.sf(0.2), rel=1e-12)
    back = planned(on, (1, 0))
    assert (1 + back.estimate) * (1 + found.estimate) == pytest.approx(1.0)
    assert (1 + back.low) * (1 + found.high) == pytest.approx(1.0)


def test_an_arm_without_an_event_is_below_by_all_and_nobody_knows_above_by_how_much():
    found = planned(On(Normal(-math.inf)))
    assert (found.estimate, found.low, found.high, found.p) == (-1.0, -1.0, -1.0, 0.0)
    found = planned(On(Normal(math.inf)))
    assert (found.estimate, found.low, found.high) == (math.inf, None, None)


def test_what_is_not_known_is_none():
    for variance, freedom in ((1.0, 0.0), (math.nan, 5.0), (math.nan, 0.0)):
        found = student(variance, freedom)
        assert found.estimate == -1.5
        assert (found.low, found.high, found.p) == (None, None, None)
    assert student(-1e-18, 3.0).se == 0.0  # rounding
    assert (finite_or_none(0.0), finite_or_none(math.nan)) == (0.0, None)


def estimate():
    """Two groups, {0, 2, 4} and {1, 3}, and arm 5 alone; every pair has its own degrees of freedom."""
    random = np.random.default_rng(4)
    C = np.zeros((6, 6))
    for group in ([0, 2, 4], [1, 3]):
        A = random.normal(size=(len(group), 8))
        C[np.ix_(group, group)] = A @ A.T / 8
    freedom = random.integers(3, 30, size=(6, 6)).astype(float)
    freedom = np.minimum(freedom, freedom.T)
    np.fill_diagonal(freedom, 1.0)  # of no contrast
    groups = [np.array([0, 2, 4]), np.array([1, 3]), np.array([5])]
    mu = random.normal(size=6)
    group = np.array([0, 1, 0, 1, 0, 2])
    return Estimate(mu, C, freedom, None, None, None, WaldPairs(mu, C, freedom), group), groups


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_group_is_compared_by_itself(sign):
    found, groups = estimate()
    chance, error = best_probabilities(found, groups, sign, "flat")
    rows = compare_with_group_best(found, groups, sign, 0.9)
    errors = []
    for group in groups[:2]:
        C, nu = found.covariance[np.ix_(group, group)], found.freedom[np.ix_(group, group)]
        fewest = np.array([min(np.delete(row, i)) for i, row in enumerate(nu)])
        want, worst = probabilities_of_best(sign * found.mu[group], 1.0, C, fewest.min())
        assert chance[group].tolist() == want.tolist()
        errors.append(worst)
        mu = sign * found.mu[group]
        own = compare_with_best(ArmGroup(WaldPairs(mu, C, nu), np.arange(group.size), mu, C, fewest, 0.9))
        assert rows.estimate[group].tolist() == (sign * own.estimate).tolist()
        assert rows.candidate[group].tolist() == own.candidate.tolist()
        low, high = (own.low, own.high) if sign > 0 else (-own.high, -own.low)
        assert (rows.low[group].tolist(), rows.high[group].tolist()) == (low.tolist(), high.tolist())
        assert find_candidates(found, groups, sign, 0.9)[group].tolist() == own.candidate.tolist()
    assert error == max(errors)
    assert math.isnan(chance[5])
    assert np.isnan([rows.estimate[5], rows.low[5], rows.high[5]]).all()
    assert rows.candidate[5]


def test_without_noise_known_there_are_no_chances():
    found, groups = estimate()
    chance, error = best_probabilities(
        replace(found, covariance=np.full((6, 6), np.nan)), groups, 1.0, "flat"
    )
    assert np.isnan(chance).all()
    assert math.isnan(error)


def test_intervals_of_means_and_shifts_have_their_own_freedom():
    """Two groups that never met, clustered: five environments here, three there."""
    random = np.random.default_rng(6)
    arm = np.concatenate([np.tile(list("AABB"), 5), np.tile(list("CCDD"), 3)])
    day = np.repeat(np.arange(8), 4)
    fit = Fit.from_arrays(arm, day, random.normal(size=32), variance="clustered", confidence=0.8)
    for row in fit.arms:
        freedom = 4 if row["arm"] in "AB" else 2
        assert (row["high"] - row["low"]) / 2 / row["se"] == pytest.approx(stats.t.ppf(0.9, freedom))
        assert (row["high"] + row["low"]) / 2 == pytest.approx(row["mean"])
    for row in fit.shifts:
        freedom = 4 if row["environment"] < 5 else 2
        assert (row["high"] - row["low"]) / 2 / row["se"] == pytest.approx(stats.t.ppf(0.9, freedom))
    assert [fit.contrast(*pair).degrees_of_freedom for pair in ("AB", "CD")] == [4, 2]
