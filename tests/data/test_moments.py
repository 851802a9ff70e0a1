"""Third and fourth powers: about another point and back, and where rounding leaves nothing of them."""

from __future__ import annotations

import numpy as np
import pytest

from tideproof.data.cell_assembly import MomentSums, from_power_sums, shift_reference


def sums(rewards, point):
    d = rewards - point
    return MomentSums(*(np.array([(d**k).sum()]) for k in (3, 4)))


REWARDS = np.random.default_rng(0).exponential(size=50)
N, MEAN = np.array([50.0]), REWARDS.mean()
SQUARES = np.array([((REWARDS - MEAN) ** 2).sum()])


@pytest.mark.parametrize("point", [0.0, -3.0, 11.0])
def test_there_and_back(point):
    off = np.array([MEAN - point])
    there = shift_reference(N, SQUARES, sums(REWARDS, MEAN), off)
    np.testing.assert_allclose(there, sums(REWARDS, point), rtol=1e-12)
    back = from_power_sums(N, SQUARES, sums(REWARDS, point), off)
    np.testing.assert_allclose(back, sums(REWARDS, MEAN), rtol=1e-9)


def test_a_point_too_far_away_is_refused():
    """The fourth root of `most` over eight units of rounding, in standard deviations, is the limit."""
    sigma = float(np.sqrt(SQUARES[0] / 50))
    for most in (1e-8, 1e-3):
        limit = (most / 8.0 * 2**52) ** 0.25
        for times in (0.9, 1.1):
            off = np.array([times * limit * sigma])
            found = from_power_sums(N, SQUARES, sums(REWARDS, MEAN - off), off, most)
            assert (found is None) == (times > 1)
            if found is not None:
                np.testing.assert_allclose(found.fourths, sums(REWARDS, MEAN).fourths, rtol=most)


def test_sums_that_overflow_are_unknown():
    assert (
        from_power_sums(N, SQUARES, MomentSums(np.array([np.inf]), np.array([np.inf])), np.zeros(1)) is None
    )


def test_a_group_that_hardly_varies_gets_what_deviations_can_add_up_to():
    """Beside one that does; rounding would make its fourth power negative or too large."""
    quiet = 100.0 + np.array([0.0, 1e-7])
    n, mean = np.array([50.0, 2.0]), np.array([MEAN, quiet.mean()])
    squares = np.array([SQUARES[0], ((quiet - quiet.mean()) ** 2).sum()])
    powers = MomentSums(*(np.array([(REWARDS**k).sum(), (quiet**k).sum()]) for k in (3, 4)))
    cubes, fourths = from_power_sums(n, squares, powers, mean)
    assert squares[1] ** 2 / 2 <= fourths[1] <= squares[1] ** 2
    assert abs(cubes[1]) <= np.sqrt(squares[1] * fourths[1])


def test_single_rewards_have_no_deviations():
    one = np.array([1.0, 1.0])
    x = np.array([1e6, -1e6])
    found = from_power_sums(one, 0.0 * one, MomentSums(x**3, x**4), x)
    assert [part.tolist() for part in found] == [[0, 0], [0, 0]]
