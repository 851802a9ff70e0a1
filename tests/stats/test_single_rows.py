"""One row left out, against leaving it out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tideproof.analysis.alarms import influential_rows, remove_from_solution, remove_row
from tideproof.data import cells_from_arrays
from tideproof.errors import InputError
from tideproof.stats.solve.least_squares import solve


def with_ends(arm, day, reward):
    c = cells_from_arrays(arm, day, reward)
    mine = [
        reward[(arm == c.arms[i]) & (day == c.environments[j])]
        for i, j in zip(c.arm, c.environment, strict=True)
    ]
    return replace(c, low=np.array([x.min() for x in mine]), high=np.array([x.max() for x in mine]))


def difference(arm, day, reward, a, b):
    c = cells_from_arrays(arm, day, reward)
    s = solve(c)
    i, k = c.arms.index(a), c.arms.index(b)
    return s.mu[i] - s.mu[k] if s.component[i] == s.component[k] else np.nan


@pytest.mark.parametrize("seed", range(6))
def test_the_first_is_the_row_that_brute_force_finds(seed):
    random = np.random.default_rng(seed)
    arm, day = random.integers(4, size=70), random.integers(9, size=70)
    reward = arm + 10.0 * random.normal(size=9)[day] + random.standard_exponential(70) ** 2
    c = with_ends(arm, day, reward)
    left = np.array(
        [difference(np.delete(arm, r), np.delete(day, r), np.delete(reward, r), 2, 0) for r in range(70)]
    )
    found = influential_rows(c, c.arms.index(2), c.arms.index(0), 3)
    r = int(np.nanargmin(left))
    cell = found[0].cell
    at = c.arms[c.arm[cell]], c.environments[c.environment[cell]], found[0].reward(c)
    assert at == (arm[r], day[r], reward[r])
    fewer = remove_row(c, cell, reward[r])
    s = solve(fewer)
    i, k = (fewer.arms.index(a) for a in (2, 0))
    assert s.mu[i] - s.mu[k] == pytest.approx(left[r], rel=1e-8)
    for row in found:  # muhat without a row of the log: by a formula, and by fitting the rows that are left
        mu = solve(remove_row(c, row.cell, row.reward(c))).mu
        assert np.ptp(remove_from_solution(c, row) - mu) == pytest.approx(0.0, abs=1e-9)


def test_only_rows_that_hold_the_difference_up_are_named():
    """Of three rows of arm 1 two are above what is expected, and the lowest of arm 0 is below it."""
    arm, reward = np.array([0, 0, 0, 1, 1, 1]), np.array([0.0, 1.0, 2.0, 4.0, 5.0, 9.0])
    c = with_ends(arm, np.zeros(6, int), reward)
    assert [row.reward(c) for row in influential_rows(c, 1, 0, 9)] == [9.0, 0.0]


def test_cells_without_a_row_are_those_of_the_other_rows():
    random = np.random.default_rng(3)
    arm, day = random.integers(3, size=40), random.integers(4, size=40)
    reward = random.lognormal(size=40)
    c, fewer = (
        cells_from_arrays(np.delete(arm, rows), np.delete(day, rows), np.delete(reward, rows), logs=True)
        for rows in ([], [11])
    )
    cell = int(
        np.flatnonzero((c.arm == c.arms.index(arm[11])) & (c.environment == c.environments.index(day[11])))[0]
    )
    found = remove_row(c, cell, reward[11])
    assert c.n[cell] > 1.0
    assert found.logs is not None
    assert fewer.logs is not None
    for x, y in ((found, fewer), (found.logs, fewer.logs)):
        order = [
            int(
                np.flatnonzero(
                    (y.arm == y.arms.index(x.arms[a]))
                    & (y.environment == y.environments.index(x.environments[j]))
                )[0]
            )
            for a, j in zip(x.arm, x.environment, strict=True)
        ]
        for name in ("n", "mean", "squares"):
            assert getattr(x, name) == pytest.approx(getattr(y, name)[order], rel=1e-9, abs=1e-12)


def test_a_cell_of_one_row_goes_with_it():
    c = with_ends(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0]))
    assert remove_row(c, 2, 3.0).n.size == 2


def test_a_row_that_alone_connects_the_arms_is_passed_over():
    """Arm 1 was seen on day 1 once, with arm 0: without it nothing is compared, so it is not left out."""
    arm, day = np.array([0, 0, 1, 1, 1]), np.array([1, 1, 1, 2, 2])
    c = with_ends(arm, day, np.array([0.0, 1.0, 900.0, 3.0, 4.0]))
    assert all(c.arm[row.cell] == 0 for row in influential_rows(c, 1, 0, 4))


def test_aggregated_rows_have_no_single_ones():
    with pytest.raises(InputError, match="needs the lowest and highest reward"):
        influential_rows(replace(cells_from_arrays([0, 1], [0, 0], [1.0, 2.0]), low=None), 0, 1, 1)


def test_what_is_left_of_zeros_is_zero():
    """Three zeros and 7.1: 7.1/4 - (7.1 - 7.1/4)/3 is 0, but not in floating point."""
    for reward in np.random.default_rng(0).uniform(1.0, 90.0, 50):
        c = with_ends(np.array([0, 0, 0, 0, 1]), np.zeros(5, int), np.array([0.0, 0.0, 0.0, reward, 1.0]))
        assert remove_row(c, 0, reward).mean[0] == remove_row(c, 0, reward).squares[0] == 0.0


@pytest.mark.parametrize("same", [0.1, 3.3, -0.7])
@pytest.mark.parametrize("other", [7.3, -7.3])
def test_equal_rewards_that_remain_have_their_value_as_mean_and_no_variance(same, other):
    """Without the correction, rounding leaves a mean beside the value and a sum of squares above 0."""
    for count in range(2, 9):
        reward = np.array([same] * count + [other, 1.0])
        c = with_ends(np.array([0] * (count + 1) + [1]), np.zeros(count + 2, int), reward)
        found = remove_row(c, 0, other)
        assert (found.n[0], found.mean[0], found.squares[0]) == (count, same, 0.0)


def test_rewards_that_remain_and_vary_keep_their_variance():
    """The correction of rounding errors must not reach rewards that differ from each other."""
    reward = np.array([1.0, 2.0, 6.0, 5.0])
    found = remove_row(with_ends(np.array([0, 0, 0, 1]), np.zeros(4, int), reward), 0, 6.0)
    assert (found.n[0], found.mean[0], found.squares[0]) == (2.0, 1.5, 0.5)
