"""Tests of arms on average over environments like those observed: t-tests by environment, dense matrices, invariances."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from tideproof.analysis import Fit
from tideproof.data import cells_from_arrays
from tideproof.stats.best.student_inference import normal_from_student
from tideproof.stats.cells import Cells, bernoulli_moments
from tideproof.stats.pairs.between_environment_pairs import (
    FEWEST_ENVIRONMENTS,
    MOST_TO_COME,
    BetweenEnvironmentPairs,
    CautiousPairs,
    environments_needed,
    hall_transform,
    inverse_hall_transform,
    score_variance,
)
from tideproof.stats.pairs.difference_pairs import WaldPairs, additive_pairs
from tideproof.stats.pairs.odds_pairs import estimate_odds
from tideproof.stats.pairs.ratio_pairs import ratio_pairs
from tideproof.stats.solve.least_squares import solve


def drawn_design(seed, environments=7):
    """Return information, noise and influence of some environments, all unequal."""
    random = np.random.default_rng(seed)
    return tuple(random.uniform(0.2, 3.0, size=environments) for _ in range(3))


def quadratic_form(information, noise, influence):
    """Return the matrix A with variance = u'Au, where scores u are too small to show interactions."""
    J = information.size
    one = 1e-3 * np.eye(J)

    def value(score):
        return score_variance(score, information, noise, influence).variance * 1e6

    own = np.array([value(one[j]) for j in range(J)])
    A = np.array([[value(one[j] + one[k]) for k in range(J)] for j in range(J)])
    A = 0.5 * (A - own[:, None] - own)
    A[np.diag_indices(J)] = own
    return A


def centring(information):
    """Return the matrix that turns terms into residuals: each loses its share of their sum."""
    J = information.size
    return np.eye(J) - np.outer(information / information.sum(), np.ones(J))


