"""Ratios of means from logarithms: against scipy, statsmodels and closed forms; never unasked."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis import Fit
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.random_logs import draw
from tideproof.stats.scales.reward_logarithms import (
    equal_variances_p,
    normality_p,
)

SEED = 19


def lognormal(K=3, J=8, each=30, sigma=0.8, swell=1.0, spreads=None, seed=SEED, adds=False):
    """Draw (arm, environment, reward); means of the arms are 1, 1.2, 1.4 ... times the tide, or plus it."""
    random = np.random.default_rng(seed)
    arm, environment = np.tile(np.arange(K), J * each), np.repeat(np.arange(J), K * each)
    s = np.broadcast_to(sigma if spreads is None else np.asarray(spreads), (K,))[arm]
    noise = random.lognormal(-0.5 * s**2, s)
    level = np.exp(swell * random.normal(size=J))[environment]
    if adds:
        return arm, environment, 0.5 * level + (1.0 + 0.2 * arm) * noise
    return arm, environment, level * (1.0 + 0.2 * arm) * noise


def test_two_arms_in_one_environment_are_lognormal_means():
    """The mean of a lognormal is exp(m + s^2/2); the errors of m and s^2 are independent: Land, Cox."""
    random = np.random.default_rng(SEED)
    a, b = random.lognormal(0.3, 1.0, 400), random.lognormal(0.0, 0.7, 300)
    found = Fit.from_arrays(["A"] * 400 + ["B"] * 300, [0] * 700, [*a, *b], scale="log").contrast("A", "B")
    m, v = zip(*((np.log(x).mean(), np.log(x).var(ddof=1)) for x in (a, b)), strict=True)
    assert math.log1p(found.estimate) == pytest.approx(m[0] - m[1] + 0.5 * (v[0] - v[1]), abs=2e-3)
    variance = sum(s / n + 0.5 * s**2 / (n - 1) for s, n in zip(v, (400, 300), strict=True))
    assert found.se == pytest.approx(math.sqrt(variance), rel=0.05)


def test_environments_are_taken_out_of_logarithms_by_least_squares():
    arm, environment, reward = lognormal()
    fit = Fit.from_arrays(arm, environment, reward, scale="log")
    plain = Fit.from_arrays(arm, environment, np.log(reward), scale="difference")
    moved = np.log1p(fit.contrast(2, 0).estimate) - plain.contrast(2, 0).estimate
    assert abs(moved) < 0.1  # half a difference of variances that are equal
    for name, here in (("gaps", fit.gaps(2, 0)), ("influence", fit.influence())):
        assert len(here) == 8, name
    assert fit.additivity().p == pytest.approx(plain.additivity().p, rel=1e-6)
    means = fit.arms["mean"]
    assert means[2] / means[0] - 1.0 == pytest.approx(fit.contrast(2, 0).estimate, rel=1e-9)
    assert all(
        low < mean < high
        for low, mean, high in zip(*(fit.arms[x] for x in ("low", "mean", "high")), strict=True)
    )


def with_timeouts(seed, rows=40_000, times=20.0, share=0.005):
    """Draw lognormal durations with equal means; only arm 1 has timeouts, each 20 times as long."""
    random = np.random.default_rng([36, seed])
    arm, environment = random.integers(0, 2, rows), random.integers(0, 10, rows)
    reward = random.lognormal(0.3 * random.normal(size=10)[environment], 1.0)
    reward[(arm == 1) & (random.random(rows) < share)] *= times
    return arm, environment, np.where(arm == 1, reward / (1.0 + share * (times - 1.0)), reward)


def test_timeouts_of_one_arm_make_no_winner_unless_logarithms_are_requested():
    """Their means are equal. Of 20 logs that err in 9 % each, 7 or more do in 1 of 1,700 such tests."""
    logs = [with_timeouts(seed) for seed in range(20)]
    by_logs = [Fit.from_arrays(*log, scale="log").decision.standing for log in logs]
    by_means = [Fit.from_arrays(*log, about="these").decision.standing for log in logs]
    assert by_logs.count("winner_on_these") >= 18
    assert by_means.count("winner_on_these") <= 6


def test_logarithms_are_used_only_on_request():
    arm, environment, reward = lognormal(sigma=0.8, swell=1.5)
    cells = cells_from_arrays(arm, environment, reward, logs=True)
    assert (Fit(cells).scale, Fit(cells, scale="log").scale) == ("ratio", "log")
    assert Fit(cells, about="these").contrast(2, 0).se > 1.1 * Fit(cells, scale="log").contrast(2, 0).se


def test_unlike_and_not_normal_logarithms_say_nothing_of_means():
    random = np.random.default_rng(SEED)
    arm, environment = np.tile([0, 1], 800), np.repeat(np.arange(8), 200)
    level = np.exp(1.5 * random.normal(size=8))[environment]
    noise = np.where(arm == 0, random.weibull(0.6, arm.size), random.weibull(1.2, arm.size))
    logs = cells_from_arrays(arm, environment, level * (0.01 + noise), logs=True).logs
    assert equal_variances_p(logs, logs.arm, 2) < 1e-3
    assert normality_p(logs) < 1e-3


def test_tests_of_logarithms_keep_their_size():
    """400 logs each, 5 %: between 9 and 34 rejections, by chance outside in 1 of 300."""
    normal, same = 0, 0
    for seed in range(400):
        logs = cells_from_arrays(*lognormal(each=12, J=5, seed=seed), logs=True).logs
        normal, same = (
            normal + (normality_p(logs) < 0.05),
            same + (equal_variances_p(logs, logs.arm, 3) < 0.05),
        )
    assert 5 <= normal <= 40
    assert 9 <= same <= 34


def test_lifts_are_those_of_means_also_where_spreads_differ():
    """100 logs whose means are equal, logarithms' spreads 0.85 and 1: at most 12 miss 0 (chance .001)."""
    setting = Setting("unlike", 1.0, 2, 150, 5, "even", "multiplies", 0.4, "equal", 0.0)
    found = [Fit(draw(setting, number).cells, scale="log").contrast(1, 0) for number in range(100)]
    assert sum(not each.low <= 0.0 <= each.high for each in found) <= 12


def test_what_logarithms_need():
    log = {"v": ["A", "B"] * 4, "d": [1, 1, 2, 2] * 2, "n": [5] * 8, "r": [1.0, 2, 3, 4] * 2, "sd": [1.0] * 8}
    with pytest.raises(InputError, match="needs the single rewards, all above 0"):
        tp.fit(log, arm="v", environment="d", reward="r", n="n", sd="sd", scale="log")
    with pytest.raises(InputError, match="needs rewards above 0; the lowest is 0"):
        tp.fit(log | {"r": [0.0, 2, 3, 4] * 2}, arm="v", environment="d", reward="r", scale="log")
    with pytest.raises(InputError, match="needs the single rewards"):
        tp.fit(log, arm="v", environment="d", reward="r / n", scale="log")


def test_cells_keep_their_logarithms():
    cells = cells_from_arrays(*lognormal(), logs=True)
    part = cells.select(np.flatnonzero(cells.arm > 0)).seen()
    np.testing.assert_array_equal(part.logs.n, part.n)
    np.testing.assert_array_equal(part.logs.arm, part.arm)
    assert part.logs.arms == part.arms
    assert replace(cells, logs=None).logs is None
