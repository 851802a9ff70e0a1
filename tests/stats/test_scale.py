"""Which scale: tests against regressions of statsmodels, their size and power, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import get_args

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc

import tideproof as tp
from multiplicative_logs import conversions, from_events, from_sums, given_total, multiplying_log, sparse_log
from tideproof.analysis import Fit, scale_choice
from tideproof.analysis.scale_choice import choose_scale
from tideproof.data import cells_from_arrays
from tideproof.stats.cells import Cells
from tideproof.stats.scales import scale_test as module
from tideproof.stats.scales.odds_likelihood import count_ones_and_zeros, solve_odds
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES, Scale, ScaleName
from tideproof.stats.scales.scale_test import run_scale_test

FALSE_ALARM = 1e-6  # of every statistical test here, were its seed not fixed


def at_levels(monkeypatch, level):
    """Let the levels be known and rewards be Poisson."""
    known = module.EnvironmentLevels(level, level, 1.0, lambda x: x)
    monkeypatch.setattr(module, "estimate_levels", lambda cells: known)


def two_arms(seed=0, environments=12):
    random = np.random.default_rng(seed)
    counts = random.integers(20, 60, (environments, 2)).astype(float)
    level = random.uniform(0.1, 0.5, environments)
    return counts, level, conversions(counts, level[:, None] * [1.0, 1.2], random)


def test_difference_of_two_arms_is_a_regression_on_the_level():
    import statsmodels.api as sm

    random = np.random.default_rng(4)
    mean = random.normal(20.0, 5.0, (15, 1)) + random.normal(0.0, 0.3, (15, 2))
    place, arm = np.divmod(np.arange(30), 2)
    n, variance = np.full(30, 8.0), 9.0  # inside cells more than between: what cells say counts
    cells = Cells([0, 1], list(range(15)), arm, place, n, mean.ravel(), np.full(30, variance * 7.0))
    found = sm.OLS(mean[:, 1] - mean[:, 0], sm.add_constant(mean.mean(axis=1))).fit()
    # The sign is that of growing differences: of the slope where the second arm is above the first.
    want = found.params[1] * np.sign(found.predict([1.0, mean.mean()])[0])
    want /= np.sqrt(found.normalized_cov_params[1, 1] * variance * 2.0 / 8.0)
    assert run_scale_test(cells, "difference", "ratio").z == pytest.approx(want, rel=1e-6)


def level_dependence(scale, other):
    return SCALE_PROPERTIES[scale].level_dependence[other]


def test_every_scale_has_its_properties():
    assert set(SCALE_PROPERTIES) == set(get_args(ScaleName)) >= set(get_args(Scale))
    for name, properties in SCALE_PROPERTIES.items():
        assert set(properties.level_dependence) == set(get_args(Scale)) - {properties.tested_as}
        assert properties.tested_as == name or name not in get_args(Scale)


@pytest.mark.parametrize("other", ["difference", "odds"])
def test_ratio_of_two_arms_is_the_score_test_of_a_binomial(monkeypatch, other):
    import statsmodels.api as sm

    counts, level, cells = two_arms()
    at_levels(monkeypatch, level)
    S = count_ones_and_zeros(cells)[0].reshape(-1, 2)
    model = sm.GLM(
        S, np.ones((12, 1)), family=sm.families.Binomial(), offset=np.log(counts[:, 0] / counts[:, 1])
    )
    theirs = model.fit(tol=1e-12)
    statistic = theirs.score_test(exog_extra=level_dependence("ratio", other)(level)[:, None])[0]
    found = run_scale_test(cells, "ratio", other)
    assert found.z**2 == pytest.approx(float(np.squeeze(statistic)), rel=1e-6)


@pytest.mark.parametrize("other", ["difference", "ratio"])
def test_odds_of_two_arms_are_the_score_test_of_the_hypergeometric(monkeypatch, other):
    counts, level, cells = two_arms(1)
    at_levels(monkeypatch, level)
    S = count_ones_and_zeros(cells)[0].reshape(-1, 2)
    h, gap = level_dependence("odds", other)(level), solve_odds(cells).gap(1, 0)
    moments = [given_total(n, s.sum(), np.array([0.0, gap])) for n, s in zip(counts, S, strict=True)]
    residual = S[:, 1] - [mean[1] for mean, _ in moments]
    variance = np.array([C[1, 1] for _, C in moments])
    left = np.sum(h**2 * variance) - np.sum(h * variance) ** 2 / np.sum(variance)
    assert run_scale_test(cells, "odds", other).z ** 2 == pytest.approx(
        np.sum(h * residual) ** 2 / left, rel=1e-6
    )


SIZE_LOGS = 300


def rejected(draw, scale, other, logs=SIZE_LOGS):
    return sum(
        run_scale_test(draw(np.random.default_rng([7, log])), scale, other).p < 0.05 for log in range(logs)
    )


@pytest.mark.parametrize(
    ("scale", "other"), [("difference", "ratio"), ("ratio", "difference"), ("odds", "difference")]
)
@pytest.mark.parametrize("draw", [multiplying_log, sparse_log])
def test_a_right_scale_is_called_wrong_in_one_log_of_twenty(draw, scale, other):
    # benchmarks/scales.py plays 2,000 logs of each kind; the bound here is that of a true rate of 6.6 %
    count = rejected(lambda random: draw(random, scale), scale, other)
    assert bdtrc(count - 1, SIZE_LOGS, 0.066) > FALSE_ALARM


def test_multiplying_tides_are_caught():
    """Base rates .002 to .08, lifts 1.05, 1.00 and 1.12; A and B met where rates are high, B and C where low."""
    logs = 40
    choices = [
        choose_scale(multiplying_log(np.random.default_rng([8, log]), "ratio", 600, 4000))
        for log in range(logs)
    ]
    caught = sum(choice.name == "ratio" for choice in choices)
    assert bdtr(caught, logs, 0.8) > FALSE_ALARM  # at least 0.8; 0.99 in 500 logs
    assert caught >= 0.7 * logs
    assert "ifferences" in choices[0].sentence


def test_the_wrong_answer_by_differences_is_that_of_the_issue():
    from tideproof.stats.scales.conditional_likelihood import solve_ratio
    from tideproof.stats.solve.least_squares import solve

    cells = multiplying_log(np.random.default_rng(3), "ratio", 600, 4000)
    assert np.argmax(solve(cells).mu) == 0
    found = solve_ratio(cells)
    assert found.gap(2, 0) > 0.0
    assert choose_scale(cells).name == "ratio"


def test_additive_tides_keep_differences():
    random = np.random.default_rng(5)
    counts = np.full((200, 3), 3000.0)
    cells = conversions(counts, np.add(random.uniform(0.02, 0.3, (200, 1)), [0.0, 0.01, 0.03]), random)
    choice = choose_scale(cells)
    assert (choice.name, choice.told) == ("difference", True)
    assert set(choice.tests) == {"difference", "ratio", "odds"}
    assert choice.sentence.startswith("Tests of the scale (whether shifts add or multiply) reject ")


def test_odds_are_found_where_rates_are_high():
    random = np.random.default_rng(6)
    odds = np.exp(np.add(random.uniform(-3.0, 3.0, (300, 1)), [0.0, 0.2, 0.5]))
    choice = choose_scale(conversions(np.full((300, 3), 2000.0), odds / (1.0 + odds), random))
    assert (choice.name, choice.told) == ("odds", True)
    assert choice.tests["difference"].p < 1e-4
    assert choice.tests["ratio"].p < 1e-4
    assert "ratios (p < 0.0001) and differences (p < 0.0001) but not odds ratios" in choice.sentence
    assert choice.sentence.endswith("compared by odds ratios.")


LARGER = ": differences between arms are larger where rewards are higher"
RARE, FREQUENT = (
    from_events(np.full((3, 2), 400), np.array([9, 5, 7])[:, None] * times + [0, 2]) for times in (1, 10)
)


@pytest.mark.parametrize(
    ("cells", "found", "middle", "name"),
    [
        (RARE, {"difference": (3.0, 0.01)}, f"differences (p = 0.01) but not ratios{LARGER}", "ratio"),
        (RARE, {"difference": (-3.0, 0.01)}, "differences (p = 0.01) but not ratios", "ratio"),
        (RARE, {"ratio": (3.0, 0.01)}, "ratios (p = 0.01) but not differences", "difference"),
        (
            FREQUENT,
            {"difference": (3.0, 0.01)},
            "differences (p = 0.01) but not ratios or odds ratios",
            "ratio",
        ),
        (
            FREQUENT,
            {"difference": (3.0, 0.01), "ratio": (3.0, 0.01)},
            "ratios (p = 0.02) and differences (p = 0.01) but not odds ratios",
            "odds",
        ),
    ],
)
def test_the_sentence_says_where_differences_are_larger_unless_odds_are_possible(
    monkeypatch, cells, found, middle, name
):
    """The tests are given: only in a comparison with ratios does the sign say where differences are larger."""

    def known(cells, scale, other):
        return scale_choice.ScaleTest(*found.get(scale, (0.0, 1.0)))

    monkeypatch.setattr(scale_choice, "run_scale_test", known)
    choice = choose_scale(cells)
    start = f"Tests of the scale (whether shifts add or multiply) reject {middle}. Arms are compared by "
    assert choice.sentence.startswith(f"{start}{SCALE_PROPERTIES[name].plural}.")
    assert choice.name == name


def test_one_environment_tells_nothing_and_conversions_are_compared_by_ratios():
    cells = from_events(np.array([[100, 100]]), np.array([[5, 9]]))
    choice = choose_scale(cells)
    assert (choice.name, choice.told) == ("ratio", False)
    assert [test.p for test in choice.tests.values()] == [1.0, 1.0]
    assert "reject neither ratios nor differences" in choice.sentence
    assert choice.sentence.endswith("compared by ratios.")


def test_scales_that_are_not_told_apart_are_named_beside_the_one_shown():
    events = np.array([[10, 12], [21, 22], [30, 37]])
    choice = choose_scale(from_events(np.full((3, 2), 400), events))
    assert choice.possible == ("ratio", "difference")
    assert choice.sentence.endswith("also valid if arms are compared by differences.")


def test_scales_of_very_many_arms_are_not_tested():
    events = np.random.default_rng(1).binomial(100, 0.1, (3, 501))
    choice = choose_scale(from_events(np.full((3, 501), 100), events))
    assert (choice.name, choice.tests, choice.possible) == ("ratio", {}, ("ratio",))
    assert "more than 500 arms" in choice.sentence
    assert choice.sentence.endswith("compared by ratios.")


def test_rewards_below_zero_are_compared_by_differences():
    cells = from_sums(np.full((4, 2), 9), np.array([[1.0, 2.0], [-3.0, 1.0], [4.0, 2.0], [0.0, 1.0]]))
    choice = choose_scale(cells)
    assert choice.name == "difference"
    assert set(choice.tests) == {"difference"}
    assert 0.001 < choice.tests["difference"].p < 0.01
    assert choice.sentence.startswith(
        "A test of the scale (whether shifts add or multiply) rejects differences (p = "
    )
    assert choice.sentence.endswith("because some rewards are below 0.")
    flat = choose_scale(
        from_sums(np.full((4, 2), 9), np.array([[1.0, 2.0], [-3.0, -2.0], [4.0, 5.0], [0.0, 1.0]]))
    )
    assert flat.sentence == "Arms are compared by differences, because some rewards are below 0."


def test_rewards_of_0_and_1_that_are_equal_in_each_cell_have_noise():
    """One row for each arm and environment: taken as noise-free, they overflowed, or the solver failed."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        day, arm = np.repeat(np.arange(40), 3), np.tile(np.arange(3), 40)
        kept = random.random(day.size) < 0.7
        choice = Fit.from_arrays(
            arm[kept], day[kept], (random.random(kept.sum()) < 0.45).astype(float)
        ).choice
        assert set(choice.tests) == {"ratio", "difference", "odds"}
        assert all(test.p > 1e-4 for test in choice.tests.values())  # equal arms; fails in 1 of 600 logs


