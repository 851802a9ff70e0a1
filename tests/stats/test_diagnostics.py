"""Diagnostics against refits, statsmodels and scipy.stats; sizes by simulation; published data."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc, polygamma, psi

import oracles
from tideproof.analysis import Fit
from tideproof.errors import InputError, NotComparable

FALSE_ALARM = 1e-6  # of every statistical test here, were its seed not fixed


def log(kind, arms, environments, seed=0):
    random = np.random.default_rng([seed, arms, environments])
    arm, environment = oracles.design(kind, arms, environments, random)
    return arm, environment, oracles.rewards(arm, environment, random)


@pytest.mark.parametrize("kind", ["complete", "incomplete", "lopsided"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_leaving_an_environment_out_is_a_refit(kind, direction):
    arm, environment, reward = log(kind, 5, 12)
    found = Fit.from_arrays(arm, environment, reward, direction=direction)
    assert len(found.groups) == 1
    sign = 1.0 if direction == "maximize" else -1.0
    rows = found.influence()
    assert len(rows) == 12 - found.uninformative
    for row in rows:
        kept = environment != row["environment"]
        again = Fit.from_arrays(arm[kept], environment[kept], reward[kept], direction=direction)
        assert row["n"] == np.count_nonzero(~kept)
        if len(again.groups) > 1 or set(again.cells.arms) != set(found.cells.arms):
            assert (row["best"], row["lead"], row["change"]) == (None, None, None)
            continue
        assert row["best"] == again.best
        others = [a for a in found.cells.arms if a != found.best]
        lead = min(sign * again.contrast(found.best, a).estimate for a in others)
        now = min(sign * found.contrast(found.best, a).estimate for a in others)
        assert row["lead"] == pytest.approx(lead, abs=1e-9)
        assert row["change"] == pytest.approx(lead - now, abs=1e-9)
    changes = [abs(c) for c in rows["change"] if c is not None]
    known = [c is not None for c in rows["change"]]
    assert changes == sorted(changes, reverse=True)
    assert known == sorted(known)  # those that hold the arms together come first


def test_an_environment_that_holds_the_arms_together():
    arm, environment = list("ABABBC"), [1, 1, 2, 2, 3, 3]
    rows = {
        row["environment"]: row for row in Fit.from_arrays(arm, environment, [1, 2, 3, 5, 2, 4.0]).influence()
    }
    assert rows[3]["best"] is None
    assert rows[1]["best"] == "C"
    with pytest.raises(NotComparable):
        Fit.from_arrays(list("ABC"), [1, 1, 2], [1.0, 2.0, 3.0]).influence()


def test_what_holds_the_arms_together_comes_first_and_single_arms_are_left_out():
    """C was seen in one environment only, with A and B; the second environment has a single arm."""
    random = np.random.default_rng(3)
    arm = [*"AABB", *"BBB", *"AABBCC", *"AAABB", *"ABA"]
    environment = ["a"] * 4 + ["b"] * 3 + ["c"] * 6 + ["d"] * 5 + ["e"] * 3
    found = Fit.from_arrays(arm, environment, random.normal(size=21)).influence()
    assert found["environment"][0] == "c"
    assert sorted(found["environment"]) == ["a", "c", "d", "e"]
    assert found.to_dicts()[0] == {"environment": "c", "n": 6, "best": None, "lead": None, "change": None}
    assert None not in found["best"][1:]


def spread_log(seed, sd_arm=(1, 1, 1), sd_environment=(1, 1, 1, 1), noise="normal"):
    random = np.random.default_rng(seed)
    cells = [(i, j) for i in range(3) for j in range(4) for _ in range(8)]
    arm, environment = (np.array([cell[k] for cell in cells]) for k in (0, 1))
    draw = random.normal(size=arm.size) if noise == "normal" else random.standard_t(5, size=arm.size)
    return arm, environment, np.array(sd_arm)[arm] * np.array(sd_environment)[environment] * draw


def test_spread_is_an_analysis_of_variance_of_log_variances_by_statsmodels():
    import statsmodels.api as sm

    arm, environment, reward = spread_log(1, sd_arm=(1, 2, 1))
    kept = ~((arm == 2) & (environment == 3)) & (np.arange(arm.size) % 8 >= (3 * arm + environment) % 5)
    arm, environment, reward = arm[kept], environment[kept], reward[kept]
    pairs = sorted(set(zip(arm.tolist(), environment.tolist(), strict=True)))
    y, w = [], []
    for i, j in pairs:
        mine = reward[(arm == i) & (environment == j)]
        half = (mine.size - 1) / 2
        y.append(np.log(mine.var(ddof=1)) - psi(half) + np.log(half))
        w.append(1 / polygamma(1, half))
    i, j = np.array(pairs).T
    full = sm.WLS(y, oracles.dummies(i, j, 3, 4)[:, 1:], w).fit()
    no_arms, no_environments = sm.WLS(y, np.eye(4)[j], w).fit(), sm.WLS(y, np.eye(3)[i], w).fit()
    found = Fit.from_arrays(arm, environment, reward).spread()
    assert (found.F_arm, found.p_arm, found.df_arm) == pytest.approx(full.compare_f_test(no_arms), rel=1e-8)
    assert (found.F_environment, found.p_environment, found.df_environment) == pytest.approx(
        full.compare_f_test(no_environments), rel=1e-8
    )
    assert found.df == full.df_resid
    for name, label, table in (("arm", arm, found.arms), ("environment", environment, found.environments)):
        for row in table:
            cells = [
                reward[(arm == i) & (environment == j)]
                for i, j in pairs
                if row[name] == (i, j)[name != "arm"]
            ]
            freedom = sum(x.size - 1 for x in cells)
            assert row["degrees_of_freedom"] == freedom == np.sum(label == row[name]) - len(cells)
            assert row["sd"] == pytest.approx(
                np.sqrt(sum(((x - x.mean()) ** 2).sum() for x in cells) / freedom)
            )


def test_the_least_that_spread_can_be_tested_with():
    """Two arms, three rewards each, in two environments; cells that do not vary, or of two rewards, say nothing."""
    random = np.random.default_rng(5)
    arm, environment = np.tile(np.repeat(list("AB"), 3), 2), np.repeat([1, 2], 6)
    reward = random.normal(size=12)
    least = Fit.from_arrays(arm, environment, reward).spread()
    assert (least.df, least.df_arm, least.df_environment) == (1, 1, 1)
    more = [*arm, "C", "C", "C", "C", "C"], [*environment, 1, 1, 1, 2, 2], [*reward, 4.0, 4.0, 4.0, 1.0, 2.0]
    same = Fit.from_arrays(*more).spread()
    assert (same.df, same.F_arm, same.p_arm, same.F_environment) == (
        least.df, pytest.approx(least.F_arm), pytest.approx(least.p_arm), pytest.approx(least.F_environment),
    )  # fmt: skip
    with pytest.raises(InputError, match="unequal variances cannot be tested"):
        Fit.from_arrays(arm[:-1], environment[:-1], reward[:-1]).spread()
    with pytest.raises(InputError, match="unequal variances cannot be tested"):
        Fit.from_arrays(arm, environment, np.tile([0.0, 1.0, 2.0], 4)).spread()


def test_one_environment_for_each_arm_of_a_group_leaves_environments_untested():
    """Four arms in two environments, each environment with its own pair: nothing links the environments."""
    random = np.random.default_rng(6)
    arm = np.repeat(list("ABCDAB"), 4)
    environment = np.repeat([1, 1, 2, 2, 3, 3], 4)
    found = Fit.from_arrays(arm, environment, random.normal(size=24)).spread()
    assert (found.df, found.df_arm, found.df_environment) == (6 - 3 - 2, 2, 1)


@pytest.mark.parametrize("noise", ["normal", "heavy"])
def test_spread_keeps_its_size_also_with_heavy_tails(noise):
    logs, level = 1500, 0.05
    found = [Fit.from_arrays(*spread_log([2, k], noise=noise)).spread() for k in range(logs)]
    for rejected in (sum(f.p_arm < level for f in found), sum(f.p_environment < level for f in found)):
        # the F distribution is an approximation here: one percentage point either way
        assert bdtr(rejected, logs, level - 0.01) > FALSE_ALARM / 2
        assert bdtrc(rejected - 1, logs, level + 0.01) > FALSE_ALARM / 2


def test_spread_finds_what_is_there():
    assert Fit.from_arrays(*spread_log(3, sd_arm=(1, 3, 1))).spread().p_arm < 1e-3
    assert Fit.from_arrays(*spread_log(3, sd_environment=(1, 1, 6, 1))).spread().p_environment < 1e-3
    with pytest.raises(InputError, match="unequal variances cannot be tested"):
        Fit.from_arrays(list("AB") * 4, [1] * 8, np.arange(8.0)).spread()


@pytest.mark.no_cover
def test_additivity_keeps_its_size():
    """Common noise: exactly. Cells of 3 to 6 rewards, an incomplete design."""
    logs, level, rejected = 2000, 0.05, 0
    random = np.random.default_rng(21)
    cells = [(i, j) for i in range(4) for j in range(6) if (i + j) % 3]
    counts = random.integers(3, 7, size=len(cells))
    arm, environment = (np.repeat([cell[k] for cell in cells], counts) for k in (0, 1))
    for _ in range(logs):
        reward = arm + 9.0 * environment + random.normal(size=arm.size)
        rejected += Fit.from_arrays(arm, environment, reward).additivity().p < level
    assert bdtr(rejected, logs, level) > FALSE_ALARM / 2
    assert bdtrc(rejected - 1, logs, level) > FALSE_ALARM / 2


@pytest.mark.no_cover
@pytest.mark.parametrize("by", ["arm", "environment"])
def test_additivity_keeps_its_size_under_unequal_noise_and_the_common_test_does_not(by):
    """Cells of 4 to 9 rewards."""
    logs, level, rejected, common = 1000, 0.05, 0, 0
    random = np.random.default_rng(22)
    cells = [(i, j) for i in range(4) for j in range(6) if (i + j) % 3]
    counts = random.integers(4, 10, size=len(cells))
    arm, environment = (np.repeat([cell[k] for cell in cells], counts) for k in (0, 1))
    if by == "arm":  # the negative control needs the noisy ones to be rare
        kept = (arm != 3) | (np.arange(arm.size) % 2 == 0)
        arm, environment = arm[kept], environment[kept]
    sd = np.where(arm == 3, 6.0, 1.0) if by == "arm" else 1.0 + 2.0 * (environment % 3)
    for _ in range(logs):
        reward = arm + 9.0 * environment + sd * random.normal(size=arm.size)
        rejected += Fit.from_arrays(arm, environment, reward, variance=f"by-{by}").additivity().p < level
        common += Fit.from_arrays(arm, environment, reward).additivity().p < level
    assert bdtr(rejected, logs, level) > FALSE_ALARM / 2
    assert bdtrc(rejected - 1, logs, level) > FALSE_ALARM / 2
    if by == "arm":
        assert bdtrc(common - 1, logs, level) < FALSE_ALARM


@pytest.mark.no_cover
def test_additivity_keeps_its_size_where_few_variances_serve_many_cells():
    """Three arms on twenty days, three rewards each; the test before this one rejected one log in 1,500."""
    logs, level, rejected = 1000, 0.05, 0
    random = np.random.default_rng(23)
    arm, day = np.tile(np.repeat(np.arange(3), 3), 20), np.repeat(np.arange(20), 9)
    for _ in range(logs):
        reward = np.array([1.0, 3.0, 0.5])[arm] * random.normal(size=arm.size)
        rejected += Fit.from_arrays(arm, day, reward, variance="by-arm").additivity().p < level
    # the F distribution is an approximation here: one percentage point either way
    assert bdtr(rejected, logs, level - 0.01) > FALSE_ALARM / 2
    assert bdtrc(rejected - 1, logs, level + 0.01) > FALSE_ALARM / 2


@pytest.mark.parametrize("by", ["by-arm", "by-environment"])
def test_weighted_additivity_against_dense_matrices(by):
    random = np.random.default_rng(31)
    cells = [(i, j) for i in range(4) for j in range(6) if (i + j) % 3]
    counts = random.integers(4, 10, size=len(cells))
    arm, environment = (np.repeat([cell[k] for cell in cells], counts) for k in (0, 1))
    reward = random.normal(size=arm.size) * (1.0 + arm)
    mean, n, part = [], [], []
    squares, freedom = np.zeros(6), np.zeros(6)
    for i, j in cells:
        mine = reward[(arm == i) & (environment == j)]
        p = i if by == "by-arm" else j
        mean.append(mine.mean())
        n.append(mine.size)
        part.append(p)
        squares[p] += ((mine - mine.mean()) ** 2).sum()
        freedom[p] += mine.size - 1
    s2 = squares / np.maximum(freedom, 1)
    V = np.diag(s2[part] / np.array(n))
    X = oracles.dummies(*np.array(cells).T, arms=4, environments=6)
    R = np.linalg.svd(X)[0][:, np.linalg.matrix_rank(X) :].T  # interactions: RX = 0
    middle = np.linalg.inv(R @ V @ R.T)
    T = R @ np.array(mean) @ middle @ R @ np.array(mean)
    Q = V @ R.T @ middle @ R
    square, trace = 0.0, 0.0
    for p in range(4 if by == "by-arm" else 6):
        E = np.diag((np.array(part) == p).astype(float))
        square += 2 * np.trace(Q @ E @ Q @ E) / freedom[p]
        trace += 2 * np.trace(Q @ E) ** 2 / freedom[p]
    df = len(R)
    found = Fit.from_arrays(arm, environment, reward, variance=by).additivity()
    assert found.df1 == df
    assert pytest.approx(T / (df + square - (trace + 2 * square) / (df + 2)), rel=1e-9) == found.F
    assert found.df2 == pytest.approx(2 * df * (df + 2) / (trace + 2 * square), rel=1e-9)


def test_weighted_additivity_names_the_worst_cells():
    """Standard errors as the model has them; an environment with a single arm neither counts nor is named."""
    arm, environment, reward = log("complete", 4, 6)
    arm, environment, reward = (np.tile(x, 4) for x in (arm, environment, reward))
    reward = (
        reward + np.random.default_rng(1).normal(size=reward.size) + 9.0 * ((arm == 1) & (environment == 2))
    )
    more = [np.append(arm, [0] * 7), np.append(environment, [99] * 7), np.append(reward, np.arange(7.0))]
    for by in ("by-arm", "by-environment"):
        plain, found = (Fit.from_arrays(*data, variance=by) for data in ((arm, environment, reward), more))
        test = found.additivity()
        assert len(test.worst) == 5
        assert len(found.additivity(worst=1).worst) == 1
        with pytest.raises(InputError, match="worst must be a whole number of at least 1, not 0"):
            found.additivity(worst=0)
        assert 99 not in found.additivity(worst=100).worst["environment"]
        first = test.worst.to_dicts()[0]
        assert (first["arm"], first["environment"]) == (1, 2)
        here = (arm == 1) & (environment == 2)
        assert (first["n"], first["mean"]) == (here.sum(), pytest.approx(reward[here].mean()))
        if by == "by-environment":  # of the others' variances nothing is known there
            assert (test.F, test.df1, test.df2) == pytest.approx(
                (plain.additivity().F, plain.additivity().df1, plain.additivity().df2), rel=1e-9
            )
            # w = n/s2 of the environment; z = residual / sqrt(1/w - its leverage)
            part = environment
            s2 = [inside(arm, environment, reward, part == j) for j in range(6)]
            X = oracles.dummies(arm, environment, 4, 6)
            w = 1.0 / np.array(s2)[environment]
            bread = np.linalg.pinv(X.T @ (w[:, None] * X), hermitian=True)
            beta = bread @ X.T @ (w * reward)
            x = oracles.dummies([1], [2], 4, 6)[0]
            z = (reward[here].mean() - x @ beta) / np.sqrt(s2[2] / here.sum() - x @ bread @ x)
            assert (first["expected"], first["z"]) == pytest.approx((x @ beta, z), rel=1e-8)


def inside(arm, environment, reward, used):
    """Variance inside the cells that are used."""
    cells = [reward[used & (arm == i) & (environment == j)] for i in range(4) for j in range(6)]
    cells = [cell for cell in cells if cell.size]
    return sum(((x - x.mean()) ** 2).sum() for x in cells) / sum(x.size - 1 for x in cells)


def test_weighted_additivity_that_cannot_be_tested():
    arm, environment = np.repeat(list("ABBC"), 8), np.repeat([1, 1, 2, 2], 8)
    found = Fit.from_arrays(arm, environment, np.random.default_rng(0).normal(size=32), variance="by-arm")
    with pytest.raises(InputError, match=r"as many parameters as .* cells .*\(4\)"):
        found.additivity()


def test_averages_say_what_shifts_did():
    arm, environment, reward = log("lopsided", 4, 9)
    found = Fit.from_arrays(arm, environment, reward)
    shift = {row["environment"]: row["shift"] for row in found.shifts}
    for row in found.averages:
        mine = arm == row["arm"]
        met = np.mean([shift[j] for j in environment[mine]])
        assert row["raw_bias"] == pytest.approx(met, abs=1e-9)  # the average shift that the arm met
        assert row["raw_mean"] == pytest.approx(reward[mine].mean())
        days = np.unique(environment[mine])
        size = np.array([np.sum(environment == j) for j in days])
        means = np.array([reward[mine & (environment == j)].mean() for j in days])
        assert row["period_mean"] == pytest.approx(np.average(means, weights=size))
        assert row["period_bias"] == pytest.approx(row["period_mean"] - row["mean"])


# Montgomery, Design and Analysis of Experiments: reaction times of four catalysts in four batches, each
# batch large enough for three of them; batch by batch, catalyst -> time
CATALYSTS = [
    {1: 73, 3: 73, 4: 75},
    {1: 74, 2: 75, 3: 75},
    {2: 67, 3: 68, 4: 72},
    {1: 71, 2: 72, 4: 75},
]


def test_a_published_incomplete_block_design():
    """The book: Q = -9/3, -7/3, -4/3, 20/3, effects 3Q/8, SS error 3.25 on 5 degrees, adjusted SS 22.75."""
    arm = [a for batch in CATALYSTS for a in batch]
    environment = [j for j, batch in enumerate(CATALYSTS) for _ in batch]
    reward = [float(x) for batch in CATALYSTS for x in batch.values()]
    found = Fit.from_arrays(arm, environment, reward, direction="minimize", about="these")
    effect = {1: -9 / 8, 2: -7 / 8, 3: -4 / 8, 4: 20 / 8}
    for a in effect:
        for b in effect:
            if a != b:
                gap = found.contrast(a, b)
                assert gap.estimate == pytest.approx(effect[a] - effect[b], abs=1e-9)
                assert gap.se == pytest.approx(np.sqrt(2 * 3 * 0.65 / (2 * 4)), abs=1e-9)
    assert found.degrees_of_freedom == 5
    assert found.sigma**2 == pytest.approx(0.65, abs=1e-9)
    around = sum((x - np.mean(list(batch.values()))) ** 2 for batch in CATALYSTS for x in batch.values())
    assert around - 3.25 == pytest.approx(22.75)
    assert found.best == 1
    assert 4 not in found.candidates


@pytest.mark.filterwarnings("ignore")  # pyfixest's own
def test_the_published_design_against_statsmodels_and_pyfixest():
    import pandas as pd
    import pyfixest
    import statsmodels.formula.api as smf

    rows = [(f"c{a}", f"b{j}", float(x)) for j, batch in enumerate(CATALYSTS) for a, x in batch.items()]
    frame = pd.DataFrame(rows, columns=["arm", "batch", "time"])
    ours = Fit.from_arrays(*(frame[name] for name in frame.columns), about="these")
    by_statsmodels = smf.ols("time ~ C(arm) + C(batch)", frame).fit()
    by_pyfixest = pyfixest.feols("time ~ C(arm) | batch", frame, vcov="iid", fixef_tol=1e-13)
    for a in ("c2", "c3", "c4"):
        gap, name = ours.contrast(a, "c1"), f"C(arm)[T.{a}]"
        want = (by_statsmodels.params[name], by_statsmodels.bse[name], by_statsmodels.pvalues[name])
        assert (gap.estimate, gap.se, gap.p) == pytest.approx(want, abs=1e-9)
        want = (by_pyfixest.coef()[name], by_pyfixest.se()[name], by_pyfixest.pvalue()[name])
        assert (gap.estimate, gap.se, gap.p) == pytest.approx(want, abs=1e-9)
