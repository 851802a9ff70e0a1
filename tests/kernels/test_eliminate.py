"""Races: who is next, who leads, who drops, against plain Python."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from tideproof.core.kernel_linker import ignore_overflow
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.choose.arm_choice import contend
from tideproof.kernels.choose.elimination import (
    Race,
    ceiling,
    drop_lowest,
    end_phase,
    fewest_told,
    front_runner,
    in_race,
    race_arm,
    still_in,
)
from tideproof.kernels.fit.policy_data import Moments
from tideproof.kernels.simulate.threefry import TELL, Draw, below

below, contend, race_arm, front_runner, drop_lowest, end_phase = map(
    ignore_overflow, (below, contend, race_arm, front_runner, drop_lowest, end_phase)
)


def draw(step):
    return Draw(np.uint64(2), np.uint64(8), TELL, np.uint64(step))


def race(dropped):
    made = allocate(Race, len(dropped)).view
    made.dropped[:] = dropped
    return made


def best_of(values, step):
    """Return the arm that `contend` finds among {arm: value}, arms in order."""
    best, top, ties = -1, 0.0, 0
    for arm, value in values.items():
        best, top, ties = contend(best, top, ties, arm, value, draw(step))
    return best


def test_who_is_in():
    assert [still_in(race(d)) for d in ([0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1])] == [3, 2, 1, 1]
    state = SimpleNamespace(race=race([0, 1]))
    assert in_race((), state, 0)
    assert not in_race((), state, 1)


def test_rounding_up():
    assert [ceiling(x) for x in (1.0, 1.1, 2.0, 2.0 + 1e-9, 7.0 * (1.0 + 1e-13))] == [1, 2, 2, 3, 7]
    assert [ceiling(1e6), ceiling(1e6 * (1.0 + 2e-12))] == [1_000_000, 1_000_001]


@pytest.mark.parametrize("step", range(20))
def test_the_next_arm_has_the_fewest_pulls_of_the_phase(step):
    random = np.random.default_rng(step)
    r = race([0, 0, 1, 0, 0])
    r.begun[:] = random.integers(0, 3, 5)
    data = SimpleNamespace(pulls=r.begun + random.integers(0, 3, 5))
    values = {i: float(r.begun[i] - data.pulls[i]) for i in (0, 1, 3, 4)}
    assert race_arm(r, data, draw(step)) == best_of(values, step)


@pytest.mark.parametrize("step", range(20))
def test_the_front_runner_has_the_largest_mean(step):
    random = np.random.default_rng(step)
    moments = allocate(Moments, 4).view
    moments.mean[:] = random.integers(-5, -1, 4)  # an arm without a reward has mean 0
    moments.mean[1] = 9.0
    moments.told[:] = [3, 1, 1, 2]
    r = race([0, 1, 0, 0])
    assert front_runner(r, moments, draw(step)) == best_of({i: moments.mean[i] for i in (0, 2, 3)}, step)
    moments.told[0], moments.mean[0] = 0.0, 0.0
    assert front_runner(r, moments, draw(step)) == best_of({i: moments.mean[i] for i in (2, 3)}, step)


def test_the_fewest_told_of_those_still_in():
    assert fewest_told(race([0, 1, 0]), np.array([5.0, 1.0, 3.0])) == 3.0
    assert fewest_told(race([0, 0, 0]), np.array([5.0, 0.0, 3.0])) == 0.0
    assert fewest_told(race([0, 1, 1]), np.array([5.0, 0.0, 3.0])) == 5.0


@pytest.mark.parametrize("step", range(30))
def test_the_lowest_drops_ties_in_a_lane_for_each_drop(step):
    scores = np.array([2.0, 1.0, 1.0, 0.0, 1.0])
    for dropped in ([0, 0, 0, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 1, 0], [0, 1, 1, 1, 1]):
        r = race(dropped)
        left = [i for i in range(5) if not dropped[i]]
        lowest, ties = -1, 0
        for i in left:
            if scores[i] == min(scores[left]):
                ties += 1
                if ties == 1 or below(draw(step), 5 * (5 - len(left)) + i, ties) == 0:
                    lowest = i
        drop_lowest(r, scores, draw(step))
        expected = list(dropped)
        expected[lowest] = 1
        assert r.dropped.tolist() == expected


def test_the_end_of_a_phase():
    r = race([0, 0, 1, 0, 0])
    moments = allocate(Moments, 5).view
    moments.sums[:] = [10.0, 12.0, 99.0, 9.0, -4.0]
    moments.weights[:] = [5.0, 4.0, 1.0, 2.0, 4.0]  # means 2, 3, -, 4.5, -1
    data = SimpleNamespace(moments=moments, pulls=np.array([5, 4, 1, 3, 6]))
    end_phase(r, data, 2, draw(0))
    assert r.dropped.tolist() == [1, 0, 1, 0, 1]
    assert r.scores.tolist() == [2.0, 3.0, 0.0, 4.5, -1.0]
    assert r.begun.tolist() == [5, 4, 1, 3, 6]
    assert not moments.sums.any()
    assert moments.epoch[0] == 1
    moments.weights[:] = 1.0
    end_phase(r, data, 2, draw(1))
    assert still_in(r) == 2, "as many as are to be kept"


def test_ceiling_is_that_of_fractions():
    for a in range(1, 40):
        for b in range(1, 40):
            assert ceiling(a / b) == math.ceil(-(-a // b))
