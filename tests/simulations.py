"""Helpers for tests of simulations: a small study, misbehaving executors and made-up policies."""

from __future__ import annotations

import signal
from concurrent.futures import Executor, Future
from typing import NamedTuple

import numpy as np

import tideproof as tp
from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Int1
from tideproof.kernels.simulate.threefry import uniform
from tideproof.policies.final_selection_rules import MEAN
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec

ALARM = 1e-6  # probability that a statistical test would fail by accident were its seed drawn anew
WORLD = tp.mdm(5)
POLICIES = ["linlucb", "round-robin", "round-robin+ols"]
BUDGETS = [30, 60, 100]
SIZES = {"replications": 3500, "seed": 7, "keep": 60}  # of the fixture `study`


def same(a, b):
    return all(np.array_equal(x, y) and x.dtype == y.dtype for x, y in zip(a.tally, b.tally, strict=True))


class Inline(Executor):
    """Executor that runs each task when it is submitted."""

    def submit(self, task, /, *args):
        future = Future()
        future.set_result(task(*args))
        return future


class Backwards(Executor):
    """Executor that runs tasks only when a result is read, the last submitted task first."""

    def __init__(self):
        self.tasks = []

    def submit(self, task, /, *args):
        future = Future()
        future.result = lambda timeout=None: self._run(future)
        self.tasks.append((future, task, args))
        return future

    def _run(self, wanted):
        while self.tasks:
            future, task, args = self.tasks.pop()
            future.set_result(task(*args))
        return Future.result(wanted)


class Interrupting(Inline):
    """Executor that raises KeyboardInterrupt when the result of one task is read."""

    def __init__(self, at):
        self.at, self.futures = at, []

    def submit(self, task, /, *args):
        future = Future() if len(self.futures) > self.at else super().submit(task, *args)
        if len(self.futures) == self.at:
            future.result = self._interrupt
        self.futures.append(future)
        return future

    def _interrupt(self, timeout=None):
        raise KeyboardInterrupt


class Pressed(Inline):
    """Executor that sends SIGINT some times when one task, counted from 1, is submitted."""

    def __init__(self, times, at=2):
        self.times, self.at, self.begun, self.ended = times, at, 0, 0

    def submit(self, task, /, *args):
        self.begun += 1
        for _ in range(self.times if self.begun == self.at else 0):
            signal.raise_signal(signal.SIGINT)
        future = super().submit(task, *args)
        self.ended += 1
        return future


class Unused(Executor):
    def submit(self, task, /, *args):
        raise AssertionError("nothing may run")


class Horizon(NamedTuple):
    half: int


class Nothing(NamedTuple):
    unused: Int1


@kernel
def first_half_then_other(params, state, data, slot, draw):
    return 0 if data.pulls[0] < params.half else 1


@kernel
def in_turn_until_a_coin_says_stop(params, state, data, slot, draw):
    if data.pulls[0] > 0 and data.pulls[1] > 0 and uniform(draw, 0) < 0.05:
        return -1
    return 0 if data.pulls[0] <= data.pulls[1] else 1


@kernel
def no_tell(params, state, data, slot, arm, n, draw):
    pass


def made_up(ask, needs_horizon):
    policy = Policy(
        name=ask.__name__,
        idea="",
        reference="",
        State=Nothing,
        configure=lambda arms, horizon, selection: Horizon((horizon or 0) // 2),
        ask=ask,
        tell=no_tell,
        minimum=lambda arms, params: 2,
        selections=(MEAN,),
        reads=frozenset(),
        needs_horizon=needs_horizon,
        shift_aware=True,
    )
    return PolicySpec(policy, MEAN, (), "made up")
