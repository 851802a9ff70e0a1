"""Choosing an arm: the largest, the least pulled, in turn; and where ties fall."""

import numpy as np
import pytest

from tideproof.core.kernel_linker import ignore_overflow
from tideproof.kernels.choose.arm_choice import LOWEST, argmax, argmax_in_lane, contend, least_pulled
from tideproof.kernels.choose.round_robin_start import all_pulled, all_told, in_turn
from tideproof.kernels.simulate.threefry import ASK, Draw, below, normal, normal_quantile, uniform

uniform, below, normal, argmax, argmax_in_lane, least_pulled, contend = map(
    ignore_overflow, (uniform, below, normal, argmax, argmax_in_lane, least_pulled, contend)
)
SOME = [
    [3.0, 1.0, 2.0],
    [1.0, 3.0, 2.0],
    [1.0, 2.0, 3.0],
    [-5.0, -5.5],
    [2.0, 2.0],
    [1.0, 4.0, 4.0, 0.0, 4.0],
]
SOME += [[7.0] * 6, [0.0, -1.0, 0.0], [LOWEST, -1e300]]


def draw(step):
    return Draw(np.uint64(9), np.uint64(4), ASK, np.uint64(step))


def nth(places, n):
    return [place for place, yes in enumerate(places) if yes][n]


@pytest.mark.parametrize("values", SOME)
@pytest.mark.parametrize("lane", [0, 1, 5])
def test_the_largest_of_ties_the_one_that_the_lane_says(values, lane):
    values = np.array(values)
    top = values == values.max()
    found = set()
    for step in range(60):
        expected = (
            nth(top, below(draw(step), lane, int(top.sum()))) if top.sum() > 1 else int(np.argmax(values))
        )
        assert argmax_in_lane(values, draw(step), lane) == expected
        found.add(expected)
        if lane == 0:
            assert argmax(values, draw(step)) == expected
    assert found == set(np.flatnonzero(top))


@pytest.mark.parametrize("values", SOME)
def test_the_least_pulled(values):
    pulls = np.array(values)
    least = pulls == pulls.min()
    for step in range(30):
        expected = (
            nth(least, below(draw(step), 0, int(least.sum()))) if least.sum() > 1 else int(np.argmin(pulls))
        )
        assert least_pulled(pulls, draw(step)) == expected


@pytest.mark.parametrize("values", SOME)
def test_contend_replaces_the_best_with_the_chance_of_one_in_all_ties(values):
    for step in range(30):
        best, top, ties = -1, 0.0, 0
        expected, seen = -1, 0
        for i, value in enumerate(values):
            best, top, ties = contend(best, top, ties, i, value, draw(step))
            if value > max(values[:i], default=-np.inf):
                expected, seen = i, 1
            elif value == max(values[:i]):
                seen += 1
                expected = i if below(draw(step), i, seen) == 0 else expected
            assert (best, top, ties) == (expected, max(values[: i + 1]), seen)


def test_ties_of_contend_are_even():
    """Three arms tie, 3,000 draws: each is the best a third of the time (chi-square, false alarm 1e-6)."""
    from scipy.special import chdtrc

    counts = np.zeros(3)
    for step in range(3000):
        best, top, ties = -1, 0.0, 0
        for i in range(3):
            best, top, ties = contend(best, top, ties, i, 1.0, draw(step))
        counts[best] += 1
    assert chdtrc(2, ((counts - 1000) ** 2 / 1000).sum()) > 1e-6


def test_a_value_may_be_below_zero():
    assert contend(-1, 0.0, 0, 3, -7.0, draw(0)) == (3, -7.0, 1)
    assert contend(0, -7.0, 1, 3, -8.0, draw(0)) == (0, -7.0, 1)
    assert LOWEST < -1e308
    assert np.isfinite(LOWEST)


def test_numbers_of_a_draw():
    for step in range(200):
        u = uniform(draw(step), 3)
        assert [below(draw(step), 3, n) for n in (1, 2, 3, 7)] == [int(u * n) for n in (1, 2, 3, 7)]
        assert normal(draw(step), 3) == normal_quantile(u)


def test_in_turn_is_the_first_of_the_least_pulled():
    assert in_turn(np.array([2, 1, 1])) == 1
    assert in_turn(np.array([1, 1, 1])) == 0
    assert in_turn(np.array([3, 2, 1])) == 2
    assert in_turn(np.array([0, 2, 1])) == 0


def test_all_pulled_and_all_told():
    class Told:
        told = np.array([2.0, 3.0, 2.0])

    pulls = np.array([2, 3, 2])
    for n, enough in ((1, True), (2, True), (3, False)):
        assert all_pulled(pulls, n) == all_told(Told, n) == enough
    Told.told = pulls = np.array([2, 2, 1])
    assert not all_pulled(pulls, 2)
    assert not all_told(Told, 2)
    Told.told = pulls = np.array([1, 2, 2])
    assert not all_pulled(pulls, 2)
    assert not all_told(Told, 2)
