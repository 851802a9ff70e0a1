"""Multiple comparisons with the best: constants against exact integrals, error rates by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc, stdtr, stdtrit
from scipy.stats import multivariate_t, norm, t

from tideproof.analysis import Fit
from tideproof.errors import NotComparable
from tideproof.stats.best.multiple_comparisons import (
    ArmGroup,
    ReversedPairs,
    allowance,
    beaten_by_leader,
    compare_with_best,
    lead_critical_values,
    lead_p_values,
    may_be_best,
)
from tideproof.stats.best.student_inference import dunnett_constants, dunnett_probabilities
from tideproof.stats.pairs.difference_pairs import WaldPairs

FALSE_ALARM = 1e-6  # of every statistical test here, were its seed not fixed


def field(mu, C, freedom, level, kind=WaldPairs):
    """Return arms compared by estimate and standard error, with the same degrees of freedom for all."""
    pairs = kind(mu, C, np.full(C.shape, float(freedom)))
    return ArmGroup(pairs, np.arange(mu.size), mu, C, np.full(mu.size, float(freedom)), level)


def compared(mu, C, freedom, level):
    return compare_with_best(field(np.array(mu), C, freedom, level))


def bars(C, freedom, level):
    """Return Dunnett's constants, at least the two-sided Student-t quantile, that of an interval of two arms."""
    constants = dunnett_constants(C, np.full(len(C), freedom), level)
    return np.maximum(constants, stdtrit(freedom, 0.5 + 0.5 * level))


def covariance(arms, seed):
    A = np.random.default_rng(seed).normal(size=(arms, arms + 2))
    return A @ A.T


@pytest.mark.parametrize(("arms", "freedom"), [(3, 4), (4, 15)])
def test_constants_against_the_multivariate_t_of_scipy(arms, freedom):
    C = covariance(arms, arms)
    d = dunnett_constants(C, np.full(arms, float(freedom)), 0.9)
    for i in range(arms):
        others = [k for k in range(arms) if k != i]
        B = np.eye(arms)[others] - np.eye(arms)[i]
        S = B @ C @ B.T
        R = S / np.sqrt(np.outer(np.diag(S), np.diag(S)))
        inside = multivariate_t(shape=R, df=freedom, seed=1).cdf(
            np.full(arms - 1, d[i]), maxpts=200_000 * arms
        )
        assert inside == pytest.approx(0.9, abs=2.5e-3)


def test_constants_of_two_arms_are_student_t_and_of_many_bonferroni():
    assert dunnett_constants(covariance(2, 1), np.full(2, 7.5), 0.95) == pytest.approx(
        [stdtrit(7.5, 0.95)] * 2
    )
    many = dunnett_constants(np.eye(501), np.full(501, 100.0), 0.95)
    assert many == pytest.approx(np.full(501, stdtrit(100.0, 1 - 0.05 / 500)))


def test_constants_by_plain_monte_carlo():
    C, draws, freedom = covariance(8, 3), 200_000, 12
    random = np.random.default_rng(4)
    x = random.normal(size=(draws, 8)) @ np.linalg.cholesky(C).T
    x *= np.sqrt(freedom / random.chisquare(freedom, size=(draws, 1)))
    d = dunnett_constants(C, np.full(8, float(freedom)), 0.95)
    for i in range(8):
        se = np.sqrt(C[i, i] + np.diag(C) - 2 * C[i])
        se[i] = np.inf
        inside = np.mean(((x - x[:, [i]]) / se).max(axis=1) <= d[i])
        assert inside == pytest.approx(0.95, abs=5 * np.sqrt(0.05 * 0.95 / draws) + 1.5e-3)


