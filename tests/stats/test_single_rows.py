"""One row left out, against leaving it out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tideproof.errors import InputError
from tideproof.frames import cells_from_arrays
from tideproof.stats.single_rows import single_row
from tideproof.stats.solve import solve


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
def test_it_is_the_row_that_brute_force_finds(seed):
    random = np.random.default_rng(seed)
    arm, day = random.integers(4, size=70), random.integers(9, size=70)
    reward = arm + 10.0 * random.normal(size=9)[day] + random.standard_exponential(70) ** 2
    c = with_ends(arm, day, reward)
    found = single_row(c, c.arms.index(2), c.arms.index(0))
    now = difference(arm, day, reward, 2, 0)
    without = np.array(
        [difference(np.delete(arm, r), np.delete(day, r), np.delete(reward, r), 2, 0) for r in range(70)]
    )
    r = int(np.nanargmax(np.abs(without - now)))
    assert (found.arm, found.environment, found.reward) == (arm[r], day[r], reward[r])
    assert found.with_it == pytest.approx(now, rel=1e-9)
    assert found.without == pytest.approx(without[r], rel=1e-8)
    assert found.rows == 70


def test_a_row_that_alone_connects_the_arms_is_passed_over():
    """Arm 1 was seen on day 1 once, with arm 0: without it nothing is compared, so it is not left out."""
    arm, day = np.array([0, 0, 1, 1, 1]), np.array([1, 1, 1, 2, 2])
    c = with_ends(arm, day, np.array([0.0, 1.0, 900.0, 3.0, 4.0]))
    assert single_row(c, 1, 0).arm == 0


def test_aggregated_rows_have_no_single_ones():
    with pytest.raises(InputError, match="single rows need the lowest and highest reward"):
        single_row(replace(cells_from_arrays([0, 1], [0, 0], [1.0, 2.0]), low=None), 0, 1)
