"""Fit against statsmodels, pyfixest, dense least squares, exact probabilities and simulation."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import bdtr, bdtrc, stdtr

import oracles
from tideproof.analysis import ADAPTIVE, Fit, fit
from tideproof.errors import InputError, NotComparable, UnknownName
from tideproof.stats.best.student_inference import probabilities_of_best
from tideproof.stats.cells import Cells

TIGHT = 1e-10  # relative to sigma, which is 1: rounding in well conditioned designs
FALSE_ALARM = 1e-6  # of every statistical test here, were its seed not fixed


def log(kind, arms, environments, seed=0, shift=10.0):
    random = np.random.default_rng([seed, arms, environments])
    arm, environment = oracles.design(kind, arms, environments, random)
    return arm, environment, oracles.rewards(arm, environment, random, shift)


def rows(table):
    """Return the rows of a table by what stands in its first column."""
    return {row[table.columns[0]]: row for row in table}


def test_thirty_arms_in_five_hundred_environments_against_statsmodels():
    import statsmodels.api as sm

    arms, environments = 30, 500
    random = np.random.default_rng(1)
    environment = np.repeat(np.arange(environments), 5)
    arm = (
        random.integers(arms, size=environments)[:, None] + random.integers(15, size=(environments, 5))
    ) % arms
    arm = arm.ravel()
    reward = oracles.rewards(arm, environment, random)
    X = oracles.dummies(arm, environment, arms, environments)[:, 1:]  # arm 0 is the baseline
    theirs = sm.OLS(reward, X).fit(method="qr")
    ours = Fit.from_arrays(arm, environment, reward, variance="common")

    assert ours.degrees_of_freedom == theirs.df_resid
    assert ours.sigma**2 == pytest.approx(theirs.mse_resid, rel=TIGHT)
    covariance = theirs.cov_params()
    for i in range(1, arms):
        contrast = ours.contrast(i, 0)
        assert contrast.estimate == pytest.approx(theirs.params[i - 1], abs=TIGHT)
        assert contrast.se == pytest.approx(np.sqrt(covariance[i - 1, i - 1]), abs=TIGHT)
    low, high = theirs.conf_int()[arms - 2]
    last = ours.contrast(arms - 1, 0)
    assert (last.low, last.high, last.p) == pytest.approx((low, high, theirs.pvalues[arms - 2]), abs=TIGHT)

    # the adjusted mean and the shifts, as combinations of their parameters (arm 0 dropped)
    for i in (0, 7, arms - 1):
        test = theirs.t_test(oracles.adjusted_mean(arm, environment, arms, environments, i)[1:])
        row = rows(ours.arms)[i]
        assert (row["mean"], row["se"]) == pytest.approx((test.effect[0], test.sd[0, 0]), abs=1e-9)
        assert (row["low"], row["high"]) == pytest.approx(tuple(test.conf_int()[0]), abs=1e-9)
    for j in (0, environments // 2):
        test = theirs.t_test(oracles.relative_shift(arm, environment, arms, environments, j)[1:])
        row = rows(ours.shifts)[j]
        assert (row["shift"], row["se"]) == pytest.approx((test.effect[0], test.sd[0, 0]), abs=1e-9)


@pytest.mark.filterwarnings("ignore")  # pyfixest's own
def test_against_pyfixest():
    import pyfixest

    arm, environment, reward = log("incomplete", 8, 200)
    frame = pd.DataFrame({"arm": arm, "environment": environment, "reward": reward})
    theirs = pyfixest.feols("reward ~ C(arm) | environment", frame, vcov="iid", fixef_tol=1e-14)
    ours = fit(frame, arm="arm", environment="environment", reward="reward", variance="common")
    for i in range(1, 8):
        contrast = ours.contrast(i, 0)
        assert contrast.estimate == pytest.approx(theirs.coef()[f"C(arm)[T.{i}]"], abs=1e-9)
        assert contrast.se == pytest.approx(theirs.se()[f"C(arm)[T.{i}]"], abs=1e-9)
        assert contrast.p == pytest.approx(theirs.pvalue()[f"C(arm)[T.{i}]"], abs=1e-9)


@pytest.mark.parametrize("kind", ["complete", "lopsided"])
def test_additivity_against_an_analysis_of_variance_by_statsmodels(kind):
    import statsmodels.api as sm

    arms, environments = 4, 6
    arm, environment, reward = log(kind, arms, environments)
    reward = reward + 2.0 * ((arm == 1) & (environment == 2))
    cells = np.unique(environment * arms + arm, return_inverse=True)[1]
    additive = sm.OLS(reward, oracles.dummies(arm, environment, arms, environments)[:, 1:]).fit()
    full = sm.OLS(reward, np.eye(cells.max() + 1)[cells]).fit()
    F, p, df1 = full.compare_f_test(additive)
    ours = Fit.from_arrays(arm, environment, reward).additivity()
    assert (ours.F, ours.p) == pytest.approx((F, p), rel=1e-8)
    assert (ours.df1, ours.df2) == (df1, full.df_resid)


@pytest.mark.parametrize("kind", oracles.DESIGNS)
@pytest.mark.parametrize(("arms", "environments"), [(2, 6), (5, 12), (20, 40), (50, 50)])
def test_contrasts_are_dense_least_squares(kind, arms, environments):
    arm, environment, reward = log(kind, arms, environments)
    ours = Fit.from_arrays(arm, environment, reward, variance="common")
    theirs = oracles.dense(arm, environment, reward, arms, environments)
    groups = [group for group in oracles.groups(arm, environment, arms) if group & set(arm.tolist())]
    assert {frozenset(group) for group in ours.groups} == set(groups)
    assert ours.degrees_of_freedom == theirs.freedom
    assert ours.sigma == pytest.approx(theirs.sigma, rel=1e-9)
    for group in groups:
        for i, k in list(combinations(sorted(group), 2))[:50]:
            estimate, variance = theirs.combination(
                np.eye(arms + environments)[i] - np.eye(arms + environments)[k]
            )
            contrast = ours.contrast(i, k)
            assert contrast.estimate == pytest.approx(estimate, abs=1e-9)
            assert contrast.se == pytest.approx(theirs.sigma * np.sqrt(variance), abs=1e-9)
    alone = [np.unique(arm[environment == j]).size == 1 for j in range(environments)]
    assert ours.uninformative == sum(alone)


def test_worst_cells_are_standardised_by_the_noise_inside_cells():
    arms, environments = 4, 6
    arm, environment, reward = log("complete", arms, environments)
    reward = reward + 9.0 * ((arm == 1) & (environment == 2))
    found = Fit.from_arrays(arm, environment, reward).additivity(worst=3)
    assert len(found.worst) == 3
    worst = found.worst.to_dicts()[0]
    assert (worst["arm"], worst["environment"]) == (1, 2)
    theirs = oracles.dense(arm, environment, reward, arms, environments)
    x = oracles.dummies([1], [2], arms, environments)[0]
    here = reward[(arm == 1) & (environment == 2)]
    spread = sum(
        ((cell - cell.mean()) ** 2).sum()
        for i in range(arms)
        for j in range(environments)
        for cell in [reward[(arm == i) & (environment == j)]]
    )
    expected, leverage = theirs.combination(x)
    z = (here.mean() - expected) / np.sqrt(spread / found.df2 * (1 / here.size - leverage))
    assert (worst["n"], worst["mean"]) == (here.size, pytest.approx(here.mean()))
    assert (worst["expected"], worst["z"]) == pytest.approx((expected, z), abs=1e-9)
    assert np.all(np.diff(np.abs(found.worst["z"])) <= 0)


def test_a_cell_that_nothing_can_check_is_not_among_the_worst():
    arm, environment = list("ABABABABCA"), [1, 1, 2, 2, 1, 1, 2, 2, 3, 3]
    found = Fit.from_arrays(arm, environment, np.random.default_rng(0).normal(size=10)).additivity()
    assert set(found.worst["environment"]) == {1, 2}


def test_two_arms_are_a_student_t_probability():
    arm, environment, reward = log("complete", 2, 5)
    for direction, sign in (("maximize", 1.0), ("minimize", -1.0)):
        ours = Fit.from_arrays(arm, environment, reward, direction=direction, variance="common", prior="flat")
        gap = ours.contrast(1, 0)
        exact = stdtr(gap.degrees_of_freedom, sign * gap.estimate / gap.se)
        assert ours.p_best[1] == pytest.approx(exact, abs=1e-12)
        assert ours.p_best_error < 1e-12


@pytest.mark.parametrize(("arms", "freedom"), [(3, 1), (3, 4), (6, 30), (12, 8)])
def test_chance_of_best_against_plain_monte_carlo(arms, freedom):
    random = np.random.default_rng([arms, freedom])
    A = random.normal(size=(arms, 2 * arms))
    P, mu, sigma, draws = np.linalg.inv(A @ A.T), 0.3 * random.normal(size=arms), 1.4, 200_000
    chance, error = probabilities_of_best(mu, sigma, P, freedom)
    scale = np.sqrt(freedom / random.chisquare(freedom, size=(draws, 1)))
    winner = (mu + sigma * scale * (random.normal(size=(draws, arms)) @ np.linalg.cholesky(P).T)).argmax(
        axis=1
    )
    plain = np.bincount(winner, minlength=arms) / draws
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    # five standard errors for each of up to 12 arms: a false alarm rate below 1e-5 even so
    assert np.all(np.abs(chance - plain) < 5 * np.sqrt(plain * (1 - plain) / draws + error**2) + 1e-5)
    assert error < 1e-3


def test_p_best_is_the_posterior_of_the_contrasts():
    arm, environment, reward = log("incomplete", 4, 25)
    theirs = oracles.dense(arm, environment, reward, 4, 25)
    random, draws = np.random.default_rng(5), 200_000
    contrasts = np.hstack([np.eye(4) - 1 / 4, np.zeros((4, 25))])
    covariance = contrasts @ theirs.covariance @ contrasts.T
    scale = theirs.sigma * np.sqrt(theirs.freedom / random.chisquare(theirs.freedom, size=(draws, 1)))
    noise = random.multivariate_normal(np.zeros(4), covariance, size=draws, method="svd")
    posterior = contrasts @ theirs.beta + scale * noise
    for direction, winner in (("maximize", posterior.argmax(axis=1)), ("minimize", posterior.argmin(axis=1))):
        ours = Fit.from_arrays(arm, environment, reward, direction=direction, variance="common", prior="flat")
        plain = np.bincount(winner, minlength=4) / draws
        assert ours.arms["p_best"] == list(ours.p_best.values())
        assert ours.p_best == pytest.approx(dict(enumerate(plain)), abs=5 * 0.5 / np.sqrt(draws))


def test_chance_of_best_without_noise_is_shared_by_the_tied():
    chance, error = probabilities_of_best(np.array([1.0, 2.0, 2.0]), 0.0, np.eye(3), 5)
    assert (chance.tolist(), error) == ([0.0, 0.5, 0.5], 0.0)


def test_chance_of_best_does_not_depend_on_the_generalised_inverse():
    random = np.random.default_rng(2)
    A = random.normal(size=(5, 8))
    P, mu, level = A @ A.T, random.normal(size=5), random.normal(size=5)
    other = P + level[:, None] + level + 40.0
    assert probabilities_of_best(mu, 1.0, other, 9)[0] == pytest.approx(
        probabilities_of_best(mu, 1.0, P, 9)[0], abs=1e-9
    )


def test_many_arms_stay_cheap():
    arm, environment, reward = log("incomplete", 200, 600)
    ours = Fit.from_arrays(arm, environment, reward, prior="flat")
    assert sum(ours.p_best.values()) == pytest.approx(1.0)
    assert ours.p_best_error < 0.01


def test_intervals_cover_and_those_around_raw_means_do_not():
    """2,000 logs in which arm 1 runs mostly in good environments; the pulls do not look at rewards."""
    random, logs = np.random.default_rng(7), 2000
    environment = np.repeat(np.arange(6), 5)
    arm = np.where(random.random(30) < 0.15 + 0.14 * environment, 1, random.integers(3, size=30))
    shift, truth = np.linspace(-2.0, 2.0, 6), 0.5
    covered = raw_covered = 0
    for _ in range(logs):
        reward = truth * (arm == 1) + shift[environment] + random.normal(size=30)
        ours = Fit.from_arrays(arm, environment, reward, variance="common").contrast(1, 0)
        raw = reward[arm == 1].mean() - reward[arm == 0].mean()
        covered += ours.low <= truth <= ours.high
        raw_covered += abs(raw - truth) <= ours.high - ours.estimate
    assert bdtr(covered, logs, 0.95) > FALSE_ALARM / 2
    assert bdtrc(covered - 1, logs, 0.95) > FALSE_ALARM / 2
    assert bdtr(raw_covered, logs, 0.95) < FALSE_ALARM  # the negative control


observation = st.tuples(
    st.sampled_from("ABCD"), st.integers(0, 4), st.floats(-10, 10).map(lambda x: round(x, 3))
)
logs = st.lists(observation, min_size=4, max_size=40).filter(
    lambda log: len({arm for arm, _, _ in log}) > 1 and not {r for _, _, r in log} <= {0.0, 1.0}
)  # 0/1 rewards are no more that with a constant added, or in another unit


def by_difference(arm, environment, reward):
    return Fit.from_arrays(arm, environment, reward, scale="difference")


def columns(log):
    return [np.array(column) for column in zip(*log, strict=True)]


def contrasts(found, name=None):
    """Return estimate, se and interval of every pair of arms that can be compared."""
    name = name or {arm: arm for arm in found.cells.arms}
    pairs = [pair for group in found.groups for pair in permutations(group, 2)]
    every = {pair: found.contrast(*pair) for pair in pairs}
    return {
        (name[a], name[b]): np.array([c.estimate, c.se, c.low, c.high], dtype=float)
        for (a, b), c in every.items()
    }


def assert_same(left, right, unit=1.0):
    """Limits are found to 1e-6 of a standard error."""
    assert left.keys() == right.keys()
    for pair, values in left.items():
        want = unit * right[pair]
        assert values[:2] == pytest.approx(want[:2], abs=1e-7 * unit, nan_ok=True)
        assert values[2:] == pytest.approx(want[2:], abs=1e-5 * unit, rel=1e-5, nan_ok=True)


@given(logs, st.integers(0, 4), st.floats(-1e3, 1e3))
def test_a_constant_added_to_an_environment_changes_no_contrast(log, lifted, constant):
    arm, environment, reward = columns(log)
    calm = by_difference(arm, environment, reward)
    risen = by_difference(arm, environment, reward + constant * (environment == lifted))
    assert_same(contrasts(risen), contrasts(calm))


@given(logs, st.permutations("ABCD"))
def test_other_labels_only_permute(log, names):
    arm, environment, reward = columns(log)
    name = dict(zip("ABCD", names, strict=True))
    renamed = by_difference([name[a] for a in arm], environment, reward)
    assert_same(contrasts(renamed), contrasts(by_difference(arm, environment, reward), name))


@given(logs, st.floats(0.01, 100))
def test_units_of_the_reward_do_not_matter(log, unit):
    arm, environment, reward = columns(log)
    scaled = by_difference(arm, environment, unit * reward)
    assert_same(contrasts(scaled), contrasts(by_difference(arm, environment, reward)), unit)


@given(logs, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(log, random):
    shuffled = random.sample(log, len(log))
    assert_same(contrasts(by_difference(*columns(shuffled))), contrasts(by_difference(*columns(log))))


@given(logs, st.sampled_from([1e-100, 1e-110, 1e-149, 1e-160, 1e-300]))
def test_tiny_rewards_divide_by_no_underflow(log, unit):
    arm, environment, reward = columns(log)
    assume(len(by_difference(arm, environment, reward).groups) == 1)
    assert by_difference(arm, environment, unit * reward).best in set(arm)


@given(logs)
def test_a_mirror_turns_maximize_into_minimize(log):
    arm, environment, reward = columns(log)
    up = by_difference(arm, environment, reward)
    down = Fit.from_arrays(arm, environment, -reward, direction="minimize", scale="difference")
    assume(len(up.groups) == 1)
    assert down.best == up.best


LOG = {
    "variant": list("AABBABAABBBA"),
    "day": [1, 1, 1, 1, 2, 2, 3, 3, 3, 3, 3, 4],
    "sales": [5.0, 5.2, 5.9, 6.1, 1.0, 2.2, 9.1, 9.0, 10.0, 9.8, 10.3, 7.0],
}
COLUMNS = {"arm": "variant", "environment": "day", "reward": "sales"}


def test_tables():
    found = fit(LOG, **COLUMNS)
    assert found.arms.columns == ["arm", "n", "raw_mean", "mean", "se", "low", "high", "p_best"]
    assert (found.arms["arm"], found.arms["n"]) == (["A", "B"], [6, 6])
    assert found.arms["raw_mean"] == pytest.approx([6.05, 44.3 / 6])
    assert found.shifts.columns == ["environment", "n", "arms", "shift", "se", "low", "high"]
    assert found.shifts["n"] == [4, 2, 5, 1]
    assert found.shifts["arms"] == [2, 2, 2, 1]
    assert np.dot(found.shifts["n"], found.shifts["shift"]) == pytest.approx(0.0, abs=1e-12)
    assert found.best == "B"


def test_repr_leads_with_the_verdict():
    lines = repr(fit(LOG, **COLUMNS)).splitlines()
    assert lines[0].startswith(
        "B is best on average over these 3 environments (95 % confidence): +0.99 over A, the runner-up (95 % confidence interval: +"
    )
    assert lines[0].endswith("); best with probability > 0.999 (exchangeable prior)")
    assert lines[1].split() == ["arm", "n", "raw_mean", "mean", "se", "low", "high", "p_best"]
    assert (
        lines[4]
        == "12 rewards in 4 environments; standard deviation of the noise: 0.17 (7 degrees of freedom)"
    )
    assert "single arm" in lines[5]
    assert lines[5].endswith(": 1")
    assert len(lines) == 6


def test_repr_says_what_was_left_out():
    gaps = {**LOG, "sales": [*LOG["sales"][:-2], None, None]}
    lines = repr(fit(gaps, **COLUMNS, missing="drop", variance="sandwich")).splitlines()
    assert lines[4:] == [
        "10 rewards in 3 environments; standard deviation of the noise: 0.134 (6 degrees of freedom)",
        "standard errors: sandwich",
        "rows skipped because a value was missing: 2",
    ]


def test_verdict_in_the_other_direction():
    found = fit(LOG, **COLUMNS, direction="minimize", confidence=0.9)
    assert found.best == "A"
    assert found.verdict.startswith(
        "A is best on average over these 3 environments (90 % confidence): 0.99 below B, the runner-up (90 % confidence interval: 0.80 to 1.19 below; "
    )
    assert found.p_best["A"] > 0.99


def test_verdict_on_a_close_race():
    found = Fit.from_arrays(list("ABABAB"), [1, 1, 2, 2, 3, 3], [1.0, 1.2, 4.0, 3.9, 7.0, 7.1])
    assert found.verdict.startswith("B leads: +0.067 over A, the runner-up (95 % confidence interval: -")
    assert found.verdict.endswith("), but A cannot be excluded (95 % confidence)")
    assert found.p_best == {"A": None, "B": None}  # it would depend on what is assumed about the arms


def test_after_an_adaptive_run_limits_of_contrasts_are_further_out_and_it_says_so():
    arm, environment, reward = LOG.values()
    found, fixed = (
        Fit.from_arrays(arm, environment, reward, adaptive=adaptive) for adaptive in (True, False)
    )
    assert repr(found).endswith(ADAPTIVE)
    assert ADAPTIVE not in repr(fixed)
    wide, narrow = found.contrast("A", "B"), fixed.contrast("A", "B")
    assert (wide.adaptive, narrow.adaptive) == (True, False)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert wide.p > narrow.p
    assert [row["mean"] for row in found.arms] == [row["mean"] for row in fixed.arms]


def test_any_name_may_stand_in_the_verdict():
    found = Fit.from_arrays(["{}", "%s"] * 2, [1, 1, 2, 2], [0.0, 1.0, 3.0, 5.0])
    assert found.verdict.startswith(
        "%s leads: +1.5 over {}, the runner-up (95 % confidence interval: -5 to +8), but {} "
    )


def test_large_numbers_are_written_out():
    found = Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [0.0, 123456.0, 10.0, 123476.0])
    assert "+123,461 over A" in found.verdict


def test_without_a_degree_of_freedom_only_estimates_are_known():
    found = Fit.from_arrays(["A", "B", "C", "A"], ["x", "x", "y", "y"], [1.0, 3.0, 5.0, 1.5])
    assert (found.degrees_of_freedom, found.sigma, found.p_best_error) == (0, None, None)
    assert found.best == "C"
    contrast = found.contrast("B", "A")
    assert contrast.estimate == pytest.approx(2.0)
    assert (contrast.se, contrast.low, contrast.high, contrast.p, contrast.degrees_of_freedom) == (
        None,
        None,
        None,
        None,
        0,
    )
    for column in ("se", "low", "high", "p_best"):
        assert found.arms[column] == [None] * 3
    assert found.shifts["se"] == [None] * 2
    assert found.p_best == dict.fromkeys("ABC")
    assert "C leads: +1.5 over B, the runner-up; no degrees of freedom are left" in repr(found)
    assert repr(found).endswith(
        "4 rewards in 2 environments; standard deviation of the noise: unknown (no degrees of freedom)"
    )


@pytest.mark.parametrize("scale", ["difference", "ratio", "odds"])
@pytest.mark.parametrize("prior", ["exchangeable", "flat"])
@pytest.mark.parametrize("rewards", [[0, 1], [1, 0], [0, 1, 1]])
def test_0_1_rewards_without_a_degree_of_freedom_have_no_probability(rewards, prior, scale):
    """Although their means say how much they vary."""
    arms = list("ABC"[: len(rewards)])
    found = Fit.from_arrays(arms, ["x"] * len(rewards), rewards, prior=prior, scale=scale)
    assert (found.degrees_of_freedom, found.p_best_error) == (0, None)
    assert found.p_best == dict.fromkeys(arms)
    assert "probability" not in found.verdict


def test_without_noise():
    found = Fit.from_arrays(list("ABC") * 2, [1, 1, 1, 2, 2, 2], [0.0] * 6)
    assert found.sigma == 0.0
    assert found.exact
    assert found.p_best == dict.fromkeys("ABC")  # unknown, as is the noise
    assert found.contrast("A", "B").p == 1.0
    never = Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [0, 2, 0, 2])
    assert never.exact
    assert (never.contrast("A", "B").p, never.p_best) == (None, {"A": None, "B": None})
    sure = Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [0, 2, 0, 2], variance="common")
    assert (sure.contrast("A", "B").p, sure.p_best) == (0.0, {"A": None, "B": None})
    assert "leads: +0" in repr(found)


APART = (
    ["A", "B", "A", "B", "C", "D", "C", "E"],
    [1, 1, 2, 2, 3, 3, 3, 4],
    [1.0, 2.0, 3.0, 4.5, 6.0, 5.0, 6.5, 9.0],
)


def test_arms_that_never_met():
    found = Fit.from_arrays(*APART, prior="flat")
    assert found.groups == [["A", "B"], ["C", "D"], ["E"]]
    message = r"\(A, B\), \(C, D\) and \(E\) have no environment in common; to compare them, collect rewards of B, C and E in the same environment"
    with pytest.raises(NotComparable, match=f"^{message}$"):
        _ = found.best
    with pytest.raises(NotComparable, match=f"^A and D cannot be compared: {message}$"):
        found.contrast("A", "D")
    assert found.contrast("B", "A").estimate == pytest.approx(1.25)
    assert repr(found).startswith("no best arm: (A, B), (C, D) and (E) have")
    assert found.p_best["A"] + found.p_best["B"] == pytest.approx(1.0)
    assert found.p_best["E"] is None
    assert found.arms["mean"][4] == 9.0
    minimal = Fit.from_arrays(*APART, direction="minimize")
    assert minimal.verdict.endswith("rewards of A, D and E in the same environment")


def test_the_pulls_that_are_named_connect():
    arm, environment, reward = APART
    found = Fit.from_arrays([*arm, "B", "C", "E"], environment + [9] * 3, reward + [1.0] * 3)
    assert len(found.groups) == 1


def test_an_arm_nobody_saw_is_a_group_of_its_own():
    c = Fit.from_arrays(list("ABAB"), [1, 1, 2, 2], [1.0, 2.0, 3.0, 5.0]).cells
    found = Fit(Cells([*c.arms, "C"], [*c.environments, 3], c.arm, c.environment, c.n, c.mean, c.squares))
    assert found.groups == [["A", "B"], ["C"]]
    assert found.arms.to_dicts()[2] == {"arm": "C", "n": 0} | dict.fromkeys(found.arms.columns[2:])
    assert found.shifts.to_dicts()[2] == {"environment": 3, "n": 0, "arms": 0} | dict.fromkeys(
        found.shifts.columns[3:]
    )
    with pytest.raises(NotComparable, match="rewards of B and C in the same environment"):
        _ = found.best


def test_unknown_arm():
    with pytest.raises(UnknownName, match="unknown arm 'b'; known: 'A', 'B'"):
        fit(LOG, **COLUMNS).contrast("A", "b")


def test_an_arm_against_itself():
    with pytest.raises(InputError, match="two different arms, not 'A' twice"):
        fit(LOG, **COLUMNS).contrast("A", "A")


def test_direction_and_level():
    with pytest.raises(InputError, match="'maximize' or 'minimize', not 'up'"):
        fit(LOG, **COLUMNS, direction="up")
    with pytest.raises(InputError, match=r"between 0 and 1, such as 0\.95, not 95"):
        fit(LOG, **COLUMNS, confidence=95)
    with pytest.raises(InputError, match="confidence must be a finite number, not '95 %'"):
        fit(LOG, **COLUMNS, confidence="95 %")


def test_additivity_names_at_least_one_cell():
    with pytest.raises(InputError, match="worst must be a whole number of at least 1, not 0"):
        fit(LOG, **COLUMNS).additivity(worst=0)


def test_additivity_that_cannot_be_tested():
    def additivity(arm, environment, reward):
        return Fit.from_arrays(list(arm), environment, reward).additivity()

    with pytest.raises(InputError, match="two rewards of one arm in one environment"):
        additivity("ABAB", [1, 1, 2, 2], [1.0, 2.0, 3.0, 5.0])
    with pytest.raises(InputError, match=r"as many parameters as .*\(4\)"):
        additivity("ABBCA", [1, 1, 2, 2, 1], [1.0, 2.0, 3.0, 5.0, 6.0])
    with pytest.raises(InputError, match="rewards of each arm never vary within an environment"):
        additivity("ABABAB", [1, 1, 2, 2, 1, 1], [1.0, 2.0, 3.0, 5.0, 1.0, 2.0])


def test_importing_is_fast():
    """Neither scipy nor narwhals nor a data frame is loaded before it is needed."""
    code = (
        "import sys, tideproof.analysis; print({'scipy', 'narwhals', 'pandas', 'numba'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