def test_by_hand():
    """Hsu's rule on three arms, whose constant of 1.92 is below 1.96, the two-sided one of two arms."""
    mu, C = np.array([5.0, 4.0, 0.0]), 0.5 * np.eye(3)  # every se is 1
    found = compared(mu, C, 1e9, 0.95)
    assert dunnett_constants(C, np.full(3, 1e9), 0.95) == pytest.approx([1.916] * 3, abs=2e-3)  # Dunnett 1955
    d = [norm.ppf(0.975)] * 3
    assert found.estimate.tolist() == [1.0, -1.0, -5.0]
    assert found.high == pytest.approx([1.0 + d[0], -1.0 + d[1], 0.0])
    assert found.candidate.tolist() == [True, True, False]
    assert found.low == pytest.approx([1.0 - d[1], -1.0 - d[0], -5.0 - d[0]])
    clear = compared([9.0, 4.0, 0.0], C, 1e9, 0.95)
    assert clear.candidate.tolist() == [True, False, False]
    assert clear.low[0] == 0.0
    assert clear.high[1:].tolist() == [0.0, 0.0]


def test_zero_is_never_outside_its_interval_by_the_wrong_side():
    """Below one half Dunnett's constants are negative; critical values are not, and limits stay on their sides."""
    found = compared([0.1, 0.0, -3.0], 0.5 * np.eye(3), 1e9, 0.05)
    assert dunnett_constants(0.5 * np.eye(3), np.full(3, 1e9), 0.05).max() < -0.3
    assert found.candidate.tolist() == [True, False, False]
    assert found.low[0] == 0.0
    assert found.low[1] == pytest.approx(-0.1 - norm.ppf(0.525))
    assert found.high == pytest.approx([0.1 + norm.ppf(0.525), 0.0, 0.0])


def test_an_arm_that_leads_is_a_candidate_and_so_is_one_that_ties():
    found = compared([2.0, 2.0, 1.0], 1e-9 * np.eye(3), 9, 0.05)
    assert found.candidate.tolist() == [True, True, False]


def test_unknown_noise_leaves_everything_open():
    found = compared([2.0, 1.0], np.full((2, 2), np.nan), 9, 0.95)
    assert found.estimate.tolist() == [1.0, -1.0]
    assert np.isnan([found.low, found.high]).all()
    assert found.candidate.tolist() == [True, True]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(12))
def test_against_all_rivals_one_by_one(seed, level):
    """Hsu's limits from every pair of three to eight arms; exclusion from every pair, too."""
    random = np.random.default_rng([3, seed])
    arms, freedom = int(random.integers(3, 9)), float(random.choice([6, 40, 1000]))
    C = covariance(arms, seed)
    mu = 2.0 * np.sqrt(arms) * random.normal(size=arms)
    d = bars(C, freedom, level)
    se = np.sqrt(np.diag(C)[:, None] + np.diag(C) - 2 * C)
    every = range(arms)
    upper = [min(mu[i] - mu[k] + d[i] * se[i, k] for k in every if k != i) for i in every]
    may = [upper[i] > 0 or mu[i] == mu.max() for i in every]
    found = compared(mu, C, freedom, level)
    assert found.candidate.tolist() == may_be_best(field(mu, C, freedom, level)).tolist() == may
    assert found.estimate == pytest.approx([mu[i] - np.delete(mu, i).max() for i in every])
    assert found.high == pytest.approx([max(0.0, x) for x in upper], abs=1e-7)
    low = [min([mu[i] - mu[k] - d[k] * se[i, k] for k in every if k != i and may[k]] + [0.0]) for i in every]
    assert found.low == pytest.approx(low, abs=1e-7)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("seed", range(6))