@pytest.mark.parametrize("seed", range(5))
def test_the_variance_is_unbiased_under_its_working_model(seed):
    information, noise, influence = drawn_design(seed, 4 + seed)
    A = quadratic_form(information, noise, influence)
    assert np.trace(A @ np.diag(noise)) == pytest.approx(noise.sum(), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_degrees_of_freedom_are_those_of_satterthwaite(seed):
    """2 E^2 / Var of the quadratic form in independent normal terms."""
    information, noise, influence = drawn_design([1, seed], 4 + seed)
    AS = quadratic_form(information, noise, influence) @ np.diag(noise)
    found = score_variance(np.zeros(noise.size), information, noise, influence)
    assert found.freedom == pytest.approx(np.trace(AS) ** 2 / np.trace(AS @ AS), rel=1e-8)
    assert found.model == pytest.approx(noise.sum(), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_interaction_explains_the_observed_squares(seed):
    """Method of moments: with it, the expected sum of squares is the observed one. Nothing else changes."""
    information, noise, influence = drawn_design([2, seed])
    score = 4.0 * np.random.default_rng(seed).normal(size=noise.size)
    M = centring(information)
    expected = [float(np.trace(M @ np.diag(x) @ M.T)) for x in (noise, influence)]
    omega2 = (float(np.sum((M @ score) ** 2)) - expected[0]) / expected[1]
    assert omega2 > 0.0
    found = score_variance(score, information, noise, influence)
    terms = noise + omega2 * influence
    assert found.model == pytest.approx(terms.sum(), rel=1e-12)
    assert found == pytest.approx(score_variance(score, information, terms, np.zeros(7)), rel=1e-9)


@pytest.mark.parametrize("J", [4, 5, 14, 100])
def test_equal_environments_are_a_t_test(J):
    score = np.random.default_rng(J).normal(size=J)
    found = score_variance(score, np.full(J, 3.0), np.full(J, 0.1), np.full(J, 5.0))
    assert found.variance == pytest.approx(J * np.var(score, ddof=1), rel=1e-12)
    assert found.freedom == pytest.approx(J - 1, rel=1e-9)


@pytest.mark.parametrize("unit", [1e-150, 1e-9, 1e9, 1e150])
def test_the_variance_does_not_depend_on_units(unit):
    information, noise, influence = drawn_design(3)
    score = 2.0 * np.random.default_rng(3).normal(size=7)
    one = score_variance(score, information, noise, influence)
    for factor in (1.0, 1e-20, 1e20):  # of the information, which is known up to a factor
        other = score_variance(unit * score, factor * information, unit**2 * noise, influence)
        assert other.variance / unit**2 == pytest.approx(one.variance, rel=1e-9)
        assert other.model / unit**2 == pytest.approx(one.model, rel=1e-9)
        assert other.freedom == pytest.approx(one.freedom, rel=1e-9)


def test_the_variance_is_unknown_with_few_environments_or_without_variation():
    for J in range(FEWEST_ENVIRONMENTS):
        one = np.ones(J)
        assert math.isnan(score_variance(np.arange(J, dtype=float), one, one, one).variance)
    sparse = np.array([1.0, 1.0, 1.0, 1e-14, 0.0])  # environments without information do not count
    assert math.isnan(score_variance(np.arange(5.0), sparse, np.ones(5), np.ones(5)).variance)
    none = score_variance(np.zeros(5), np.ones(5), np.zeros(5), np.ones(5))
    assert math.isnan(none.variance)
    assert none.freedom == 0.0


def test_environments_without_information_change_nothing():
    information, noise, influence = drawn_design(4)
    score = np.random.default_rng(4).normal(size=7)
    one = score_variance(score, information, noise, influence)
    more = [np.append(x, [0.0, 0.0]) for x in (score, information, noise, influence)]
    assert score_variance(*more) == pytest.approx(one, rel=1e-12)


@pytest.mark.parametrize("skewness", [-1.5, -0.3, -1e-12, 0.0, 1e-6, 0.2, 1.0])
def test_halls_transformation_increases_and_is_inverted(skewness):
    t = np.linspace(-8.0, 8.0, 101)
    x = np.array([hall_transform(value, skewness) for value in t])
    assert np.all(np.diff(x) > 0.0)
    back = [inverse_hall_transform(value, skewness) for value in x]
    assert back == pytest.approx(t.tolist(), abs=1e-5)


def test_halls_transformation_removes_skewness():
    """Its reflection is that of the opposite skewness, and a symmetric statistic is left alone."""
    for t in (-3.0, 0.5, 2.0):
        assert hall_transform(-t, -0.4) == pytest.approx(-hall_transform(t, 0.4), rel=1e-12)
        assert inverse_hall_transform(t, 0.0) == t


def log_with_interactions(environments=8, arms=2, seed=0, size=0.5, lead=1.5):
    """Return arms, environments and rewards; four rewards for each cell, which vary symmetrically."""
    random = np.random.default_rng(seed)
    effect = lead * np.arange(arms) + size * random.normal(size=(environments, arms))
    cells = effect + random.normal(size=(environments, 1))
    reward = cells[:, :, None] + np.array([-1.0, -0.5, 0.5, 1.0])
    environment, arm, _ = np.indices(reward.shape)
    return np.array(list("ABCDEF"))[arm].ravel(), environment.ravel(), reward.ravel()


def additive(log):
    """Return tests of pairs on the scale of differences, about environments like those of a log."""
    cells = cells_from_arrays(*log)
    solution = solve(cells)
    return BetweenEnvironmentPairs(additive_pairs(cells, solution), solution.mu)


@pytest.mark.parametrize(
    ("environments", "size"),
    [
        (4, 0.5),
        (8, 0.3),
        (30, 0.3),
    ],
)
def test_two_arms_with_equal_cells_are_a_t_test_of_their_differences(environments, size):
    log = log_with_interactions(environments, 2, environments, size, lead=0.4)
    pairs = additive(log)
    mean = np.array(log[2]).reshape(environments, 2, 4).mean(axis=2)
    difference = mean[:, 1] - mean[:, 0]
    for gap in (0.0, 0.7, -1.3):
        test = stats.ttest_1samp(difference, gap)
        expected = math.copysign(stats.norm.isf(test.pvalue / 2.0), test.statistic)
        assert pairs.deviate(1, 0, gap) == pytest.approx(expected, rel=1e-6)
    assert pairs.freedom(1, 0) == pytest.approx(environments - 1, rel=1e-9)
    z = stats.norm.isf(0.025)
    interval = stats.ttest_1samp(difference, 0.0).confidence_interval(0.95)
    assert (pairs.lower(1, 0, z), pairs.upper(1, 0, z)) == pytest.approx(tuple(interval), rel=1e-7)


def unequal_log(seed=0, environments=9):
    """Return a log of three arms with unequal numbers of skewed rewards."""
    random = np.random.default_rng(seed)
    n = random.integers(3, 30, size=(environments, 3))
    environment, arm = (x.repeat(n.ravel()) for x in (np.indices(n.shape)[k].ravel() for k in (0, 1)))
    shifts = random.normal(size=(environments, 3)) * 0.3 + random.normal(size=(environments, 1))
    reward = shifts[environment, arm] + random.exponential(size=arm.size)
    return np.array(list("ABC"))[arm], environment, reward


def statements(pairs, arms="ABC"):
    """Return z-scores, degrees of freedom and bounds of all pairs, by the names of the arms."""
    at = pairs.tests.scale.cells.arms
    return {
        (a, b): (
            pairs.deviate(at.index(a), at.index(b), 0.2),
            pairs.freedom(at.index(a), at.index(b)),
            pairs.lower(at.index(a), at.index(b), 1.9),
            pairs.upper(at.index(a), at.index(b), 1.9),
        )
        for a, b in permutations(arms, 2)
    }


def test_the_order_and_the_names_of_arms_do_not_matter():
    arm, environment, reward = unequal_log()
    one = statements(additive((arm, environment, reward)))
    order = np.random.default_rng(1).permutation(arm.size)
    for a in (arm, np.array(list("CAB"))[np.searchsorted(list("ABC"), arm)]):
        name = dict(zip(arm, a, strict=True))
        other = statements(additive((a[order], environment[order], reward[order])))
        for (i, k), values in one.items():
            assert other[name[i], name[k]] == pytest.approx(values, rel=1e-8, abs=1e-10)


def test_shifts_of_environments_do_not_matter():
    arm, environment, reward = unequal_log()
    one = statements(additive((arm, environment, reward)))
    shifts = 100.0 * np.random.default_rng(2).normal(size=environment.max() + 1)
    other = statements(additive((arm, environment, reward + shifts[environment])))
    for pair, values in one.items():
        assert other[pair] == pytest.approx(values, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("unit", [1e-60, 1e-6, 1e3, 1e12])
def test_reward_units_do_not_matter(unit):
    arm, environment, reward = unequal_log()
    one, other = additive((arm, environment, reward)), additive((arm, environment, unit * reward))
    for i, k in permutations(range(3), 2):
        assert other.deviate(i, k, 0.2 * unit) == pytest.approx(one.deviate(i, k, 0.2), rel=1e-8)
        assert other.freedom(i, k) == pytest.approx(one.freedom(i, k), rel=1e-8)
        assert other.upper(i, k, 1.9) == pytest.approx(unit * one.upper(i, k, 1.9), rel=1e-8)


def test_one_pair_seen_from_both_sides():
    pairs = additive(unequal_log())
    for i, k in permutations(range(3), 2):
        assert pairs.deviate(i, k, 0.3) == pytest.approx(-pairs.deviate(k, i, -0.3), rel=1e-12)
        assert pairs.lower(i, k, 1.9) == -pairs.upper(k, i, 1.9)
        assert pairs.deviate(i, k, pairs.upper(i, k, 1.9)) == pytest.approx(-1.9, rel=1e-9)


def conversions(seed, environments, arms=2):
    """Return cells of 0/1 rewards whose log odds and log rates differ between environments, not between arms."""
    random = np.random.default_rng(seed)
    environment, arm = (x.ravel() for x in np.indices((environments, arms)))
    n = random.integers(100, 200, size=arm.size).astype(float)
    rate = np.repeat(random.uniform(0.1, 0.4, size=environments), arms)
    mean = random.binomial(n.astype(int), rate) / n
    squares, cubes, fourths = bernoulli_moments(n, mean)
    names = list(range(arms)), list(range(environments))
    return Cells(*names, arm, environment, n, mean, squares, cubes=cubes, fourths=fourths)


@pytest.mark.parametrize("scale", ["difference", "ratio", "odds"])
def test_with_many_environments_and_no_interaction_the_standard_error_is_that_of_the_additive_test(scale):
    """The average of eight logs; one estimate of 300 environments has a standard deviation of 4 %."""
    ratios = []
    for seed in range(8):
        cells = conversions(seed, 300)
        solution = solve(cells)
        if scale == "difference":
            tests, mu = additive_pairs(cells, solution), solution.mu
        elif scale == "ratio":
            tests = ratio_pairs(cells, solution.freedom)
            mu = np.array([0.0, tests.gap(1, 0)])
        else:
            found = estimate_odds(cells, solution)
            tests, mu = found.pairs, found.mu
            tests = getattr(tests, "tests", tests)
        between = BetweenEnvironmentPairs(tests, mu)
        ratios.append(
            (between.upper(1, 0, 1.0) - between.gap(1, 0)) / (tests.upper(1, 0, 1.0) - tests.gap(1, 0))
        )
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.04)
    assert np.abs(np.array(ratios) - 1.0).max() < 0.15


def test_cautious_tests_conclude_what_both_conclude():
    effect, ease = np.array([0.0, 1.0]), 1.2
    narrow, wide = (WaldPairs(effect, np.eye(2) * v / 2.0, np.full((2, 2), np.inf)) for v in (0.04, 0.25))
    for first, second, z, bound in (
        (narrow, wide, 2.0 * ease, 1.0 + 0.5 * 1.96 / ease),
        (wide, narrow, 2.0, 1.0 + 0.5 * 1.96),
    ):
        pairs = CautiousPairs(first, second, ease)
        assert pairs.deviate(1, 0) == pytest.approx(z)
        assert pairs.upper(1, 0, 1.96) == pytest.approx(bound)
        some = np.array([1, 0]), np.array([0, 1])
        assert pairs.deviates(*some) == pytest.approx([z, -z])
        uppers = [pairs.upper(1, 0, 1.96), pairs.upper(0, 1, 1.96)]
        assert pairs.uppers(*some, np.full(2, 1.96)) == pytest.approx(uppers)


def needed_by_counting(deviate, freedom, observed, confidence, comparisons):
    """Return the first number of further environments with a z-score above the critical value, by trying all."""
    needed = stats.norm.ppf(1.0 - (1.0 - confidence) / comparisons)
    t = stats.t.isf(stats.norm.sf(deviate), freedom)
    for more in range(1, MOST_TO_COME * observed + 1):
        grown = (observed + more) / observed
        if normal_from_student(t * math.sqrt(grown), freedom * grown) >= needed:
            return more
    return None


@pytest.mark.parametrize("comparisons", [1, 4])
@pytest.mark.parametrize("observed", [4, 14, 60])
@pytest.mark.parametrize("deviate", [0.05, 0.4, 0.9, 1.5, 1.9])
def test_how_many_more_environments_are_needed(deviate, observed, comparisons):
    asked = deviate, observed - 1.5, observed, 0.975, comparisons
    assert environments_needed(*asked) == needed_by_counting(*asked)


def test_how_many_more_environments_are_needed_may_be_unknown():
    assert environments_needed(-1.0, 13.0, 14, 0.975, 1) is None
    assert environments_needed(math.nan, 13.0, 14, 0.975, 1) is None
    assert environments_needed(1.0, 0.0, 14, 0.975, 1) is None


def test_a_false_winner_is_as_rare_as_promised_with_interactions():
    """Two equal arms, 14 days, interactions of .2 of the noise: 5 % on similar days, many more on these days.

    300 logs. If the rate were 5 %, more than 29 false winners would have a probability of 2e-4.
    """
    random, logs, days, n = np.random.default_rng(36), 300, 14, 200
    named = {"similar": 0, "these": 0}
    day, arm = (x.ravel() for x in np.indices((days, 2)))
    for _ in range(logs):
        mean = np.repeat(random.normal(size=days), 2) + 0.2 * random.normal(size=2 * days)
        mean += random.normal(size=2 * days) / math.sqrt(n)
        squares = random.chisquare(n - 1, size=2 * days)
        cells = Cells(["A", "B"], list(range(days)), arm, day, np.full(2 * days, float(n)), mean, squares)
        for about in named:
            found = Fit(cells, scale="difference", about=about)
            named[about] += found.decision.standing == ("winner" if about == "similar" else "winner_on_these")
    assert named["similar"] <= 29
    assert named["these"] > 100
