"""Algorithm 1 by hand: when it replays, which arm is next, when it is over."""

from types import SimpleNamespace

import numpy as np
import pytest

from tideproof.core.kernel_linker import ignore_overflow
from tideproof.core.kernel_state_arrays import allocate
from tideproof.kernels.choose.connected_start import Start, start_arm, start_tell, started
from tideproof.kernels.fit.fixed_effects import FixedEffects
from tideproof.kernels.simulate.threefry import ASK, Draw, below

below, start_arm = ignore_overflow(below), ignore_overflow(start_arm)


def draw(step):
    return Draw(np.uint64(1), np.uint64(2), ASK, np.uint64(step))


def setting(turns, pulls, last=0, futile=0, joins=0, size=1.0):
    start = allocate(Start, len(turns)).view
    start.turns[:], start.last[0], start.futile[0] = turns, last, futile
    fit = allocate(FixedEffects, len(turns)).view
    fit.joins[0] = joins
    data = SimpleNamespace(pulls=np.array(pulls), fit=fit)
    return start, data, SimpleNamespace(size=np.array([size]))


def one_of(arms, step):
    return arms[below(draw(step), 0, len(arms))]


@pytest.mark.parametrize(
    ("pulls", "joins", "over"),
    [
        ([2, 2, 2], 2, True),
        ([2, 2, 2], 1, False),
        ([2, 1, 2], 2, False),
        ([3, 2, 5], 2, True),
        ([1, 2, 2], 2, False),
        ([2, 2, 1], 2, False),
    ],
)
def test_it_is_over_with_n0_pulls_of_all_and_one_group(pulls, joins, over):
    _, data, _ = setting([0, 0, 0], pulls, joins=joins)
    assert started(data, 2) == over


@pytest.mark.parametrize(
    ("change", "replays"),
    [
        ({}, True),
        ({"size": 1.0}, False),  # the environment has begun
        ({"last": 0}, False),  # nothing was played yet
        ({"futile": 1}, True),
        ({"futile": 2}, False),  # two replays linked nothing
        ({"joins": 2}, False),  # all are connected
    ],
)
def test_a_new_environment_begins_with_the_last_arm(change, replays):
    start, data, slot = setting(**{"turns": [2, 1, 1], "pulls": [2, 2, 1], "last": 1, "size": 0.0} | change)
    found = {int(start_arm(start, data, slot, 6, -1, draw(step))) for step in range(20)}
    assert found == ({0} if replays else {1, 2})
    before = start.turns.tolist(), start.futile[0]
    start_tell(start, data, slot, 0, 3)
    if replays and start.last[0]:
        assert (start.turns.tolist(), start.futile[0]) == (before[0], before[1] + 1)
    else:
        assert (start.turns.tolist(), start.futile[0]) == ([before[0][0] + 3, *before[0][1:]], 0)
    assert start.last[0] == 1


def test_another_arm_than_the_replay_takes_its_turn():
    start, data, slot = setting([2, 1, 1], [2, 1, 1], last=1, futile=1, size=0.0)
    start_tell(start, data, slot, 2, 2)
    assert (start.turns.tolist(), start.futile[0], start.last[0]) == ([2, 1, 3], 0, 3)


@pytest.mark.parametrize("step", range(12))
@pytest.mark.parametrize(
    ("turns", "pulls", "avoid", "arms"),
    [
        ([1, 1, 1, 1], [1, 1, 1, 1], -1, [0, 1, 2, 3]),
        ([1, 0, 0, 1], [1, 0, 0, 1], -1, [1, 2]),
        ([1, 0, 0, 1], [1, 0, 0, 1], 1, [2]),
        ([3, 0, 1, 1], [3, 3, 1, 1], -1, [2, 3]),  # arm 1 has its n0 pulls, if by replays
        ([3, 1, 0, 2], [3, 3, 3, 3], -1, [2]),  # all have: it goes on with all
        ([3, 1, 0, 2], [3, 3, 3, 3], 2, [1]),
        ([3, 0, 2, 2], [3, 1, 3, 3], 1, [2, 3]),  # the only one with pulls to go is to be avoided
        ([2, 2, 2, 9], [2, 2, 2, 2], 0, [1, 2]),
    ],
)
def test_the_next_arm_has_the_fewest_turns(turns, pulls, avoid, arms, step):
    start, data, slot = setting(turns, pulls, last=1)
    assert start_arm(start, data, slot, 3, avoid, draw(step)) == one_of(arms, step)
