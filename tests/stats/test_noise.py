"""Variance models against statsmodels, pyfixest and dense formulas; coverage by simulation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.special import bdtr, bdtrc, stdtrit

import oracles
from tideproof.analysis import Fit, fit
from tideproof.errors import InputError
from tideproof.stats.solve.adjusted_means import adjusted_means, environment_shifts, means_and_shifts
from tideproof.stats.solve.least_squares import solve
from tideproof.stats.variance.variance_models import MODELS

FALSE_ALARM = 1e-6  # of every statistical test here, were its seed not fixed
CLOSE = 1e-9  # relative to sigma, which is about 1


def log(arms=4, environments=7, seed=0, by="arm", least=4):
    """Draw a log with repeated, uneven cells and noise that differs by arm or environment."""
    random = np.random.default_rng(seed)
    cells = [(i, j) for i in range(arms) for j in range(environments) if (i + j) % 3 or arms < 3]
    counts = random.integers(least, 3 * least, size=len(cells))
    arm = np.repeat([i for i, _ in cells], counts)
    environment = np.repeat([j for _, j in cells], counts)
    sd = 0.5 + (arm if by == "arm" else environment % 4)
    return arm, environment, 10.0 * environment + arm * 0.3 + sd * random.normal(size=arm.size)


def ols(arm, environment, reward, **options):
    import statsmodels.api as sm

    X = oracles.dummies(arm, environment, arm.max() + 1, environment.max() + 1)[:, 1:]
    return sm.OLS(reward, X).fit(method="qr", **options), X


@pytest.mark.parametrize("by", ["arm", "environment"])
def test_robust_is_hc3_of_statsmodels(by):
    arm, environment, reward = log(by=by)
    theirs, _ = ols(arm, environment, reward, cov_type="HC3")
    ours = Fit.from_arrays(arm, environment, reward, variance="sandwich")
    for i in range(1, 4):
        gap = ours.contrast(i, 0)
        assert gap.estimate == pytest.approx(theirs.params[i - 1], abs=CLOSE)
        assert gap.se == pytest.approx(theirs.bse[i - 1], abs=CLOSE)
    arms, environments = 4, 7
    for i in range(arms):
        c = oracles.adjusted_mean(arm, environment, arms, environments, i)[1:]
        row = ours.arms.to_dicts()[i]
        assert row["mean"] == pytest.approx(c @ theirs.params, abs=CLOSE)
        assert row["se"] == pytest.approx(np.sqrt(c @ theirs.cov_params() @ c), abs=CLOSE)
    for j in range(environments):
        c = oracles.relative_shift(arm, environment, arms, environments, j)[1:]
        row = next(row for row in ours.shifts if row["environment"] == j)
        assert row["shift"] == pytest.approx(c @ theirs.params, abs=CLOSE)
        assert row["se"] == pytest.approx(np.sqrt(c @ theirs.cov_params() @ c), abs=CLOSE)


@pytest.mark.filterwarnings("ignore")  # pyfixest's own
def test_clustered_is_crv1_of_pyfixest():
    import pyfixest

    arm, environment, reward = log(environments=12)
    frame = pd.DataFrame({"arm": arm, "environment": environment, "reward": reward})
    theirs = pyfixest.feols(
        "reward ~ C(arm) | environment", frame, vcov={"CRV1": "environment"}, fixef_tol=1e-13
    )
    ours = fit(frame, arm="arm", environment="environment", reward="reward", variance="clustered")
    for i in range(1, 4):
        gap = ours.contrast(i, 0)
        name = f"C(arm)[T.{i}]"
        assert gap.se == pytest.approx(theirs.se()[name], abs=CLOSE)
        assert gap.p == pytest.approx(theirs.pvalue()[name], abs=CLOSE)
        low, high = theirs.confint().loc[name]
        assert (gap.low, gap.high) == pytest.approx((low, high), abs=1e-8)


def weights_of(arm, environment, reward, by):
    """Return the variance inside cells of each arm or environment and its degrees of freedom."""
    part = arm if by == "by-arm" else environment
    squares, freedom = np.zeros(part.max() + 1), np.zeros(part.max() + 1)
    for i in np.unique(arm):
        for j in np.unique(environment):
            mine = (arm == i) & (environment == j)
            if mine.any():
                p = i if by == "by-arm" else j
                squares[p] += ((reward[mine] - reward[mine].mean()) ** 2).sum()
                freedom[p] += mine.sum() - 1
    return part, squares / freedom, freedom


@pytest.mark.parametrize("by", ["by-arm", "by-environment"])
def test_weighted_estimates_are_those_of_statsmodels(by):
    import statsmodels.api as sm

    arm, environment, reward = log(by=by[3:])
    part, s2, _ = weights_of(arm, environment, reward, by)
    X = oracles.dummies(arm, environment, 4, 7)[:, 1:]
    theirs = sm.WLS(reward, X, 1.0 / s2[part]).fit(method="qr", cov_type="fixed scale")
    ours = Fit.from_arrays(arm, environment, reward, variance=by)
    for i in range(1, 4):
        assert ours.contrast(i, 0).estimate == pytest.approx(theirs.params[i - 1], abs=CLOSE)
    for i in range(4):
        c = oracles.adjusted_mean(arm, environment, 4, 7, i)[1:]
        assert ours.arms["mean"][i] == pytest.approx(c @ theirs.params, abs=CLOSE)
    for j in range(7):
        c = oracles.relative_shift(arm, environment, 4, 7, j)[1:]
        row = next(row for row in ours.shifts if row["environment"] == j)
        assert row["shift"] == pytest.approx(c @ theirs.params, abs=CLOSE)


def given_up(kept):
    """Return a log in which arms 2 and 3 have so many rewards, where they have more."""
    arm, environment, reward = log()
    seen = np.array([np.count_nonzero(arm[:row] == arm[row]) for row in range(arm.size)])
    wanted = (arm < 2) | (seen < np.array([0, 0, *kept])[arm])
    return arm[wanted], environment[wanted], reward[wanted]


@pytest.mark.parametrize(("kept", "together"), [((5, 5), [2, 3]), ((200, 4), [1, 3]), ((200, 200), [3])])
def test_after_a_policy_arms_with_few_rewards_are_taken_together(kept, together):
    """If they are too few even so, with the arm that has fewest of the others."""
    import statsmodels.api as sm

    arm, environment, reward = given_up(kept)
    part, s2, freedom = weights_of(arm, environment, reward, "by-arm")
    assert all(freedom[i] < 5 for i in (2, 3) if kept[i - 2] < 200)
    s2[together] = (s2 * freedom)[together].sum() / freedom[together].sum()
    _, place = np.unique(environment, return_inverse=True)
    X = oracles.dummies(arm, place, 4, place.max() + 1)[:, 1:]
    theirs = sm.WLS(reward, X, 1.0 / s2[part]).fit(method="qr", cov_type="fixed scale")
    ours = Fit.from_arrays(arm, environment, reward, variance="by-arm", adaptive=True)
    for i in range(1, 4):
        assert ours.contrast(i, 0).estimate == pytest.approx(theirs.params[i - 1], abs=CLOSE)
    assert ours.additivity().p is not None
    assert ours.gaps(0, 1)["se"]
    mixed = Fit.from_arrays(arm, environment, reward, variance="interaction+by-arm", adaptive=True)
    assert mixed.interaction is not None
    if len(together) == 1:
        assert Fit.from_arrays(arm, environment, reward, variance="by-arm").best == ours.best
        return
    with pytest.raises(InputError, match="at least 5 degrees of freedom"):
        Fit.from_arrays(arm, environment, reward, variance="by-arm")


@pytest.mark.parametrize("by", ["by-arm", "by-environment"])
def test_weighted_errors_are_kenward_and_rogers_in_dense_matrices(by):
    arm, environment, reward = log(by=by[3:])
    part, s2, freedom = weights_of(arm, environment, reward, by)
    X = oracles.dummies(arm, environment, 4, 7)[:, 1:]
    inverse = np.diag(1.0 / s2[part])
    Phi = np.linalg.inv(X.T @ inverse @ X)
    total, spent = np.zeros_like(Phi), {}
    pairs = list(combinations(range(3), 2))  # parameters of arms 1, 2, 3
    for p in range(s2.size):
        dV = np.diag((part == p).astype(float))
        # Kenward and Roger (1997), section 2: P_p, Q_pp and Var(s2_p) = 2 s2_p^2 / freedom_p
        first = -X.T @ inverse @ dV @ inverse @ X
        second = X.T @ inverse @ dV @ inverse @ dV @ inverse @ X
        W = 2.0 * s2[p] ** 2 / freedom[p]
        total += W * (second - first @ Phi @ first)
        for a, b in pairs:
            c = np.eye(len(Phi))[a] - np.eye(len(Phi))[b]
            spent[a, b] = spent.get((a, b), 0.0) + W * (c @ Phi @ first @ Phi @ c) ** 2
    adjusted_Phi = Phi + 2.0 * Phi @ total @ Phi
    ours = Fit.from_arrays(arm, environment, reward, variance=by)
    for a, b in pairs:
        c = np.eye(len(Phi))[a] - np.eye(len(Phi))[b]
        gap = ours.contrast(a + 1, b + 1)
        assert gap.se == pytest.approx(np.sqrt(c @ adjusted_Phi @ c), abs=CLOSE)
        assert gap.degrees_of_freedom == pytest.approx(2.0 * (c @ Phi @ c) ** 2 / spent[a, b], rel=1e-8)

    # an adjusted mean: its level as if weights were known, its contrast with the others as above
    C = np.zeros((4, 4))
    C[1:, 1:] = adjusted_Phi[:3, :3]
    w = 1.0 / s2[part]
    W = np.bincount(environment, w)
    b = np.array([np.bincount(arm[environment == j], w[environment == j], 4) for j in range(7)]) / W[:, None]
    t = np.bincount(environment) / environment.size
    for i, row in enumerate(ours.arms):
        c = np.eye(4)[i] - t @ b
        se = np.sqrt(np.sum(t**2 / W) + c @ C @ c)
        assert row["se"] == pytest.approx(se, abs=CLOSE)
        inside = environment.size - len(set(zip(arm.tolist(), environment.tolist(), strict=True)))
        assert row["high"] - row["mean"] == pytest.approx(stdtrit(inside, 0.975) * se, abs=1e-8)
    for row in ours.shifts:
        j = row["environment"]
        h = b[j] - t @ b
        variance = 1 / W[j] - 2 * t[j] / W[j] + np.sum(t**2 / W) + h @ C @ h
        assert row["se"] == pytest.approx(np.sqrt(variance), abs=CLOSE)


def test_the_general_means_and_shifts_are_the_common_ones_when_noise_is():
    for kind in oracles.DESIGNS:
        random = np.random.default_rng(2)
        arm, environment = oracles.design(kind, 5, 12, random)
        c = Fit.from_arrays(arm, environment, oracles.rewards(arm, environment, random)).cells
        s = solve(c)
        found = means_and_shifts(s, s.P, c, 1.0 / c.n)
        want = [*adjusted_means(s, c), *environment_shifts(s, c)]
        for ours, theirs in zip(found[:4], want, strict=True):
            assert ours == pytest.approx(theirs, abs=1e-9)


def within_bounds(covered, logs, level):
    """Check a coverage against its exact binomial bounds."""
    assert bdtr(covered, logs, level) > FALSE_ALARM / 2
    assert bdtrc(covered - 1, logs, level) > FALSE_ALARM / 2


@pytest.mark.parametrize(
    ("variance", "by"),
    [("common", None), ("by-arm", "arm"), ("by-environment", "environment"), ("sandwich", "arm"),
     ("sandwich", "environment")],
)  # fmt: skip
def test_intervals_cover_under_unequal_noise(variance, by):
    """1,500 logs of 3 arms in 6 environments; cells of 6 to 20 rewards; noise up to five times as large."""
    random, logs = np.random.default_rng(11), 1500
    cells = [(i, j) for i in range(3) for j in range(6) if (i + j) % 4]
    counts = random.integers(6, 20, size=len(cells))
    arm, environment = (np.repeat([cell[k] for cell in cells], counts) for k in (0, 1))
    sd = {None: np.ones(arm.size), "arm": 0.5 + arm, "environment": 0.5 + environment % 3}[by]
    covered = 0
    for _ in range(logs):
        reward = 0.7 * arm + 5.0 * environment + sd * random.normal(size=arm.size)
        gap = Fit.from_arrays(arm, environment, reward, variance=variance).contrast(2, 0)
        covered += gap.low <= 1.4 <= gap.high
    within_bounds(covered, logs, 0.95)


def test_common_standard_errors_fail_under_unequal_noise():
    """The negative control: the arm seen least varies most."""
    random, logs = np.random.default_rng(12), 600
    arm = np.repeat([0, 1, 0, 1], [60, 6, 60, 6])
    environment = np.repeat([0, 0, 1, 1], [60, 6, 60, 6])
    covered = {"common": 0, "sandwich": 0, "by-arm": 0}
    for _ in range(logs):
        reward = np.where(arm == 1, 4.0, 0.5) * random.normal(size=arm.size) + 3.0 * environment
        for variance in covered:
            gap = Fit.from_arrays(arm, environment, reward, variance=variance).contrast(1, 0)
            covered[variance] += gap.low <= 0.0 <= gap.high
    assert bdtr(covered["common"], logs, 0.95) < FALSE_ALARM
    within_bounds(covered["by-arm"], logs, 0.95)
    assert (
        bdtr(covered["sandwich"], logs, 0.92) > FALSE_ALARM
    )  # twelve rewards: HC3 is a little short of them


def test_clustered_covers_where_shifts_differ_between_arms_and_common_does_not():
    random, logs = np.random.default_rng(13), 500
    arm, environment = np.tile(np.repeat(np.arange(3), 8), 15), np.repeat(np.arange(15), 24)
    covered = {"common": 0, "clustered": 0}
    for _ in range(logs):
        own = random.normal(size=(3, 15))
        reward = own[arm, environment] + random.normal(size=arm.size)
        for variance in covered:
            gap = Fit.from_arrays(arm, environment, reward, variance=variance).contrast(1, 0)
            covered[variance] += gap.low <= 0.0 <= gap.high
    assert bdtr(covered["common"], logs, 0.95) < FALSE_ALARM
    within_bounds(covered["clustered"], logs, 0.95)


def test_what_a_model_cannot_do():
    with pytest.raises(InputError, match=r"variance must be one of 'auto', 'common', .* not 'equal'"):
        Fit.from_arrays(*log(), variance="equal")
    with pytest.raises(InputError, match="at least 1 residual degree of freedom"):
        Fit.from_arrays(list("AB"), [1, 1], [0.0, 1.0], variance="sandwich")
    few = (list("AABB") * 2, [1] * 4 + [2] * 4, np.arange(8.0) ** 2)
    with pytest.raises(
        InputError, match=r"at least 5 degrees of freedom .*; A has 2; use variance='sandwich'"
    ):
        Fit.from_arrays(*few, variance="by-arm")
    still = (list("AB") * 20, [1] * 20 + [2] * 20, [0.0, 1.0] * 10 + [0.0, 2.0] * 10)
    with pytest.raises(InputError, match="cannot estimate the variance of A"):
        Fit.from_arrays(*still, variance="by-arm")
    single = (list("AABBC"), [1] * 5, [0.0, 1.0, 2.0, 3.0, 4.0])
    with pytest.raises(InputError, match="variance of C in 1"):
        Fit.from_arrays(*single, variance="sandwich")
    with pytest.raises(InputError, match="at least two environments"):
        Fit.from_arrays(list("AABB"), [1] * 4, [0.0, 1.0, 2.0, 3.0], variance="clustered")


def test_environments_with_one_arm_do_no_harm():
    arm, environment, reward = log()
    more = np.append(arm, [1, 1, 2]), np.append(environment, [90, 90, 91]), np.append(reward, [3.0, 5.0, 1.0])
    for variance in ("by-arm", "by-environment", "sandwich", "clustered"):
        extended = Fit.from_arrays(*more, variance=variance)
        assert np.all(np.isfinite(list(extended.arms["se"])))
        assert f"standard errors: {variance}" in repr(extended)


def with_single_arms(arm, environment, reward, times):
    """Add environments with one arm each, as many as rewards in it: 1, 2, ... `times`; and an arm alone."""
    n = np.arange(1, times + 1)
    lonely = np.repeat(np.append(np.arange(times - 1) % 3, 99), n)
    where = np.repeat(1000 + n, n)
    drawn = np.random.default_rng(3).normal(50.0, 9.0, size=where.size)
    return np.append(arm, lonely), np.append(environment, where), np.append(reward, drawn)


@pytest.mark.parametrize("variance", ["sandwich", "clustered", "by-environment"])
def test_environments_with_one_arm_change_no_contrast(variance):
    """Neither clusters nor rewards nor degrees of freedom: nothing is compared there.

    Not so "common" and "by-arm": how rewards vary there does tell how they vary elsewhere.
    """
    arm, environment, reward = log(by="environment")
    base = Fit.from_arrays(arm, environment, reward, variance=variance)
    more = Fit.from_arrays(*with_single_arms(arm, environment, reward, 40), variance=variance)
    assert more.uninformative == 40
    for i, k in combinations(range(4), 2):
        mine, theirs = more.contrast(i, k), base.contrast(i, k)
        if variance != "by-environment":
            assert mine.degrees_of_freedom == theirs.degrees_of_freedom  # whole numbers
        for name in ("estimate", "se", "low", "high", "p", "degrees_of_freedom"):
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name), rel=1e-9), name
    rows = {row["arm"]: row for row in base.comparisons}
    for row in more.comparisons:
        if row["arm"] != 99:
            assert row["low"] == pytest.approx(rows[row["arm"]]["low"], rel=1e-9)
            assert row["candidate"] == rows[row["arm"]]["candidate"]


@pytest.mark.parametrize("variance", ["sandwich", "clustered"])
def test_groups_that_never_met_have_each_its_own_freedom(variance):
    """What is known of two unconnected halves is what each would say alone."""
    arm, environment, reward = log(by="environment")
    other = log(arms=3, environments=11, seed=4, by="environment")
    both = [
        np.append(mine, theirs)
        for mine, theirs in zip((arm + 10, environment + 20, reward), other, strict=True)
    ]
    found = Fit.from_arrays(*both, variance=variance)
    for data, first, arms in (((arm, environment, reward), 10, 4), (other, 0, 3)):
        alone = Fit.from_arrays(*data, variance=variance)
        for i, k in combinations(range(arms), 2):
            mine, theirs = found.contrast(first + i, first + k), alone.contrast(i, k)
            assert mine.degrees_of_freedom == theirs.degrees_of_freedom
            assert (mine.se, mine.low, mine.p) == pytest.approx((theirs.se, theirs.low, theirs.p), rel=1e-9)
        for row, want in zip(
            [r for r in found.arms if r["arm"] // 10 == first // 10], alone.arms, strict=True
        ):
            assert (row["mean"], row["low"]) == pytest.approx((want["mean"], want["low"]), rel=1e-9) or (
                variance == "clustered"  # the noise inside cells is taken to be the same in both halves
            )


def test_clustered_needs_two_environments_that_compare():
    arm, environment = list("AABBAB"), [1, 1, 1, 1, 2, 3]
    with pytest.raises(
        InputError,
        match=r"two environments with two arms or more; .* arms A and B has only 1 ",
    ):
        Fit.from_arrays(arm, environment, [0.0, 1.0, 2.0, 4.0, 5.0, 6.0], variance="clustered")


def test_clustered_covers_where_most_environments_have_a_single_arm():
    """Six environments that compare among 200 that do not; shifts differ between arms.

    With all of them counted as clusters 95 % intervals cover 87 to 89 %.
    """
    random, logs = np.random.default_rng(17), 1200
    arm = np.append(np.tile(np.repeat(np.arange(3), 6), 6), np.arange(200) % 3)
    environment = np.append(np.repeat(np.arange(6), 18), 6 + np.arange(200))
    covered = 0
    for _ in range(logs):
        own = random.normal(size=(3, 206))
        reward = own[arm, environment] + random.normal(size=arm.size)
        gap = Fit.from_arrays(arm, environment, reward, variance="clustered").contrast(1, 0)
        covered += gap.low <= 0.0 <= gap.high
    within_bounds(covered, logs, 0.95)  # balanced: t is exact but for (N - 1)/(N - K) = 1.02


def test_an_arm_alone_is_known_by_its_own_rewards():
    """Z met no other arm: four rewards of its own, in an environment of its own; Y has a single one."""
    arm, environment, reward = log()
    own = np.array([1.0, 2.0, 4.0, 9.0])
    more = (
        np.append(arm, [9] * 4 + [8]),
        np.append(environment, [77] * 4 + [78]),
        np.append(reward, [*own, 5.0]),
    )
    for variance in ("common", "sandwich", "clustered"):
        found = Fit.from_arrays(*more, variance=variance, confidence=0.8)
        rows = {row["arm"]: row for row in found.arms}
        se = {
            "common": found.sigma / 2,
            "clustered": found.sigma / 2,
            "sandwich": np.sqrt(((own - own.mean()) ** 2).sum()) / 0.75 / 4,
        }[variance]
        reach = stdtrit(found.degrees_of_freedom, 0.9)
        assert (rows[9]["mean"], rows[9]["se"]) == pytest.approx((4.0, se))
        assert (rows[9]["low"], rows[9]["high"]) == pytest.approx((4.0 - reach * se, 4.0 + reach * se))
        assert (rows[8]["mean"], rows[8]["se"]) == pytest.approx((5.0, found.sigma))
        assert found.degrees_of_freedom == reward.size + 5 - 4 - 7 + 1 - 2


def test_standard_errors_of_clustered_means_in_a_balanced_log():
    """Var(muhat_i - mean of all) from the spread between environments; the level from the noise inside."""
    random = np.random.default_rng(8)
    arm, environment = np.tile(np.repeat(np.arange(3), 4), 6), np.repeat(np.arange(6), 12)
    reward = random.normal(size=72) + random.normal(size=(3, 6))[arm, environment]
    found = Fit.from_arrays(arm, environment, reward, variance="clustered")
    cells = np.array([[reward[(arm == i) & (environment == j)].mean() for i in range(3)] for j in range(6)])
    own = cells - cells.mean(axis=1, keepdims=True)
    between = (own - own.mean(axis=0)).var(axis=0, ddof=1) / 6 * (72 - 1) / (72 - 3)
    for i, row in enumerate(found.arms):
        assert row["mean"] == pytest.approx(cells[:, i].mean())
        assert row["se"] == pytest.approx(np.sqrt(between[i] + found.sigma**2 / 72))


def test_pools_that_know_nothing_take_what_all_know():
    """An environment with a single arm needs no variance of its own; it gets that inside all cells."""
    arm = np.repeat(list("ABABA"), [4, 3, 5, 4, 1])
    environment = np.repeat([1, 1, 2, 2, 3], [4, 3, 5, 4, 1])
    c = Fit.from_arrays(arm, environment, np.random.default_rng(1).normal(size=17)).cells
    found = MODELS["by-environment"].pools(c)
    assert found.of.tolist() == c.environment.tolist()
    assert found.freedom.tolist() == [5.0, 7.0, 12.0]  # five are enough
    assert found.variance == pytest.approx(
        [c.squares[:2].sum() / 5, c.squares[2:4].sum() / 7, c.squares.sum() / 12]
    )
    still = Fit.from_arrays([*arm, "A"], [*environment, 3], [*np.arange(16.0) ** 2, 5.0, 5.0]).cells
    assert MODELS["by-environment"].pools(still).variance[2] == pytest.approx(still.squares.sum() / 13)
    with pytest.raises(
        InputError, match=r"at least 5 degrees of freedom .*; 1 has 4; use variance='sandwich'"
    ):
        Fit.from_arrays(arm[1:], environment[1:], np.arange(16.0) ** 2, variance="by-environment")
