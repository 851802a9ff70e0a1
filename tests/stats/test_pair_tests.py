"""Tests of pairs on every scale: Mantel and Haenszel, least squares, exact sizes by enumeration, and invariances."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.proportion import proportion_confint

from tideproof.analysis import Fit
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.stats.cells import Cells, bernoulli_moments
from tideproof.stats.pairs.difference_pairs import additive_pairs, clip_rates, move_apart
from tideproof.stats.pairs.odds_pairs import estimate_odds
from tideproof.stats.pairs.pair_tests import FEWEST_EVENTS, BinaryRewards, MeasuredRewards, PairTests
from tideproof.stats.pairs.ratio_pairs import ratio_pairs
from tideproof.stats.solve.adjusted_means import wilson_intervals
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance.variance_models import estimate

SCALES = ("difference", "ratio", "odds")


def binary(n, ones):
    """Return the cells of 0/1 rewards, `n` of them and so many ones: (J, K) both."""
    environment, arm = np.nonzero(n)
    n, ones = n[environment, arm].astype(float), ones[environment, arm].astype(float)
    arms, environments = list(range(arm.max() + 1)), list(range(environment.max() + 1))
    squares, cubes, fourths = bernoulli_moments(n, ones / n)
    return Cells(arms, environments, arm, environment, n, ones / n, squares, cubes=cubes, fourths=fourths)


def pairs_on(scale, cells):
    solution = solve(cells)
    if scale == "difference":
        return additive_pairs(cells, solution)
    return ratio_pairs(cells, solution.freedom) if scale == "ratio" else estimate_odds(cells, solution).pairs


def uncorrected(pairs, i, k, gap=0.0):
    """Return U over its standard deviation, before its skewness is looked at."""
    null = pairs.scale.null(i, k, gap)
    variance = pairs.law.moments(null.mean).variance
    return null.statistic / math.sqrt(np.sum(null.direction**2 * pairs.scale.cells.n * variance))


def drawn(seed, arms=2, environments=6, rate=0.2, most=40):
    random = np.random.default_rng(seed)
    n = random.integers(2, most, size=(environments, arms))
    level = rate * random.uniform(0.4, 2.0, size=(environments, 1))
    return binary(n, random.binomial(n, np.minimum(level * random.uniform(0.7, 1.3, size=arms), 0.95)))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rate", [0.03, 0.2, 0.5])
def test_two_arms_that_are_the_same_are_mantel_and_haenszels(scale, rate):
    for seed in range(4):
        cells = drawn([seed, int(100 * rate)], rate=rate)
        ones = np.zeros((2, cells.J))
        count = np.zeros((2, cells.J))
        ones[cells.arm, cells.environment], count[cells.arm, cells.environment] = (
            cells.n * cells.mean,
            cells.n,
        )
        tables = [np.array([o, c - o]).T for o, c in zip(ones.T, count.T, strict=True)]
        theirs = StratifiedTable(tables).test_null_odds(correction=False)
        pairs = pairs_on(scale, cells)
        z = uncorrected(pairs, 0, 1)
        assert z**2 == pytest.approx(theirs.statistic, rel=1e-8)
        assert uncorrected(pairs, 1, 0) == pytest.approx(-z, rel=1e-10)
        assert np.sign(z) == np.sign(pairs.gap(0, 1))


def normal(seed, kind=None):
    random = np.random.default_rng(seed)
    arm, environment = random.integers(4, size=90), random.integers(5, size=90)
    reward = 0.4 * arm + 3.0 * environment + random.normal(size=90)
    return cells_from_arrays(arm, environment, reward)


def test_rewards_that_vary_alike_and_have_no_skewness_are_tested_by_student_t():
    """Where nothing says that variances differ, these are the tests and limits of variance='common'."""
    alike = 0
    for seed in range(8):
        cells = replace(normal(seed), cubes=None, fourths=None)
        solution = solve(cells)
        pairs, wald = additive_pairs(cells, solution), estimate(cells, solution, "common").pairs
        spreads = pairs.law.moments(cells.mean).spreads
        if spreads.arm_trust.any() or spreads.environment_trust.any():
            continue
        alike += 1
        for i, k in permutations(range(4), 2):
            assert pairs.gap(i, k) == wald.gap(i, k)
            for gap in (0.0, -1.0, 2.5):
                assert pairs.deviate(i, k, gap) == pytest.approx(wald.deviate(i, k, gap), abs=1e-8)
            for limit in ("upper", "lower"):
                ours, theirs = (getattr(one, limit)(i, k, 1.96) for one in (pairs, wald))
                assert ours == pytest.approx(theirs, abs=1e-5)
    assert alike >= 2


@pytest.mark.parametrize("scale", SCALES)
def test_the_statistic_adds_up_what_cells_have_above_what_they_should(scale):
    """U = sum g (S - n m), and a level added to all arms of an environment does not change it."""
    cells = drawn(7, arms=4, environments=5)
    pairs = pairs_on(scale, cells)
    for i, k, gap in ((0, 1, 0.0), (3, 1, 0.02), (2, 3, -0.3)):
        null = pairs.scale.null(i, k, 0.1 * gap if scale == "difference" else gap)
        expected = null.mean
        if scale == "difference":  # rates that were cut off are for the variance alone
            c = cells
            expected = c.mean - c.centred(
                c.mean - move_apart(pairs.scale.solution.mu, i, k, 0.1 * gap, c.counts)[c.arm]
            )
        found = np.sum(null.direction * cells.n * (cells.mean - expected))
        assert found == pytest.approx(null.statistic, abs=1e-10)
        spread = {"difference": 1.0, "ratio": expected, "odds": expected * (1.0 - expected)}
        other = cells.n * spread[scale]
        assert cells.by_environment(null.direction * other) == pytest.approx(np.zeros(5), abs=1e-10)


@pytest.mark.parametrize("scale", SCALES)
def test_limits_are_where_the_deviate_is(scale):
    for seed in range(3):
        pairs = pairs_on(scale, drawn([8, seed], arms=3, environments=4, rate=0.25))
        for i, k in permutations(range(3), 2):
            low, high = pairs.lower(i, k, 1.96), pairs.upper(i, k, 1.96)
            assert low < pairs.gap(i, k) < high
            assert pairs.deviate(i, k, high) == pytest.approx(-1.96, abs=1e-5)
            assert pairs.deviate(i, k, low) == pytest.approx(1.96, abs=1e-5)
            assert pairs.lower(k, i, 1.96) == -high
            assert pairs.deviate(i, k, 0.3) == pytest.approx(-pairs.deviate(k, i, -0.3), abs=1e-9)


@pytest.mark.parametrize("scale", SCALES)
def test_an_arm_without_an_event_varies_as_its_rival_does(scale):
    """12 of 60 against 0 of 30: as many zeros by chance are as rare as mid-p says, given that there are 12."""
    cells = binary(np.array([[60, 30]]), np.array([[12, 0]]))
    pairs = pairs_on(scale, cells)
    law = stats.hypergeom(90, 12, 60)
    mid = 0.5 * law.pmf(12)
    assert pairs.deviate(0, 1) == pytest.approx(stats.norm.isf(mid), abs=0.15)
    assert pairs.gap(0, 1) == (pytest.approx(0.2) if scale == "difference" else math.inf)
    assert 0.0 < pairs.lower(0, 1, 1.96) < pairs.gap(0, 1)
    assert pairs.upper(0, 1, 1.96) == (pytest.approx(0.3, abs=0.1) if scale == "difference" else math.inf)
    assert np.isfinite(pairs.covariance).all()


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("n", "rate"), [((25, 25), 0.3), ((45, 12), 0.2)])
def test_the_size_of_a_two_sided_test_by_enumeration(scale, n, rate):
    """All outcomes of two arms that are the same, with their probabilities: 5 % wanted, 6.6 % allowed."""
    size = 0.0
    for a in range(n[0] + 1):
        for b in range(n[1] + 1):
            chance = stats.binom.pmf(a, n[0], rate) * stats.binom.pmf(b, n[1], rate)
            if chance > 1e-6 and 0 < a + b < sum(n):
                pairs = pairs_on(scale, binary(np.array([n]), np.array([[a, b]])))
                size += chance * (abs(pairs.deviate(0, 1)) > 1.96)
    assert 0.03 < size < 0.066


def test_too_few_events_are_counted_of_either_kind_where_arms_met():
    n = np.array([[50, 50, 0], [40, 0, 40], [0, 0, 30]])
    ones = np.array([[FEWEST_EVENTS - 4, 3, 0], [38, 0, 40], [0, 0, 29]])
    for scale in ("difference", "ratio"):
        pairs = pairs_on(scale, binary(n, ones))
        assert pairs.enough(0, 1)  # HANDFUL - 4 + 38 + 3 ones
        assert pairs.enough(0, 2)
    few = pairs_on("difference", binary(n[:1, :2], ones[:1, :2]))
    assert not few.enough(0, 1)
    assert pairs_on("difference", binary(n[:1, :2], ones[:1, :2] + 1)).enough(0, 1)
    many = pairs_on("difference", binary(n[:1, :2], n[:1, :2] - ones[:1, :2]))
    assert not many.enough(0, 1)  # zeros are too few
    assert additive_pairs(normal(1), solve(normal(1))).enough(0, 1)  # nothing to count


def contrasts(scale, arm, environment, reward, name=None):
    fit = Fit.from_arrays(arm, environment, reward, scale=scale)
    name = name or {a: a for a in fit.cells.arms}
    found = {}
    for a, b in permutations(fit.cells.arms, 2):
        c = fit.contrast(a, b)
        found[name[a], name[b]] = np.array([c.estimate, c.se, c.low, c.high, c.p], float)
    return found, {name[row["arm"]]: (row["mean"], row["low"], row["high"]) for row in fit.arms}


def rows(kind, seed):
    random = np.random.default_rng(seed)
    arm, environment = random.integers(3, size=200), random.integers(4, size=200)
    mean = 0.15 * (1 + arm) * (0.5 + 0.4 * environment)
    if kind == "conversions":
        return arm, environment, 1.0 * (random.random(200) < np.minimum(mean, 0.9))
    if kind == "counts":
        return arm, environment, 1.0 * random.poisson(3 * mean)
    return arm, environment, mean * random.lognormal(sigma=1.0, size=200)


CASES = [("difference", "conversions"), ("difference", "money"), ("ratio", "conversions")]
CASES += [("ratio", "counts"), ("ratio", "money"), ("odds", "conversions")]


@pytest.mark.parametrize(("scale", "kind"), CASES)
def test_names_and_the_order_of_rows_do_not_matter(scale, kind):
    """Limits are found to 1e-6 of a deviate."""
    arm, environment, reward = rows(kind, 11)
    want, means = contrasts(scale, arm, environment, reward)
    order = np.random.default_rng(0).permutation(arm.size)
    name = {0: "z", 1: "a", 2: "k"}
    renamed = [name[a] for a in arm[order]]
    found, other = contrasts(scale, renamed, [f"{9 - e}" for e in environment[order]], reward[order])
    for (a, b), values in want.items():
        assert found[name[a], name[b]] == pytest.approx(values, rel=2e-5, abs=2e-6)
    for a, values in means.items():
        assert other[name[a]] == pytest.approx(values, rel=1e-7)


@pytest.mark.parametrize("kind", ["counts", "money"])
@pytest.mark.parametrize("unit", [1e-3, 250.0])
def test_a_lift_has_no_unit(kind, unit):
    arm, environment, reward = rows(kind, 12)
    want, means = contrasts("ratio", arm, environment, reward)
    found, scaled = contrasts("ratio", arm, environment, unit * reward)
    for pair, values in want.items():
        assert found[pair] == pytest.approx(values, rel=2e-5, abs=2e-6)
    for a, values in means.items():
        assert scaled[a] == pytest.approx([unit * x for x in values], rel=1e-7)


def test_a_factor_on_an_environment_changes_no_lift_where_all_multiply():
    """Means that multiply exactly: lifts are found as they are, whatever the tide."""
    random = np.random.default_rng(3)
    lift, n = np.array([1.0, 1.12, 0.8]), random.integers(5, 60, size=(6, 3)).astype(float)
    environment, arm = np.indices((6, 3)).reshape(2, -1)
    for tide in (np.ones(6), np.array([1.0, 9.0, 0.02, 3.0, 40.0, 1.0])):
        mean = (tide[:, None] * lift).ravel()
        cells = Cells(list("ABC"), list(range(6)), arm, environment, n.ravel(), mean, n.ravel() * mean**2)
        fit = Fit(cells, scale="ratio")
        for a, b in permutations(range(3), 2):
            gap = fit.contrast("ABC"[a], "ABC"[b])
            assert gap.estimate == pytest.approx(lift[a] / lift[b] - 1, rel=1e-7)
            assert gap.low < gap.estimate < gap.high
        means = dict(zip(fit.arms["arm"], fit.arms["mean"], strict=True))
        traffic = n.sum(axis=1) / n.sum()
        for a in range(3):
            assert means["ABC"[a]] == pytest.approx(lift[a] * (traffic @ tide), rel=1e-7)


def test_lifts_are_those_of_a_poisson_regression_by_statsmodels():
    import statsmodels.api as sm

    arm, environment, reward = rows("money", 5)
    X = np.hstack([np.eye(3)[arm][:, 1:], np.eye(4)[environment]])
    theirs = sm.GLM(reward, X, family=sm.families.Poisson()).fit(tol=1e-13, maxiter=200)
    fit = Fit.from_arrays(arm, environment, reward, scale="ratio")
    for a in (1, 2):
        found = fit.contrast(a, 0)
        assert found.estimate == pytest.approx(math.expm1(theirs.params[a - 1]), rel=1e-8)
        assert found.scale == "ratio"


@pytest.mark.parametrize("scale", ["ratio", "odds"])
def test_the_standard_error_of_many_events_is_that_of_the_delta_method(scale):
    """One environment, two arms: var log p = q/(n p), var log odds = 1/(n p q); half an event is nothing."""
    n, ones = np.array([[20_000, 9_000]]), np.array([[3_000, 1_500]])
    fit = Fit(binary(n, ones), scale=scale)
    found, p = fit.contrast(1, 0), ones[0] / n[0]
    q = 1 - p if scale == "ratio" else 1 / (1 - p)
    lift = p[1] / p[0] if scale == "ratio" else p[1] / (1 - p[1]) / (p[0] / (1 - p[0]))
    assert found.estimate == pytest.approx(lift - 1, rel=1e-3 if scale == "odds" else 1e-7)
    assert found.se == pytest.approx(math.sqrt(np.sum(q / (n[0] * p))), rel=2e-3)
    low, high = stats.norm.interval(0.95, math.log(lift), found.se)
    assert (found.low, found.high) == pytest.approx((math.expm1(low), math.expm1(high)), rel=0.02)


def test_rates_are_possible_and_add_up_to_the_events():
    cells = drawn(9, arms=3, environments=5, rate=0.1)
    odd = cells.mean + np.random.default_rng(2).normal(scale=0.2, size=cells.n.size)
    rate = clip_rates(cells, odd)
    assert rate.min() >= 0.0
    assert rate.max() <= 1.0
    events = cells.by_environment(cells.n * cells.mean)
    assert cells.by_environment(cells.n * rate) == pytest.approx(events)


def test_moving_two_arms_apart_leaves_their_weighted_mean_and_the_others():
    theta, weight = np.array([1.0, 5.0, 2.0]), np.array([3.0, 1.0, 0.0])
    moved = move_apart(theta, 0, 1, -2.0, weight)
    assert moved[0] - moved[1] == pytest.approx(-2.0)
    assert weight @ moved == pytest.approx(weight @ theta)
    assert moved[2] == 2.0
    assert move_apart(theta, 0, 1, 0.0, np.zeros(3))[0] == pytest.approx(3.0)
    assert theta.tolist() == [1.0, 5.0, 2.0]


@pytest.mark.parametrize(("ones", "beyond"), [([30, 20], math.inf), ([0, 20], -math.inf)], ids=["up", "down"])
def test_a_limit_is_searched_up_to_a_billion_first_steps_away(ones, beyond):
    """The first step is z standard errors: far too short a one is made up for, up to a factor of 2^30."""
    pairs = pairs_on("ratio", binary(np.array([[60, 60]]), np.array([ones])))
    limit, gap, C = pairs.upper(0, 1, 1.96), pairs.gap(0, 1), pairs.covariance
    away = abs(limit - (gap if math.isfinite(gap) else 0.0))
    error = math.sqrt(C[0, 0] + C[1, 1] - 2.0 * C[0, 1])

    def found(steps):
        short = PairTests(pairs.scale, pairs.law, C * (away / (1.96 * error * steps)) ** 2)
        return short.upper(0, 1, 1.96)

    assert found(0.9 * 2**30) == pytest.approx(limit, abs=1e-5)
    assert found(1.1 * 2**30) == beyond


def test_limits_of_a_rate_are_wilsons():
    for ones, n, level in ((0, 30, 0.95), (3, 30, 0.9), (29, 30, 0.95), (400, 1000, 0.99)):
        p, z = np.array([ones / n]), stats.norm.ppf(0.5 + level / 2)
        usual = np.clip(p, 0.01, 0.99)  # any rate will do: it says how many chances there were
        variance = usual * (1 - usual) / n
        found = wilson_intervals(p, usual, variance, z * np.sqrt(variance))
        want = proportion_confint(ones, n, 1 - level, method="wilson")
        assert (found["low"][0], found["high"][0]) == pytest.approx(want, abs=1e-12)


def test_what_a_scale_cannot_do():
    arm, environment = list("AABB") * 3, [1] * 6 + [2] * 6
    with pytest.raises(
        InputError, match=r"scale='ratio' needs rewards of 0 or more; the mean of A in 1 is -1"
    ):
        Fit.from_arrays(arm, environment, [-1.0] * 12, scale="ratio")
    with pytest.raises(InputError, match=r"scale='odds' needs rewards that are all 0 or 1"):
        Fit.from_arrays(arm, environment, np.arange(12.0), scale="odds")
    with pytest.raises(InputError, match=r"scale='ratio' needs a reward above 0; all are 0"):
        Fit.from_arrays(arm, environment, [0.0] * 12, scale="ratio")
    with pytest.raises(InputError, match=r"one of 'auto', 'difference', 'ratio', 'odds', 'log', not 'logit'"):
        Fit.from_arrays(arm, environment, np.arange(12.0), scale="logit")
    with pytest.raises(InputError, match=r"variance='common' requires scale='difference'"):
        Fit.from_arrays(arm, environment, np.arange(12.0), scale="ratio", variance="common")
    with pytest.raises(
        InputError, match=r"requires an environment in which some rewards are 0 and some are 1; there is none"
    ):
        Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [0.0, 0.0, 1.0, 1.0], scale="odds")


@pytest.mark.parametrize("reward", [0.0, 1.0, 3.0])
def test_rewards_that_are_all_the_same_exclude_nobody(reward):
    fit = Fit.from_arrays(np.tile(list("ABC"), 20), np.repeat(range(6), 10), np.full(60, reward))
    assert (fit.scale, fit.choice.sentence) == ("difference", "All rewards are equal.")
    assert fit.exact
    assert set(fit.candidates) == set("ABC")
    assert fit.contrast("A", "B").p in (1.0, None)


def test_arms_without_a_chance_to_vary_are_not_told_apart_by_rounding():
    """Arms 2 and 3 never had an event: their difference is 0 to rounding, and so is its variance."""
    arm, environment = [2, 3, 2, 1, 1, 3, 0, 0], [0, 4, 2, 0, 2, 0, 3, 2]
    fit = Fit.from_arrays(arm, environment, [0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0], scale="difference")
    found = fit.contrast(2, 3)
    assert found.p == 1.0
    assert found.low < 0.0 < found.high


def test_limits_that_have_no_end_are_none_in_json():
    """B had all events, and one environment had nothing else."""
    arm, environment = list("AABB") * 2, [1] * 4 + [2] * 4
    fit = Fit.from_arrays(arm, environment, [0, 0, 1, 1, 0, 0, 0, 1.0], scale="ratio")
    assert fit.contrast("B", "A").estimate == math.inf
    assert fit.contrast("B", "A").to_dict()["estimate"] is None
    assert json.loads(json.dumps(fit.to_dict(), allow_nan=False))["best"] == "B"
    odds = Fit.from_arrays(
        [*arm, "A", "B"], [*environment, 3, 3], [0, 0, 1, 1, 0, 0, 0, 1, 1, 1.0], scale="odds"
    )
    assert odds.shifts["shift"][2] == math.inf
    assert json.dumps(odds.to_dict(), allow_nan=False)
    assert np.isfinite(odds.arms["mean"]).all()


def test_moments_of_rewards_of_0_or_1_given_the_total_of_their_environment():
    """N/(N - 1) as without replacement; a single reward cannot vary, and neither can a sure one."""
    c = Cells.design(np.array([[1.0, 0.0], [1.0, 1.0], [2.0, 3.0]]))
    variance, skewness, spreads = BinaryRewards(c).moments(np.array([0.5, 0.25, 0.5, 1.0, 0.2]))
    assert variance == pytest.approx([0.0, 2 * 0.1875, 2 * 0.25, 0.0, 1.25 * 0.16])
    assert skewness * variance**1.5 == pytest.approx([0.0, 0.1875 * 0.5, 0.0, 0.0, 0.16 * 0.6])
    assert spreads is None
    variance, skewness, _ = BinaryRewards(c).moments(np.array([0.5, -0.25, 1.5, 1.0 - 1e-16, 0.5]))
    assert variance == pytest.approx([0.0, 0.0, 0.0, 0.0, 1.25 * 0.25])
    assert skewness == pytest.approx(np.zeros(5))


def shaped(shift, sizes=(3000, 3000), late=0.01):
    """Rewards of two arms in one environment: even ones, and others with a few that are very large."""
    random = np.random.default_rng(9)
    even, uneven = (random.normal(size=n) for n in sizes)
    uneven = uneven + shift + 40.0 * (random.random(sizes[1]) < late)
    return even, uneven


@pytest.mark.parametrize("high", ["even", "uneven"])
def test_an_arm_with_a_few_large_rewards_is_tested_by_its_own_skewness(high):
    """Where variances differ clearly, the z-score is at most Hall's transform of Welch's statistic."""
    even, uneven = shaped(0.0)
    uneven = uneven - uneven.mean() + even.mean() + (1.0 if high == "uneven" else -1.0) * 0.19
    cells = cells_from_arrays([0] * 3000 + [1] * 3000, [0] * 6000, np.concatenate([even, uneven]))
    found = additive_pairs(cells, solve(cells))
    assert isinstance(found.law, MeasuredRewards)
    t = stats.ttest_ind(uneven, even, equal_var=False).statistic
    parts = [np.var(x, ddof=1) / x.size for x in (even, uneven)]
    thirds = [stats.moment(x, 3) / x.size**2 for x in (even, uneven)]
    skewness = (thirds[1] - thirds[0]) / sum(parts) ** 1.5
    hall = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    assert abs(t) > 2.2
    assert skewness > 0.1
    if high == "even":
        assert abs(hall) < abs(t) - 0.25
        assert found.deviate(1, 0) == pytest.approx(hall, rel=0.03)
    else:  # Hall's transform is further from 0 than the z-score for known variances, which stays.
        assert found.deviate(1, 0) < hall
    assert found.deviate(0, 1) == pytest.approx(-found.deviate(1, 0), rel=1e-12)


def test_arms_of_one_shape_keep_their_skewness_in_common():
    """Equal variances: nothing is taken from the arms' own rewards."""
    random = np.random.default_rng(3)
    reward = random.exponential(size=400)
    cells = cells_from_arrays([0] * 200 + [1] * 200, [0] * 400, reward)
    found = additive_pairs(cells, solve(cells))
    spreads = found.law.moments(found.scale.fitted).spreads
    assert not spreads.arm_trust.any()
    common = spreads._replace(own_skewness=None)
    assert found.deviate(1, 0) == PairTests(
        found.scale, MeasuredRewards(common, None), found.covariance
    ).deviate(1, 0)
