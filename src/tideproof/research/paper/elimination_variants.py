"""Simulation of policies that drop arms phase by phase, to find why some of them err more often.

The question is why PSS (probabilistic sequential shrinking) errs more than SR (successive rejects). The
simulation shares no code with the simulations of `tp.simulate`. Remaining arms are played in random order,
round after round. At the end of a phase, one arm or half of the arms is dropped, by the means of all rewards
or by the means of the phase.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.table import Table
from tideproof.worlds import mdm

HALVES, ONE_AT_A_TIME = "half of the arms at once", "one arm at a time"
ALL_REWARDS, LAST_PHASE = "means of all rewards", "means of the last phase"
NO_SHIFTS = ", no shifts"
LOST_FIRST, LOST = "best arm eliminated in the first phase", "best arm eliminated"
BUDGETS = (50, 100, 200, 400)
RUNS = 20_000  # most runs that are simulated


def elimination(seed: int, replications: int) -> Table:
    """Return how often policies that drop arms in phases drop the best arm.

    They may drop it in the first phase or later. The world is that of figure 2.
    """
    runs = min(replications, RUNS)
    rows: list[tuple[Any, ...]] = []
    for budget in BUDGETS:
        random = np.random.default_rng([seed, budget])
        noise = random.standard_normal((budget, runs))
        rewards = noise + _step_shifts(random, runs, budget)
        for dropping, phases in ((HALVES, _halving_phases(budget)), (ONE_AT_A_TIME, _reject_phases(budget))):
            for means in (ALL_REWARDS, LAST_PHASE):
                order = np.random.default_rng([seed, budget, 1])
                lost = _simulate_phases(order, rewards, phases, means == LAST_PHASE)
                for quantity, wrong in ((LOST_FIRST, lost[0]), (LOST, lost[-1])):
                    rows.append((f"{dropping}, {means}", budget, quantity, int(wrong.sum()), runs))
        order = np.random.default_rng([seed, budget, 1])
        still = _simulate_phases(order, noise, _reject_phases(budget), last_phase_only=False)[-1]
        name = f"{ONE_AT_A_TIME}, {ALL_REWARDS}{NO_SHIFTS}"
        rows.append((name, budget, LOST, int(still.sum()), runs))
    columns = ("policy", "budget", "quantity", "events", "runs")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _step_shifts(random: np.random.Generator, runs: int, steps: int) -> Floats:
    """Simulate the shift at each pull of each run, for environments of 2 to 50 pulls.

    The result is an array (steps, runs).
    """
    changes = np.zeros((steps, runs), bool)
    at = np.zeros(runs, int)
    while (at < steps).any():
        active_runs = at < steps
        changes[at[active_runs], np.flatnonzero(active_runs)] = True
        at += random.integers(2, 50, runs, endpoint=True)
    number = changes.cumsum(axis=0) - 1
    shifts = random.uniform(0.0, 20.0, (int(number.max()) + 1, runs))
    moved: Floats = np.take_along_axis(shifts, number, axis=0)
    return moved


def _halving_phases(budget: int) -> list[tuple[int, int]]:
    """Return the phases of a policy that drops about half of its arms at once.

    There are five arms. A phase consists of its number of pulls and the number of arms that are kept. The
    policy is PSS(2).
    """
    return [(budget // 3, 3), (budget // 3, 2), (budget // 3, 1)]


def _reject_phases(budget: int) -> list[tuple[int, int]]:
    """Return the phases of a policy that drops its arms one by one.

    A phase consists of its number of pulls and the number of arms that are kept. The policy is successive
    rejects, with five arms.
    """
    log = 0.5 + sum(1.0 / i for i in range(2, 6))
    each = [0, *(math.ceil((budget - 5) / (log * (6 - k))) for k in range(1, 5))]
    return [((after - before) * (5 - k), 4 - k) for k, (before, after) in enumerate(pairwise(each))]


def _simulate_phases(
    random: np.random.Generator, noise: Floats, phases: list[tuple[int, int]], last_phase_only: bool
) -> list[NDArray[np.bool_]]:
    """Simulate a policy that drops arms in phases, and return in which runs it drops the best arm.

    There is one array for each phase: whether each run has dropped the best arm by the end of this phase.
    """
    means = np.array(mdm(5).means)
    runs = noise.shape[1]
    lanes = np.arange(runs)
    active: Ints = np.tile(np.arange(5), (runs, 1))
    sums, counts = np.zeros((runs, 5)), np.zeros((runs, 5))
    lost, t = [], 0
    for pulls, keep in phases:
        if last_phase_only:
            sums[:], counts[:] = 0.0, 0.0
        for step in range(pulls):
            position = step % active.shape[1]
            if position == 0:
                active = random.permuted(active, axis=1)
            arm = active[:, position]
            sums[lanes, arm] += means[arm] + noise[t]
            counts[lanes, arm] += 1.0
            t += 1
        scores = np.take_along_axis(sums / np.maximum(counts, 1.0), active, axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :keep]
        active = np.take_along_axis(active, best, axis=1)
        lost.append((active != 4).all(axis=1))
    return lost