def test_the_order_of_arms_does_not_matter():
    cells = multiplying_log(np.random.default_rng(9), "ratio")
    other = Cells(
        cells.arms, cells.environments, 2 - cells.arm, cells.environment, cells.n, cells.mean, cells.squares
    )
    for scale, rival in permutations(get_args(Scale), 2):
        assert run_scale_test(other, scale, rival).z == pytest.approx(
            run_scale_test(cells, scale, rival).z, rel=1e-6
        )


def cells_of(arm, environment, reward):
    pair, cell = np.unique(environment * 3 + arm, return_inverse=True)
    n = np.bincount(cell).astype(float)
    mean = np.bincount(cell, reward) / n
    squares = np.bincount(cell, (reward - mean[cell]) ** 2)
    return Cells([0, 1, 2], list(range(6)), pair % 3, pair // 3, n, mean, squares)


def once(seed, lift, multiplies, J=20, K=3, noise=0.03):
    """One reward of each arm in each environment, but for some that are missing."""
    random = np.random.default_rng(seed)
    place, arm = np.divmod(np.flatnonzero(random.random(J * K) > 0.15), K)
    tide, own = random.uniform(-0.5, 0.5, J)[place], random.normal(size=place.size) * noise
    if multiplies:
        return cells_from_arrays(arm, place, 10.0 * np.exp(tide + own) * (1.0 + lift * arm))
    return cells_from_arrays(arm, place, 10.0 * (1.0 + tide + lift * arm + own))


@pytest.mark.parametrize("scale", ["difference", "ratio"])
def test_without_repeats_it_is_tukeys_test_as_a_regression_has_it(scale):
    import statsmodels.api as sm

    cells = once(1, 0.1, multiplies=True)
    y = cells.mean if scale == "difference" else np.log(cells.mean)
    design = np.column_stack([np.eye(cells.J)[cells.environment], np.eye(cells.K)[cells.arm][:, 1:]])
    found = sm.OLS(y, design).fit()
    level, mu = found.params[: cells.J], np.append(0.0, found.params[cells.J :])
    theirs = sm.OLS(y, np.column_stack([design, mu[cells.arm] * level[cells.environment]])).fit()
    mine = run_scale_test(cells, scale, "ratio" if scale == "difference" else "difference")
    assert mine.z == pytest.approx(theirs.tvalues[-1] * (1.0 if scale == "difference" else -1.0), rel=1e-6)
    assert mine.p == pytest.approx(theirs.pvalues[-1], rel=1e-6)


def test_without_repeats_the_right_scale_is_called_wrong_in_one_log_of_twenty_and_the_other_is_caught():
    for multiplies, right in ((False, "difference"), (True, "ratio")):
        tests = [choose_scale(once(seed, 0.1, multiplies)).tests for seed in range(400)]
        alarms = sum(test[right].p < 0.05 for test in tests)
        assert min(bdtr(alarms, 400, 0.05), bdtrc(alarms - 1, 400, 0.05)) > FALSE_ALARM
        other = "ratio" if right == "difference" else "difference"
        assert sum(test[other].p < 0.05 for test in tests) > 380


def test_without_repeats_scales_are_chosen_and_named():
    found = choose_scale(once(2, 0.1, multiplies=True))
    assert (found.name, found.possible) == ("ratio", ("ratio",))
    assert "differences (p = 0.00029)" in found.sentence
    assert "but not ratios" in found.sentence
    assert found.sentence.endswith("compared by ratios.")
    assert choose_scale(once(2, 0.1, multiplies=False)).name == "difference"
    weak = choose_scale(once(2, 0.0, multiplies=True))
    assert weak.sentence.endswith("also valid if arms are compared by ratios.")


@pytest.mark.parametrize("offset", [0.0, 5.0, 1e6])
def test_equal_levels_without_repeats_tell_nothing(offset):
    """Rounding of the levels is no evidence, but p was anything between 0 and 1."""
    for seed in range(5):
        own = np.random.default_rng(seed).normal(size=(8, 3))
        reward = own - own.mean(axis=1, keepdims=True) + [0.0, 0.7, 1.9] + offset
        cells = cells_from_arrays(np.tile(np.arange(3), 8), np.repeat(np.arange(8), 3), reward.ravel())
        assert run_scale_test(cells, "difference", "ratio") == (0.0, 1.0)


def test_without_repeats_too_little_or_zeros_tell_nothing():
    two = cells_from_arrays([0, 1, 0, 1], [0, 0, 1, 1], [1.0, 2.0, 2.0, 4.5])
    exact = cells_from_arrays([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2], [1.0, 2.0, 2.0, 3.0, 4.0, 5.0])
    zero = cells_from_arrays([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 2, 2], [0.0, 2.0, 2.0, 3.5, 4.0, 5.0])
    assert (
        run_scale_test(two, "difference", "ratio")
        == run_scale_test(zero, "ratio", "difference")
        == (0.0, 1.0)
    )
    assert run_scale_test(exact, "difference", "ratio").p == 1.0
    assert (
        run_scale_test(zero, "difference", "ratio").p < 1e-6
    )  # they shrink by exactly as much as levels rise


def test_levels_of_environments_are_shrunk_and_stay_above_half_a_reward():
    """By the formulas of Efron and Morris; the first environment has only zeros."""
    n = np.array([[2.0, 2.0], [8.0, 4.0], [5.0, 5.0], [3.0, 9.0]])
    c = Cells.design(n)
    mean = np.array([0.0, 0.0, 1.0, 0.5, 2.0, 1.0, 60.0, 62.0])
    for factor in (1.0, 0.02):
        c = replace(c, mean=factor * mean, squares=np.array([0.0, 0.0, 7.0, 3.0, 9.0, 2.0, 1.0, 30.0]))
        m, x = n.sum(axis=1), (n * c.mean.reshape(4, 2)).sum(axis=1) / n.sum(axis=1)
        overall = np.average(x, weights=m)
        variance = np.where(c.n > 1, c.squares / (c.n - 1), 0.0)
        noise = np.sum(c.n * variance) / m.sum()
        between = max(0.0, (m @ (x - overall) ** 2 - 3 * noise) / (m.sum() - m @ m / m.sum()))
        kept, reward = between / (between + noise / m), noise / overall
        low = np.minimum(0.5 * reward / m, 0.5 * overall)
        here = np.maximum(overall + kept * (x - overall), low)
        less = np.maximum(overall + kept * (x - reward / m - overall), 0.5 * low)
        found = module.estimate_levels(c)
        assert found.reward == pytest.approx(reward)
        assert found.here == pytest.approx(here)
        assert found.less == pytest.approx(less)
        if factor == 1.0:  # With factor 0.02, all levels are shrunk to the overall mean.
            assert found.less[0] == pytest.approx(0.25 * reward / 4)
        below = module.estimate_levels(replace(c, mean=c.mean - 40.0 * factor))
        assert below.here == pytest.approx(overall - 40.0 * factor + kept * (x - overall))


@pytest.mark.parametrize(
    ("scale", "other"), [("ratio", "difference"), ("odds", "difference"), ("odds", "ratio")]
)
def test_one_row_of_0_or_1_in_each_cell_rejects_as_rarely_as_promised(scale, other):
    """The variance of a row follows from its environment. Taken for 0, the right scale was rejected in 77 %."""

    def rejected(seed):
        random = np.random.default_rng(seed)
        arm = np.argsort(random.random((150, 6)), axis=1)[:, :3].ravel()
        environment, effect = np.repeat(np.arange(150), 3), np.linspace(-1.0, 1.0, 6)[arm]
        if scale == "ratio":
            rate = random.uniform(0.1, 0.5, 150)[environment] * np.exp(0.4 * effect)
        else:
            rate = 1.0 / (1.0 + np.exp(-random.uniform(-2.0, 1.0, 150)[environment] - 0.6 * effect))
        reward = (random.random(arm.size) < rate).astype(int)
        return run_scale_test(cells_from_arrays(arm, environment, reward), scale, other).p < 0.05

    logs = 100
    found = sum(rejected(seed) for seed in range(logs))
    assert bdtrc(found - 1, logs, 0.05) > FALSE_ALARM


def test_one_row_of_0_or_1_in_each_cell_causes_no_warning():
    """Warnings are errors in tests."""
    random = np.random.default_rng(3)
    arm = np.argsort(random.random((200, 20)), axis=1)[:, :5].ravel()
    environment = np.repeat(np.arange(200), 5)
    reward = (random.random(arm.size) < random.uniform(0.1, 0.9, 200)[environment]).astype(int)
    fit = tp.fit(
        {"arm": arm, "day": environment, "reward": reward}, arm="arm", environment="day", reward="reward"
    )
    assert 0.0 < fit.choice.tests["difference"].p <= 1.0
    assert fit.to_dict()["candidates"]
