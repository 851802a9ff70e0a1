"""Policies on statistics that allow for unequal noise, interactions and wrong cells."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from tideproof.core.kernel_linker import link, use_interpreter
from tideproof.core.kernel_state_arrays import find_scratch
from tideproof.kernels.fit.policy_data import clear
from tideproof.kernels.simulate.threefry import ASK, TELL, Draw
from tideproof.testing import policy_contract as contract

ALARM = 1e-6
interpreted_clear = link(clear, use_interpreter, {"CELLS": True})
SPECS = [
    "by-arm:contrast",
    "interaction:contrast",
    "by-arm:auto:linlucb",
    "auto:top-two-thompson",
    "auto:round-robin",
    "robust:linlucb",
    "robust:top-two-thompson",
]
CHECKS = [contract.reads_what_it_declares, contract.integers_are_small, contract.same_seed_same_run]


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(name, check):
    check(tp.policy(name))


@pytest.mark.parametrize(
    "name", ["by-arm:auto:contrast", "robust:contrast"]
)  # the others differ by a constant
def test_compiled_equals_interpreted(name):
    contract.compiled_equals_interpreted(tp.policy(name))


@pytest.mark.parametrize("name", ["by-arm:auto:contrast", "robust:contrast"])
def test_ask_writes_nothing_but_scratch(name):
    spec = tp.policy(name)
    memory, program = spec.memory(4), spec.program()
    params, (state, data, slot) = spec.params(4, 90), memory.view
    random, key = np.random.default_rng(3), np.uint64(1)
    for t in range(90):
        before = memory.floats.copy(), memory.ints.copy()
        arm = program.ask(params, state, data, slot, Draw(key, key, ASK, np.uint64(t)))
        for array in find_scratch(memory.view):
            array.fill(0.0)
        assert before[1].tolist() == memory.ints.tolist()
        assert before[0].tolist() == memory.floats.tolist()
        program.take(
            params, state, data, slot, arm, 1, random.normal(), 0.0, Draw(key, key, TELL, np.uint64(t))
        )
        for array in find_scratch(memory.view):
            array.fill(0.0)
        if t % 9 == 8:
            interpreted_clear(slot)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"noise": "by-arm"}, "by-arm:contrast"),
        ({"interaction": "auto"}, "auto:contrast"),
        ({"interaction": True}, "interaction:contrast"),
        ({"noise": "by-arm", "interaction": "auto"}, "by-arm:auto:contrast"),
        ({"robust": "cells"}, "robust:contrast"),
        ({"noise": "common", "interaction": False, "robust": None}, "contrast"),
    ],
)
def test_options_and_prefixes_are_the_same(options, name):
    assert tp.policy("contrast", **options) == tp.policy(name)
    assert tp.policy(tp.policy(name).name) == tp.policy(name, selection=tp.policy(name).selection.name)
    assert tp.policy(name, **options) == tp.policy(name)


def test_noise_that_differs_explores_less_unless_one_says_so():
    assert tp.policy("by-arm:contrast").params(5, 200).exploration == 2.6
    assert tp.policy("by-arm:contrast", exploration=3.5).params(5, 200).exploration == 3.5
    assert tp.policy("auto:contrast").params(5, 200).exploration == 3.0


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("contrast", {"noise": 3}, "noise must be 'common' or 'by-arm', not 3"),
        ("contrast", {"interaction": 1}, "interaction must be True, False or 'auto', not 1"),
        ("contrast", {"robust": True}, "robust must be None or 'cells', not True"),
        (
            "contrast",
            {"robust": "cells", "noise": "by-arm"},
            "cannot be combined with noise= or interaction=",
        ),
        ("contrast", {"interaction": "auto", "tide": "hidden"}, "require tide='labels', not tide='hidden'"),
        ("contrast", {"noise": "by-arm", "confidence": 0.9}, "no stopping rule is calibrated"),
        ("sure:contrast", {"interaction": True}, "no stopping rule is calibrated"),
        ("hidden:contrast", {"noise": "by-arm"}, "cannot be added to hidden:contrast"),
        ("lucb", {"noise": "by-arm"}, "not for lucb"),
    ],
)
def test_what_cannot_be_is_said(name, options, message):
    with pytest.raises(tp.errors.InputError, match=message):
        tp.policy(name, **options)


def errors(world, budget, *names, replications=3000):
    study = tp.simulate(world, names, budget, replications, seed=9, engine="cpu", keep=budget)
    return [study.selected(name, budget) != world.best[0] for name in names]


def is_better(one, other):
    """Tell whether one errs less, by McNemar's test: a false alarm in a million."""
    only_one, only_other = int((one & ~other).sum()), int((~one & other).sum())
    return stats.binomtest(only_one, only_one + only_other, alternative="less").pvalue < ALARM


def test_a_noisy_best_arm_is_found_more_often():
    world = replace(tp.slippage(5), sigma=(1.0, 1.0, 1.0, 1.0, 3.0))
    plain, ours = errors(world, 200, "contrast", "by-arm:auto:contrast")
    assert is_better(ours, plain)


def test_an_interaction_is_allowed_for():
    world = replace(tp.slippage(5), lengths=(5, 50), interaction=1.0)
    plain, ours = errors(world, 500, "contrast", "by-arm:auto:contrast", replications=1500)
    assert is_better(ours, plain)


def test_wrong_cells_do_not_pick_the_winner():
    world = replace(tp.mdm(5), outliers=tp.worlds.Outliers(0.05, 20.0))
    plain, ours = errors(world, 200, "contrast", "robust:contrast", replications=1000)
    assert is_better(ours, plain)
    assert ours.mean() < 0.05 < 0.25 < plain.mean()


def test_nothing_is_left_out_where_nothing_is_wrong():
    """Then the robust fit is the plain one, and all that differs is that arms are seen in two environments."""
    plain, ours = errors(tp.slippage(5), 200, "contrast", "robust:contrast")
    assert not is_better(plain, ours)
    assert ours.mean() < 1.5 * plain.mean()


def test_shifts_do_not_matter():
    world = tp.slippage(4)
    for name in ("by-arm:auto:contrast", "robust:contrast"):
        one, other = (
            tp.replay(replace(world, shifts=shifts), name, seed=3, budget=120).arm
            for shifts in (tp.worlds.Uniform(0, 20), tp.worlds.NoShift())
        )
        np.testing.assert_array_equal(one, other)
