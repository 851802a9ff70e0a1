"""Logs as they are drawn: the right moments, the right expectations, the same again for the same number."""

import math

import numpy as np
import pytest

from tideproof.data import cells_from_arrays
from tideproof.errors import UnknownName
from tideproof.research.trust import random_logs
from tideproof.research.trust.log_settings import SETTINGS, Setting
from tideproof.research.trust.random_logs import draw, lifts

SMALL = [setting for setting in SETTINGS if setting.arms * setting.pulls <= 5_000]


def setting(**changed):
    usual = Setting("conversions", 0.1, 3, 200, 8, "drifting", "multiplies", 0.5, "steps", 0.4)
    return usual._replace(**changed)


@pytest.mark.parametrize("kind", SMALL, ids=lambda kind: kind.name)
def test_a_log_is_what_its_setting_says(kind):
    log = draw(kind, 0)
    c = log.cells
    assert (kind.arms, kind.environments) == (c.K, c.J)
    assert c.n.sum() == kind.arms * kind.pulls
    assert c.binary == (kind.rewards == "conversions")
    assert np.all(np.isfinite(log.means))
    if kind.rewards not in ("normal", "uneven"):
        assert log.means.min() > 0.0
        assert c.mean.min() >= 0.0
    best = log.means.argmax(axis=1)
    assert set(best) <= set(np.flatnonzero(lifts(kind) == lifts(kind).max()))


def test_the_same_number_is_the_same_log_and_another_is_another():
    first, again, other = draw(setting(), 3), draw(setting(), 3), draw(setting(), 4)
    assert np.array_equal(first.cells.mean, again.cells.mean)
    assert np.array_equal(first.means, again.means)
    assert not np.array_equal(first.means, other.means)


@pytest.mark.parametrize(
    "rewards", ["conversions", "counts", "clumps", "money", "fortunes", "normal", "uneven"]
)
@pytest.mark.parametrize("tide", ["adds", "multiplies"])
def test_rewards_have_their_means(rewards, tide):
    """400 logs: all cells' sums around what was expected, by five of their own standard errors at most.

    14 such tests fail by chance less than once in 1e4 times if sums were normal.
    """
    level = 1.0 if rewards in ("money", "fortunes") else 0.2
    off = []
    for number in range(400):
        log = draw(setting(rewards=rewards, level=level, tide=tide, pulls=100), number)
        expected = log.means[log.cells.environment, log.cells.arm]
        off.append(np.sum(log.cells.n * (log.cells.mean - expected)))
    assert abs(np.mean(off)) < 5.0 * np.std(off) / math.sqrt(len(off))


def test_those_who_buy_are_a_share_and_money_has_its_mean():
    sums, buyers = [], []
    kind = setting(rewards="money", level=0.1, tide="none", swell=0.0, truth="equal", lift=0.0, pulls=1000)
    for number in range(100):
        log = draw(kind, number)
        sums.append(np.sum(log.cells.n * log.cells.mean) / 3000.0)
        buyers.append(log.events.sum() / 3000.0)
    assert np.mean(buyers) == pytest.approx(
        0.1, abs=5.0 * math.sqrt(0.1 * 0.9 / 300_000)
    )  # once in 1e6 times
    assert np.mean(sums) == pytest.approx(0.1 * math.exp(0.5), abs=5.0 * np.std(sums) / 10.0)


def test_moments_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    n = np.array([3, 1, 5])
    rewards = rng.lognormal(size=9)
    found = random_logs.cell_moments(n, np.array([0, 3, 4]), rewards)
    cells = cells_from_arrays(np.repeat(["a", "b", "a"], n), np.repeat([0, 0, 1], n), rewards)
    for own, theirs in zip(
        found, (cells.mean, cells.squares, cells.cubes, cells.fourths, cells.low), strict=True
    ):
        assert own == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(
    ("tide", "scale", "truth"),
    [("adds", "difference", 0.1 * 0.4), ("multiplies", "ratio", 0.4), ("odds", "odds", 0.4)],
)
def test_on_its_own_scale_the_truth_is_one_number(tide, scale, truth):
    for number in range(5):
        assert draw(setting(tide=tide), number).gap(scale, 2, 0) == pytest.approx(truth, rel=1e-12)


def test_on_another_scale_the_truth_is_what_the_traffic_met():
    log = draw(setting(), 0)
    size = np.bincount(log.cells.environment, log.cells.n)
    mean = [sum(size[j] * log.means[j, a] for j in range(8)) / size.sum() for a in (0, 2)]
    assert log.gap("difference", 2, 0) == pytest.approx(mean[1] - mean[0], rel=1e-12)


def test_traffic_drifts_to_the_first_arm():
    split = random_logs.SPLITS["drifting"](np.random.default_rng(0), 5, 3)
    assert split[0] == pytest.approx([1 / 3] * 3)
    assert np.all(np.diff(split[:, 0]) > 0.0)
    assert split[-1, 0] / split[-1, -1] == pytest.approx(math.exp(4.0))


def test_three_at_a_time_connect_all_arms():
    split = random_logs.SPLITS["threes"](np.random.default_rng(0), 7, 7)
    assert split.sum(axis=1).max() == 3.0
    together = (split.T @ split) > 0.0
    assert np.linalg.matrix_power(together.astype(float), 7).all()


def test_words_that_nobody_knows():
    with pytest.raises(UnknownName, match="allocation 'fair'"):
        draw(setting(allocation="fair"), 0)
    with pytest.raises(UnknownName, match="rewards 'gold'"):
        draw(setting(rewards="gold"), 0)