def test_an_arm_is_beaten_if_and_only_if_the_interval_of_the_lead_excludes_zero(seed, level):
    """Intervals with the critical value of the arm that is behind; p by the integral and by Student's t."""
    random = np.random.default_rng([9, seed])
    arms, freedom = int(random.integers(3, 9)), float(random.choice([6, 40, 1000]))
    C, mu = covariance(arms, seed), 2.0 * np.sqrt(arms) * random.normal(size=arms)
    group, d = field(mu, C, freedom, level), bars(C, freedom, level)
    leader = int(np.argmax(mu))
    others = np.delete(np.arange(arms), leader)
    se = np.sqrt(C[leader, leader] + np.diag(C)[others] - 2 * C[leader, others])
    lead = mu[leader] - mu[others]
    low, high = lead_critical_values(group, leader, others)
    assert stdtrit(freedom, norm.cdf(low)) == pytest.approx(d[others], abs=1e-7)
    assert stdtrit(freedom, norm.cdf(high)) == pytest.approx([d[leader]] * others.size, abs=1e-7)
    beaten = beaten_by_leader(group)
    assert not beaten[leader]
    assert beaten[others].tolist() == (lead - d[others] * se > 0.0).tolist()
    p = lead_p_values(group, leader, others, norm.isf(t.sf(lead / se, freedom)))
    assert (p < 1.0 - level).tolist() == beaten[others].tolist()
    for k, ratio, found in zip(others.tolist(), lead / se, p, strict=True):
        inside = dunnett_probabilities(C, np.full(arms, freedom), np.full(arms, ratio), np.array([k]))[k]
        assert found == pytest.approx(max(2.0 * t.sf(ratio, freedom), 1.0 - inside), abs=1e-9)


def test_p_values_of_leads_after_an_adaptive_run_and_of_a_leader_that_a_test_sees_behind():
    mu, C = np.array([1.0, 0.0, 0.5]), 0.5 * np.eye(3)
    group = field(mu, C, 1e9, 0.95)
    adaptive = ArmGroup(group.pairs, group.arms, mu, C, group.freedom, 0.95, allowance=allowance(3))
    z = np.array([3.0, -3.0])
    assert lead_p_values(group, 0, np.array([1, 2]), z) == pytest.approx([2 * norm.sf(3.0)] * 2, rel=1e-6)
    assert lead_p_values(adaptive, 0, np.array([1, 2]), z) == pytest.approx([2 * norm.sf(2.5)] * 2, rel=1e-6)
    unknown = lead_p_values(adaptive, 0, np.array([1, 2]), np.array([np.nan, 0.3]))
    assert np.isnan(unknown[0])
    assert unknown[1] == 1.0
    low, high = lead_critical_values(adaptive, 0, np.array([1, 2]))
    assert low.tolist() == high.tolist() == pytest.approx([norm.ppf(0.975) + 0.5] * 2)


def test_of_two_arms_either_may_be_excluded_and_both_sides_count():
    """With 95 % the bar is the two-sided t; a gap between it and the one-sided one excludes nobody."""
    for freedom in (3.0, 30.0):
        one, two = stdtrit(freedom, 0.95), stdtrit(freedom, 0.975)
        C = 0.5 * np.eye(2)  # the difference has a standard error of 1
        assert compared([0.5 * (one + two), 0.0], C, freedom, 0.95).candidate.tolist() == [True, True]
        assert compared([1.001 * two, 0.0], C, freedom, 0.95).candidate.tolist() == [True, False]
        found = compared([1.0, 0.0], C, freedom, 0.95)
        assert (found.low[0], found.high[0]) == pytest.approx((1.0 - two, 1.0 + two))


def test_the_chance_below_a_constant_is_its_level():
    C, which = covariance(6, 2), np.array([1, 4])
    freedom = np.array([5.0, 9.0, 20.0, 5.0, 300.0, 7.0])
    for level in (0.6, 0.95):
        d = dunnett_constants(C, freedom, level, which)
        assert np.flatnonzero(~np.isnan(d)).tolist() == [1, 4]
        assert dunnett_probabilities(C, freedom, d, which)[which] == pytest.approx([level] * 2, abs=1e-8)
    many = dunnett_probabilities(np.eye(501), np.full(501, 9.0), np.full(501, 6.0), np.array([7]))
    assert many[7] == pytest.approx(1 - 500 * stdtr(9.0, -6.0))


class Few(WaldPairs):
    """Arm 0 and arm 1 have too few events together for one to exclude the other."""

    def enough(self, i, k):
        return {i, k} != {0, 1}


class Silent(WaldPairs):
    """Nothing is known of arm 0 against arm 2."""

    def deviate(self, i, k, gap=0.0):
        return np.nan if {i, k} == {0, 2} else super().deviate(i, k, gap)


