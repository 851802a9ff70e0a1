"""What a pull is worth: the beginning, the two best, steps and distances."""

from types import SimpleNamespace

import numpy as np
import pytest

from tideproof.core.kernel_linker import ignore_overflow
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.choose.arm_choice import least_pulled
from tideproof.kernels.choose.pull_value import (
    PullValues,
    can_judge,
    most_valuable,
    step_of_mean,
    steps_to_rival,
    two_best,
)
from tideproof.kernels.choose.student_tail import FURTHEST
from tideproof.kernels.fit.policy_data import Moments
from tideproof.kernels.simulate.threefry import ASK, Draw

most_valuable, least_pulled = ignore_overflow(most_valuable), ignore_overflow(least_pulled)


def draw(step=0):
    return Draw(np.uint64(1), np.uint64(2), ASK, np.uint64(step))


def data_of(pulls, told=None, mean=0.0, squares=1.0):
    moments = allocate(Moments, len(pulls)).view
    moments.told[:] = pulls if told is None else told
    moments.mean[:], moments.squares[:] = mean, squares
    return SimpleNamespace(pulls=np.array(pulls), moments=moments)


def test_the_beginning():
    """In a fixed order, then at random until every variance is known, then by value."""
    values = allocate(PullValues, 3).view
    values.values[:] = [1.0, 5.0, 2.0]
    assert most_valuable(values, data_of([3, 2, 2]), 3, draw()) == 1
    for step in range(10):
        data = data_of([3, 3, 3])
        assert most_valuable(values, data, 3, draw(step)) == least_pulled(data.pulls, draw(step))
    values.known[0] = 1
    assert most_valuable(values, data_of([3, 2, 2]), 3, draw()) == 1
    values.values[2] = 6.0
    assert most_valuable(values, data_of([3, 2, 2]), 3, draw()) == 2


@pytest.mark.parametrize(
    ("pulls", "told", "known"),
    [
        ([3, 3, 3], [2, 2, 2], 1),
        ([3, 3, 3], [2, 1, 2], 0),
        ([3, 2, 3], [2, 2, 2], 0),
        ([4, 3, 3], [4, 3, 3], 1),
    ],
)
def test_values_are_known_once_all_is_told_twice(pulls, told, known):
    values = allocate(PullValues, 3).view
    assert can_judge(values, data_of(pulls, told), 3) == bool(known)
    assert values.known[0] == known
    values.known[0] = 1
    assert can_judge(values, data_of([0, 0, 0]), 3), "and stay known"


@pytest.mark.parametrize("seed", range(30))
def test_two_best(seed):
    mean = np.random.default_rng(seed).permutation(2 + seed % 5).astype(float)
    assert two_best(mean) == (int(np.argmax(mean)), int(np.argsort(mean)[-2]))


def test_two_best_of_ties():
    assert two_best(np.array([1.0, 1.0])) == (0, 1)
    assert two_best(np.array([0.0, 1.0, 1.0])) == (1, 2)
    assert two_best(np.array([2.0, 1.0, 1.0])) == (0, 1)


def test_a_step_is_that_of_the_mean():
    """Variance of the mean after one more pull: s2 (1/N - 1/(N + 1))."""
    data = data_of([4, 7], told=[3, 7], squares=5.0)
    for i, variance in ((0, 5.0 / 2.0), (1, 5.0 / 6.0)):
        n = data.pulls[i]
        assert step_of_mean(data, i) == pytest.approx(
            np.sqrt(variance * (1.0 / n - 1.0 / (n + 1.0))), rel=1e-14
        )


def test_steps_to_the_rival():
    data = data_of([2, 2, 2], mean=[1.0, 4.0, 1.0])
    assert steps_to_rival(data, 0, 1, 0.5) == steps_to_rival(data, 1, 0, 0.5) == 6.0
    assert steps_to_rival(data, 0, 1, 0.0) == FURTHEST
    assert steps_to_rival(data, 0, 2, 0.0) == 0.0
    assert steps_to_rival(data, 0, 2, 1.0) == 0.0
    assert steps_to_rival(data, 0, 1, 3.0 / (2.0 * FURTHEST)) == FURTHEST
