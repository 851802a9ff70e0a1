"""What `data` and a slot hold after every observation, against NumPy over all rewards so far."""

from typing import NamedTuple

import numpy as np
import pytest

from tideproof.core.kernel_linker import kernel, link, use_interpreter
from tideproof.core.kernel_state_arrays import Float1, FloatK, Int1, IntK, allocate
from tideproof.kernels.fit.period_averages import Periods, weigh_control, weigh_period
from tideproof.kernels.fit.policy_data import (
    Data,
    Moments,
    Slot,
    begin_anew,
    clear,
    enter,
    expect,
    record,
    take,
    weigh_in,
)

# Sums of some 60 rewards of order 10 in double precision.
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
ARMS = 3


def batches(seed=0, environments=4, size=25):
    """Yield arm, environment and the rewards of a batch of 1 to 4."""
    random = np.random.default_rng(seed)
    for _ in range(size):
        n = int(random.integers(1, 5))
        arm, environment = int(random.integers(ARMS)), int(random.integers(environments))
        yield arm, environment, random.normal(arm + 5.0 * environment, size=n)


def squares(rewards):
    return ((rewards - rewards.mean()) ** 2).sum()


@pytest.mark.parametrize("seed", range(3))
def test_moments(seed):
    moments = allocate(Moments, ARMS).view
    told = [np.array([])] * ARMS
    for arm, _, rewards in batches(seed):
        record(moments, arm, len(rewards), rewards.mean(), squares(rewards))
        told[arm] = np.append(told[arm], rewards)
        for i in range(ARMS):
            assert moments.told[i] == len(told[i])
            if len(told[i]):
                np.testing.assert_allclose(moments.mean[i], told[i].mean(), **CLOSE)
                np.testing.assert_allclose(moments.squares[i], squares(told[i]), **CLOSE)


def test_weighted_sums_until_they_begin_anew():
    memory = allocate(Moments, ARMS)
    moments = memory.view
    weigh_in(moments, 1, 3, 2.0, 0.5)
    weigh_in(moments, 1, 2, -1.0, 4.0)
    weigh_in(moments, 0, 1, 7.0, 2.0)
    assert moments.sums.tolist() == [14.0, 3 * 2.0 * 0.5 - 2 * 4.0, 0.0]
    assert moments.weights.tolist() == [2.0, 3 * 0.5 + 2 * 4.0, 0.0]
    record(moments, 2, 2, 3.0, 1.0)
    begin_anew(moments)
    begin_anew(moments)
    assert moments.epoch[0] == 2
    assert not moments.sums.any()
    assert not moments.weights.any()
    assert moments.told.tolist() == [0.0, 0.0, 2.0]


def linked(f, **holes):
    return link(f, use_interpreter, holes)


