"""Which rewards can show a tide row by row.

Seeds are fixed. In 1,000 other logs of each kind that shows a tide, under each tide, one was noticed in all (t5): two of
20 are in fewer than one choice of the seed in 1,000. What is to be noticed was in 300 of 300 other logs each.
"""

import numpy as np
import pytest

from tideproof.stats.tide.tide_visibility import level_arms, too_coarse

ROWS = 2000
TIDES = {
    "none": lambda rng: np.zeros(ROWS),
    "drifts": lambda rng: np.cumsum(rng.normal(0.0, 0.1, ROWS)),
    "jumps": lambda rng: np.repeat(rng.normal(0.0, 3.0, 200), rng.integers(20, 180, 200))[:ROWS],
    "turns": lambda rng: np.repeat(rng.normal(0.0, 3.0, ROWS), rng.integers(1, 11, ROWS))[:ROWS],
    "waves": lambda rng: 3.0 * np.sin(np.arange(ROWS) * 2.0 * np.pi / 50.0),
}
EVEN = {  # added to the tide
    "normal": lambda rng: rng.normal(size=ROWS),
    "t5": lambda rng: rng.standard_t(5, ROWS),
    "lognormal, 0.3": lambda rng: np.exp(rng.normal(0.0, 0.3, ROWS)) / 0.32,
    "whole numbers": lambda rng: np.round(rng.normal(size=ROWS)),
    "counts of 3": lambda rng: rng.poisson(3.0, ROWS) / np.sqrt(3.0),
}
COARSE = {  # multiplied by the tide
    "rate 0.03": lambda rng, m: rng.random(ROWS) < 0.03 * m,
    "rate 0.1": lambda rng, m: rng.random(ROWS) < 0.1 * m,
    "rate 0.5": lambda rng, m: rng.random(ROWS) < 0.5 * m,
    "2 % buyers": lambda rng, m: (rng.random(ROWS) < 0.02 * m) * np.exp(rng.normal(0.0, 1.2, ROWS)),
    "20 % buyers": lambda rng, m: (rng.random(ROWS) < 0.2 * m) * np.exp(rng.normal(0.0, 1.2, ROWS)),
    "counts of 0.3": lambda rng, m: rng.poisson(0.3 * m),
    "lognormal, 1": lambda rng, m: m * np.exp(rng.normal(0.0, 1.0, ROWS)),
    "all but 0": lambda rng, m: (rng.random(ROWS) < 0.1 * m) * 5.0 + rng.normal(0.0, 0.02, ROWS),
}


def noticed(kind, tide, arms, multiplies=False):
    """Return how many of 20 logs are noticed."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, arms])
        arm = rng.integers(arms, size=ROWS)
        moved = TIDES[tide](rng)
        y = (
            COARSE[kind](rng, np.exp(0.1 * moved) * (1 + 0.2 * arm))
            if multiplies
            else EVEN[kind](rng) + moved
        )
        found += too_coarse(arm, y + (0.0 if multiplies else 0.5 * arm))
    return found


@pytest.mark.parametrize("tide", TIDES)
@pytest.mark.parametrize("kind", EVEN)
def test_rewards_about_normal_show_any_tide(kind, tide):
    if kind == "whole numbers":
        assert too_coarse(np.zeros(3, np.int64), np.array([1.0, 1.0, 2.0])) is False  # too few to tell
    assert noticed(kind, tide, 3) <= 1


@pytest.mark.parametrize("tide", ["none", "jumps", "waves"])
@pytest.mark.parametrize("kind", COARSE)
def test_rewards_mostly_equal_or_skewed_are_noticed(kind, tide):
    assert noticed(kind, tide, 2, multiplies=True) == 20


def test_low_rewards_that_stand_alone_count_as_high_ones_do():
    rng = np.random.default_rng(1)
    arm, y = rng.integers(2, size=ROWS), np.exp(rng.normal(size=ROWS))
    assert too_coarse(arm, y)
    assert too_coarse(arm, -y)


def test_an_arm_that_comes_late_on_a_high_tide_is_no_row_that_stands_out():
    rng = np.random.default_rng(2)
    share = np.linspace(0.01, 0.99, ROWS)
    arm = (rng.random(ROWS) < share).astype(np.int64)
    assert not too_coarse(arm, rng.normal(size=ROWS) + np.linspace(0.0, 40.0, ROWS))


@pytest.mark.parametrize("arms", [2, 3, 10, 50])
def test_arms_are_put_level_whatever_the_tide_does(arms):
    """Medians of about 2 ROWS / arms steps: they err by 1.25 sqrt(2 arms / (2 ROWS)), and four times that is seldom."""
    rng = np.random.default_rng(arms)
    arm, mean = rng.integers(arms, size=ROWS), rng.normal(0.0, 20.0, arms)
    level = level_arms(arm, mean[arm] + rng.normal(size=ROWS) + np.linspace(0.0, 300.0, ROWS))
    left = level - np.linspace(0.0, 300.0, ROWS)
    assert np.ptp([left[arm == k].mean() for k in range(arms)]) < 8 * 1.25 * np.sqrt(arms / ROWS) + 0.3


def test_rewards_that_are_all_one_number_are_left_to_others():
    assert not too_coarse(np.arange(100) % 2, np.full(100, 7.0))


@pytest.mark.parametrize("first", [0, 1])
def test_only_steps_from_one_arm_to_another_put_arms_level(first):
    """In long runs of one arm, most steps say nothing about it. Two arms meet halfway between 7 and 71."""
    arm = np.repeat(np.arange(8) + first, 9) % 2
    assert level_arms(arm, 64.0 * arm + 7.0) == pytest.approx(np.full(72, 39.0))