def test_an_arm_is_excluded_only_by_one_that_has_enough_events_and_a_test():
    mu, C, freedom = np.array([0.0, 9.0, 9.5, 1.0]), 0.5 * np.eye(4), np.full((4, 4), 30.0)

    def candidates(kind, arms):
        return may_be_best(ArmGroup(kind(mu, C, freedom), np.array(arms), mu[arms], C, freedom[0], 0.95))

    assert candidates(WaldPairs, [0, 1, 2, 3]).tolist() == [False, True, True, False]
    assert candidates(Few, [0, 1, 2, 3]).tolist() == [False, True, True, False]  # by arm 2
    two = ArmGroup(Few(mu, C, freedom), np.array([0, 1]), mu[:2], C[:2, :2], freedom[0, :2], 0.95)
    assert may_be_best(two).tolist() == [True, True]
    assert beaten_by_leader(two).tolist() == [False, False]
    apart = ArmGroup(Silent(mu, C, freedom), np.array([0, 2]), mu[[0, 2]], C[:2, :2], freedom[0, :2], 0.95)
    assert may_be_best(apart).tolist() == [True, True]
    assert beaten_by_leader(apart).tolist() == [False, False]


class Slow(WaldPairs):
    """Pairs that take their time."""

    @property
    def quick(self):
        return False


def test_of_many_arms_only_those_near_the_bar_get_a_close_look():
    mu = np.concatenate([[9.0], np.linspace(0.0, 8.9, 600)])
    many = field(mu, 0.5 * np.eye(601), 1e9, 0.95, Slow)  # every standard error is 1
    bar = stdtrit(1e9, 1.0 - 0.05 / 600)
    looked = []
    deviate = many.pairs.deviate
    many.pairs.deviate = lambda i, k, gap=0.0: looked.append(k) or deviate(i, k, gap)
    assert may_be_best(many).tolist() == (9.0 - mu <= bar).tolist()
    assert 0 < len(looked) < 500
    assert beaten_by_leader(many).tolist() == (9.0 - mu > bar).tolist()
    assert np.abs(9.0 - mu[looked]).min() > bar - 1.6
    assert np.abs(9.0 - mu[looked]).max() < 2.0 * bar + 1.6


def test_turned_pairs_are_those_of_the_negative():
    mu, C, freedom = np.array([1.0, 3.0, 2.0]), covariance(3, 5), np.full((3, 3), 8.0)
    turned, mirrored = ReversedPairs(WaldPairs(mu, C, freedom)), WaldPairs(-mu, C, freedom)
    for i, k in ((0, 1), (2, 0)):
        assert turned.gap(i, k) == mirrored.gap(i, k)
        assert turned.deviate(i, k, 0.3) == pytest.approx(mirrored.deviate(i, k, 0.3))
        assert turned.upper(i, k, 1.6) == pytest.approx(mirrored.upper(i, k, 1.6))
        assert turned.lower(i, k, 1.6) == pytest.approx(mirrored.lower(i, k, 1.6))
    assert ReversedPairs(Few(mu, C, freedom)).enough(1, 2)
    assert not ReversedPairs(Few(mu, C, freedom)).enough(1, 0)


def test_without_noise():
    found = compared([1.0, 2.0, 2.0], np.zeros((3, 3)), 5, 0.95)
    assert found.candidate.tolist() == [False, True, True]


def simulated(variance, means, sd, logs, seed, confidence=0.9):
    """Return how often all intervals held, and how often arm 0 was a candidate."""
    random = np.random.default_rng(seed)
    cells = [(i, j) for i in range(len(means)) for j in range(5) if (i + j) % 4]
    counts = random.integers(6, 16, size=len(cells))
    arm, environment = (np.repeat([cell[k] for cell in cells], counts) for k in (0, 1))
    truth = np.array([means[i] - max(np.delete(means, i)) for i in range(len(means))])
    held = candidate = 0
    for _ in range(logs):
        reward = np.array(means)[arm] + 4.0 * environment + np.array(sd)[arm] * random.normal(size=arm.size)
        found = Fit.from_arrays(
            arm, environment, reward, variance=variance, confidence=confidence
        ).comparisons
        rows = sorted(found, key=lambda row: row["arm"])
        held += all(r["low"] - 1e-12 <= t <= r["high"] + 1e-12 for r, t in zip(rows, truth, strict=True))
        candidate += rows[0]["candidate"]
    return held, candidate