@pytest.mark.parametrize("cells", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_a_slot(cells, seed):
    slot = allocate(Slot, ARMS).view
    told = [np.array([])] * ARMS
    put = linked(enter, CELLS=cells)
    for arm, _, rewards in batches(seed):
        put(slot, arm, len(rewards), rewards.mean())
        told[arm] = np.append(told[arm], rewards)
        together = np.concatenate(told)
        assert slot.counts.tolist() == [len(t) for t in told]
        assert slot.size[0] == len(together)
        assert slot.each[0] == 1.0 / len(together)
        assert slot.arm[0] == arm
        np.testing.assert_allclose(slot.mean[0], together.mean(), **CLOSE)
        if cells:
            np.testing.assert_allclose(slot.means, [t.mean() if len(t) else 0.0 for t in told], **CLOSE)
    assert slot.means.any() == cells


@pytest.mark.parametrize("cells", [True, False])
def test_a_slot_that_is_cleared(cells):
    memory = allocate(Slot, ARMS)
    memory.floats[:] = 3.0
    memory.ints[:] = 7
    linked(clear, CELLS=cells)(memory.view)
    kept = {"arm", "epoch"} if cells else {"arm", "epoch", "means", "sums", "weights"}
    assert {name for name, array in zip(Slot._fields, memory.view, strict=True) if array.any()} == kept


@pytest.mark.parametrize("seed", range(4))
def test_periods(seed):
    """Sums over environments, each taken out before it receives a batch and put back after."""
    periods = allocate(Periods, ARMS).view
    slots = [allocate(Slot, ARMS).view for _ in range(4)]
    told = {}
    put = linked(enter, CELLS=True)
    for arm, environment, rewards in batches(seed):
        slot = slots[environment]
        for weigh in (weigh_period, weigh_control):
            weigh(periods, slot, -1.0)
        put(slot, arm, len(rewards), rewards.mean())
        for weigh in (weigh_period, weigh_control):
            weigh(periods, slot, 1.0)
        told[arm, environment] = np.append(told.get((arm, environment), []), rewards)
        top, bottom, versus, share = np.zeros((4, ARMS))
        for i in range(ARMS):
            for j in range(4):
                if (i, j) in told:
                    m = sum(len(told.get((k, j), [])) for k in range(ARMS))
                    top[i] += m * told[i, j].mean()
                    bottom[i] += m
                    if i > 0 and (0, j) in told:
                        n, control = len(told[i, j]), len(told[0, j])
                        weight = n * control / (n + control)
                        versus[i] += weight * (told[i, j].mean() - told[0, j].mean())
                        share[i] += weight
        for name, expected in (("top", top), ("bottom", bottom), ("versus", versus), ("share", share)):
            np.testing.assert_allclose(getattr(periods, name), expected, err_msg=name, rtol=1e-10, atol=1e-10)


class State(NamedTuple):
    """What a policy would have seen."""

    told: IntK
    reward: FloatK
    calls: Int1
    pulls: IntK
    size: Float1


@kernel
def notes(params, state, data, slot, arm, n, draw):
    """Note what is there when `tell` runs."""
    state.calls[0] += 1
    state.told[arm] += data.told[0]
    state.reward[arm] += data.reward[0]
    state.size[0] = slot.size[0]
    for i in range(data.pulls.size):
        state.pulls[i] = data.pulls[i]


@kernel
def heavy(params, state, data, arm):
    return 2.0 + data.pulls[arm]


OFF = dict.fromkeys(("MOMENTS", "FIT", "SUMS", "PERIOD", "CONTROL", "CELLS"), False)


@pytest.mark.parametrize("on", [*OFF, None])
def test_take_keeps_what_is_read_and_nothing_else(on):
    fill = {
        **OFF,
        "tell": notes,
        "weigh": heavy,
        **({on: True, "CELLS": on in ("PERIOD", "CONTROL", "CELLS")} if on else {}),
    }
    told = linked(take, **fill)
    data, slot, state = allocate(Data, ARMS).view, allocate(Slot, ARMS).view, allocate(State, ARMS).view
    told((), state, data, slot, 1, 2, 3.0, 8.0, ())
    assert (data.told[0], data.reward[0], data.squares[0]) == (2, 3.0, 8.0)
    assert state.size[0] == 0.0, "the slot has it after the policy"
    assert state.pulls.tolist() == [0, 2, 0], "the pulls have it before"
    told((), state, data, slot, 0, 1, 5.0, 0.0, ())
    assert state.size[0] == 2.0
    assert state.calls[0] == 2
    assert state.told.tolist() == [1, 2, 0]
    assert data.pulls.tolist() == [1, 2, 0]
    assert slot.size[0] == 3.0
    assert slot.mean[0] == pytest.approx(11.0 / 3.0)
    assert data.moments.mean.tolist() == ([5.0, 3.0, 0.0] if on == "MOMENTS" else [0.0] * 3)
    assert data.moments.squares.tolist() == ([0.0, 8.0, 0.0] if on == "MOMENTS" else [0.0] * 3)
    assert data.moments.sums.tolist() == ([10.0, 12.0, 0.0] if on == "SUMS" else [0.0] * 3)
    assert data.moments.weights.tolist() == ([2.0, 4.0, 0.0] if on == "SUMS" else [0.0] * 3)
    assert data.fit.told[0] == (3 if on == "FIT" else 0)
    assert data.fit.rss[0] == (8.0 if on == "FIT" else 0.0)
    assert data.periods.bottom.tolist() == ([3.0, 3.0, 0.0] if on == "PERIOD" else [0.0] * 3)
    assert data.periods.top.tolist() == pytest.approx([15.0, 9.0, 0.0] if on == "PERIOD" else [0.0] * 3)
    assert data.periods.share.tolist() == pytest.approx([0.0, 2 / 3, 0.0] if on == "CONTROL" else [0.0] * 3)
    assert data.periods.versus.tolist() == pytest.approx([0.0, -4 / 3, 0.0] if on == "CONTROL" else [0.0] * 3)
    told((), state, data, slot, 1, 1, 6.0, 0.0, ())  # the environment's share is taken out and put back
    assert data.periods.bottom.tolist() == ([4.0, 4.0, 0.0] if on == "PERIOD" else [0.0] * 3)
    assert data.periods.top.tolist() == pytest.approx([20.0, 16.0, 0.0] if on == "PERIOD" else [0.0] * 3)
    assert data.periods.share.tolist() == pytest.approx([0.0, 3 / 4, 0.0] if on == "CONTROL" else [0.0] * 3)
    assert data.periods.versus.tolist() == pytest.approx([0.0, -3 / 4, 0.0] if on == "CONTROL" else [0.0] * 3)


@pytest.mark.parametrize("fit", [True, False])
def test_expect_counts_pulls_and_no_rewards(fit):
    fill = {**OFF, "MOMENTS": True, "SUMS": True, "FIT": fit, "tell": notes, "weigh": heavy}
    told, out = linked(take, **fill), linked(expect, **fill)
    data, slot, state = allocate(Data, ARMS).view, allocate(Slot, ARMS).view, allocate(State, ARMS).view
    told((), state, data, slot, 1, 2, 3.0, 8.0, ())
    out((), state, data, slot, 0, 4, ())
    assert data.told[0] == 0
    assert state.told.tolist() == [0, 2, 0]
    assert state.size[0] == 2.0
    assert state.calls[0] == 2
    assert data.pulls.tolist() == [4, 2, 0]
    assert slot.counts.tolist() == [4.0, 2.0, 0.0]
    assert slot.mean[0] == 3.0, "as if they had the mean of the environment"
    assert data.moments.told.tolist() == [0.0, 2.0, 0.0]
    assert data.fit.told[0] == (2 if fit else 0)
    assert data.fit.joins[0] == (1 if fit else 0)
