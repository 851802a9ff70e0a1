"""Constants and boundaries: each value just inside and just outside of where a statistic changes."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special, stats

from tideproof.stats.best.multiple_comparisons import ArmGroup, may_be_best
from tideproof.stats.best.student_inference import normal_quantile
from tideproof.stats.cells import Cells, bernoulli_moments
from tideproof.stats.pairs.difference_pairs import WaldPairs
from tideproof.stats.pairs.exact_pairs import few_enough
from tideproof.stats.pairs.pair_tests import count_events
from tideproof.stats.scales.reward_logarithms import equal_variances_p, normality_p
from tideproof.stats.scales.scale_test import noise_grows
from tideproof.stats.solve.adjusted_means import MeansAndShifts, log_scale_intervals
from tideproof.stats.tide.tide_visibility import too_coarse
from tideproof.stats.variance.cell_variances import measure_variances


def cells(n, mean, squares, **moments):
    """Return cells from (environments, arms) matrices."""
    environment, arm = (x.ravel() for x in np.indices(np.shape(n)))
    J, K = np.shape(n)
    values = (np.asarray(x, float).ravel() for x in (n, mean, squares))
    return Cells(list(range(K)), list(range(J)), arm, environment, *values, **moments)


def three_arms():
    """Return one environment with three arms of different variances."""
    return cells([[30, 40, 50]], [[1.0, 2.0, 3.0]], [[20.0, 60.0, 150.0]])


def with_kurtosis(c, kurtosis, degrees_of_freedom):
    """Return the cells with fourth powers of this kurtosis in every cell."""
    return replace(c, fourths=kurtosis * c.n * (c.squares / degrees_of_freedom) ** 2)


def test_only_a_kurtosis_above_that_of_a_normal_distribution_counts_in_layards_test():
    c = three_arms()
    df = c.n - 1.0
    normal = equal_variances_p(c, c.arm, 3)
    assert equal_variances_p(with_kurtosis(c, 3.0, df), c.arm, 3) == pytest.approx(normal, rel=1e-12)
    assert equal_variances_p(with_kurtosis(c, 2.0, df), c.arm, 3) == pytest.approx(normal, rel=1e-12)
    half = 0.5 * df
    y = np.log(c.squares / df) - (special.psi(half) - np.log(half))
    w = 1.0 / (special.polygamma(1, half) + 0.5 * 2.5 / half)
    want = stats.chi2.sf(np.sum(w * (y - np.average(y, weights=w)) ** 2), 2)
    assert equal_variances_p(with_kurtosis(c, 5.5, df), c.arm, 3) == pytest.approx(want, rel=1e-9)


def test_only_a_kurtosis_above_that_of_a_normal_distribution_makes_an_arm_trust_its_variance_less():
    c = three_arms()
    df = c.n * (1.0 - 1.0 / 120.0) * 117.0 / (119.0)

    def trust(c):
        return measure_variances(c, c.mean, np.ones(3), 117).arm_trust

    assert trust(with_kurtosis(c, 3.0, df)) == pytest.approx(trust(c), rel=1e-12)
    assert np.all(trust(with_kurtosis(c, 3.1, df)) < trust(c))
    assert np.all(trust(c) < 1.0)


def test_kurtosis_and_skewness_of_normal_deviations_are_no_evidence_against_normality():
    c = cells([[10, 10]], [[0.0, 0.0]], [[9.0, 9.0]])  # variance 1, 9 degrees of freedom each
    normal = replace(c, cubes=np.zeros(2), fourths=np.full(2, 3.0 * 10 * 0.9**2))
    assert normality_p(normal) == pytest.approx(1.0)
    third, fourth = 2.0, 3.0
    odd = replace(normal, cubes=np.full(2, third), fourths=normal.fourths + fourth)
    X2 = (2 * third) ** 2 / (6 * 20 * 0.9**3) + (2 * fourth) ** 2 / (24 * 20 * 0.9**4)
    assert normality_p(odd) == pytest.approx(stats.chi2.sf(X2, 2), rel=1e-9)
    assert normality_p(replace(c, n=np.full(2, 2.0), cubes=np.ones(2), fourths=np.ones(2))) == 1.0
    three = replace(c, n=np.full(2, 3.0), cubes=np.full(2, 99.0), fourths=np.ones(2))
    assert normality_p(three) < 1.0


@pytest.mark.parametrize(("z", "grows"), [(1.9, False), (2.1, True)])
def test_noise_grows_from_two_standard_errors_on(z, grows):
    """Two environments with 100 degrees of freedom each: the log variance ratio has the variance 2/100 + 2/100."""
    ratio = math.exp(z * math.sqrt(4.0 / 100.0))
    c = cells([[101], [101]], [[10.0], [30.0]], [[100.0], [100.0 * ratio]])
    assert noise_grows(c) is grows
    fourths = np.array([100.0, 100.0 * ratio**2])
    assert noise_grows(replace(c, fourths=3.0 * fourths)) is grows  # no excess over a normal distribution
    assert noise_grows(replace(c, fourths=4.0 * fourths)) is False


def test_rewards_are_too_coarse_from_ten_pairs_and_two_fifths_of_ties_on():
    def coarse(*rewards):
        return too_coarse(np.zeros(len(rewards), np.int64), np.array(rewards, float))

    assert coarse(0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6)  # 4 of 10 pairs are equal
    assert not coarse(0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 7)  # 3 of 10
    assert not coarse(0, 0, 1, 1, 2, 2, 3, 3, 4, 4)  # 5 of 9


def spikes(up, down, size, rows=401):
    """Return rewards that alternate by 1, with isolated rows above and below both neighbours by `size`."""
    y = (np.arange(rows) % 2) + 1e-6 * np.arange(rows)
    at = 10 * np.arange(1, 1 + up + down)
    y[at[:up]] = y[at[:up] + 1] + size
    y[at[up:] + 1] = y[at[up:]] - size
    return np.zeros(rows, np.int64), y


@pytest.mark.parametrize(
    ("up", "down", "size", "rows", "coarse"),
    [
        (5, 0, 6.1, 401, True),
        (4, 0, 6.1, 401, False),
        (5, 0, 5.8, 401, False),  # 4 standard deviations of a step are 4/0.6745 = 5.93
        (6, 1, 6.1, 401, True),
        (5, 1, 6.1, 401, False),
        (0, 5, 6.1, 401, True),
        (6, 0, 6.1, 2000, True),
        (6, 0, 6.1, 2001, False),  # 0.003 of the rows are more than 6
    ],
)
def test_five_isolated_rows_in_one_direction_are_too_many(up, down, size, rows, coarse):
    assert too_coarse(*spikes(up, down, size, rows)) is coarse


class SlowPairs(WaldPairs):
    """Pairs whose tests are not quick, and which record the arms that are tested."""

    def __init__(self, *args):
        super().__init__(*args)
        self.tested = []

    @property
    def quick(self):
        return False

    def deviate(self, i, k, gap=0.0):
        self.tested.append(k)
        return super().deviate(i, k, gap)


def test_of_many_arms_those_within_one_and_a_half_of_the_critical_value_are_tested():
    k, level = 501, 0.95
    bar = normal_quantile(1.0 - (1.0 - level) / (k - 1))
    behind = np.array([bar - 1.6, bar - 1.4, bar - 0.01, bar + 0.01, 2 * bar + 1.4, 2 * bar + 1.6])
    mu = np.concatenate([[0.0], -behind, np.full(k - 7, -99.0)])
    pairs = SlowPairs(mu, 0.5 * np.eye(k), np.full((k, k), np.inf))  # every standard error is 1
    found = may_be_best(ArmGroup(pairs, np.arange(k), mu, 0.5 * np.eye(k), np.full(k, np.inf), level))
    assert sorted(set(pairs.tested)) == [2, 3, 4, 5]
    assert np.flatnonzero(found).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("arms", "all_closely"), [(500, True), (501, False)])
def test_five_hundred_arms_are_all_tested_in_detail(arms, all_closely):
    mu, C = np.zeros(arms), np.eye(arms)
    group = ArmGroup(SlowPairs(mu, C, C), np.arange(arms), mu, C, np.ones(arms), 0.95)
    assert group.all_closely is all_closely
    assert len(group.rivals(0)) == (3 if all_closely else 1)


def test_an_interval_of_a_factor_begins_above_the_larger_of_the_mean_and_the_steady_mean():
    """The first arm has no event, so its mean is 0; the second has more than its steady mean."""
    mean, steady, variance = np.array([0.0, 3.0]), np.array([0.5, 2.0]), np.array([0.04, 0.25])
    adjusted = MeansAndShifts(mean, variance, np.zeros(1), np.zeros(1), steady)
    found = log_scale_intervals(
        SimpleNamespace(means_and_shifts=adjusted, mean_freedom=np.array([10.0, 10.0])), 0.9
    )
    reach = np.exp(stats.t.ppf(0.95, 10.0) * np.sqrt(variance) / steady)
    assert found["high"] == pytest.approx([0.5 * reach[0], 3.0 * reach[1]])
    assert found["low"] == pytest.approx([0.0, 3.0 / reach[1]])


def clicks(n, ones):
    """Return the cells of two arms with 0/1 rewards in one environment."""
    n, rate = np.array(n, float), np.array(ones) / np.array(n)
    squares, cubes, fourths = bernoulli_moments(n, rate)
    return Cells(
        list("AB"), [0], np.array([0, 1]), np.zeros(2, int), n, rate, squares, cubes=cubes, fourths=fourths
    )


def test_two_arms_need_ten_events_and_ten_non_events_together():
    for ones, enough in (([4, 6], True), ([4, 5], False), ([95, 95], True), ([95, 96], False)):
        assert count_events(clicks([100, 100], ones)).enough(0, 1) is enough


def test_up_to_a_hundred_events_are_few_enough_for_exact_inference():
    for ones, few in (
        ([50, 50], True),
        ([50, 51], False),
        ([950, 950], True),
        ([950, 949], False),
        ([0, 0], False),
    ):
        assert few_enough(clicks([1000, 1000], ones)) is few