def check_error_rates(variance, sd, logs):
    """With equal means an arm is a candidate with probability `level` exactly; else all hold at least so often."""
    _, candidate = simulated(variance, [0.0] * 4, sd, logs, seed=5)
    assert bdtr(candidate, logs, 0.9) > FALSE_ALARM / 2
    assert bdtrc(candidate - 1, logs, 0.9) > FALSE_ALARM / 2
    held, candidate = simulated(variance, [0.5, 0.0, 0.3, -2.0], sd, logs, seed=6)
    assert bdtr(held, logs, 0.9) > FALSE_ALARM
    assert candidate >= held


@pytest.mark.no_cover
def test_error_rates_under_common_noise(monkeypatch):
    """The constants depend on the design alone here, so they are computed once."""
    known = {}

    def once(C, freedom, level, which):
        key = np.round(C / C[0, 0], 6).tobytes()
        return known.setdefault(key, dunnett_constants(C, freedom, level) if key not in known else None)

    monkeypatch.setattr("tideproof.stats.best.multiple_comparisons.dunnett_constants", once)
    check_error_rates("common", [1, 1, 1, 1], 1500)
    assert len(known) == 2


@pytest.mark.no_cover
@pytest.mark.parametrize("variance", ["by-arm", "sandwich"])
def test_error_rates_under_unequal_noise(variance):
    check_error_rates(variance, [1, 2, 3, 1], 300)


def test_in_a_fit():
    arm, environment = np.tile(list("ABC"), 40), np.repeat(np.arange(10), 12)
    random = np.random.default_rng(8)
    reward = 3.0 * (arm == "B") + 2.9 * (arm == "C") + random.normal(size=arm.size) + environment
    up = Fit.from_arrays(arm, environment, reward)
    down = Fit.from_arrays(arm, environment, -reward, direction="minimize")
    assert set(up.candidates) == {"B", "C"}
    assert up.candidates[0] == up.best
    assert "cannot be excluded (95 % confidence)" in up.verdict
    for row, mirrored in zip(up.comparisons, down.comparisons, strict=True):
        assert mirrored["estimate"] == pytest.approx(-row["estimate"])
        assert (mirrored["low"], mirrored["high"]) == pytest.approx((-row["high"], -row["low"]))
        assert mirrored["candidate"] == row["candidate"]


def test_groups_are_compared_each_by_itself():
    found = Fit.from_arrays(
        list("ABABCDCDE"),
        [1, 1, 2, 2, 3, 3, 4, 4, 5],
        [1.0, 9.0, 2.0, 9.5, 3, 4, 5, 6.5, 1],
        scale="difference",
    )
    rows = {row["arm"]: row for row in found.comparisons}
    assert rows["E"] == {"arm": "E", "estimate": None, "low": None, "high": None, "candidate": True}
    assert not rows["A"]["candidate"] or rows["A"]["high"] > 0
    assert found.bridge == ["B", "D", "E"]
    with pytest.raises(NotComparable):
        _ = found.candidates


def test_many_arms_get_bonferroni_by_their_own_degrees_of_freedom():
    K, which = 501, np.array([3, 500])
    freedom, d = np.linspace(5.0, 200.0, K), np.linspace(3.0, 4.0, K)
    found = dunnett_probabilities(np.eye(K), freedom, d, which)
    assert found[which] == pytest.approx(1.0 - 500 * stdtr(freedom[which], -d[which]), rel=1e-12)
    assert np.isnan(np.delete(found, which)).all()
