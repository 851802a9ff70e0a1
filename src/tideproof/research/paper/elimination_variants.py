"""Why PSS does worse than SR: elimination with one thing changed at a time, played here and not in the lab.

Arms still in are played in random order, round after round. At the end of a phase either one arm drops
out or half of them do, by the means of all rewards or of those of the phase.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tideproof.core.array_layout import Floats, Ints
from tideproof.table import Table
from tideproof.worlds import mdm

HALVES, ONE_AT_A_TIME = "half at once", "one at a time"
ALL_REWARDS, LAST_PHASE = "means of all rewards", "means of the last phase"
NO_SHIFTS = ", no shifts"
BUDGETS = (50, 100, 200, 400)
RUNS = 20_000  # at most, each by itself


def elimination(seed: int, replications: int) -> Table:
    """Return how often the best arm is lost, in the first phase and in the end, in the world of figure 2."""
    runs = min(replications, RUNS)
    rows: list[tuple[Any, ...]] = []
    for budget in BUDGETS:
        random = np.random.default_rng([seed, budget])
        noise = random.standard_normal((budget, runs))
        rewards = noise + _shifts(random, runs, budget)
        for dropping, phases in ((HALVES, _halving(budget)), (ONE_AT_A_TIME, _rejects(budget))):
            for means in (ALL_REWARDS, LAST_PHASE):
                order = np.random.default_rng([seed, budget, 1])
                lost = _play(order, rewards, phases, means == LAST_PHASE)
                for quantity, wrong in (("lost first", lost[0]), ("lost", lost[-1])):
                    rows.append((f"{dropping}, {means}", budget, quantity, int(wrong.sum()), runs))
        order = np.random.default_rng([seed, budget, 1])
        still = _play(order, noise, _rejects(budget), afresh=False)[-1]
        name = f"{ONE_AT_A_TIME}, {ALL_REWARDS}{NO_SHIFTS}"
        rows.append((name, budget, "lost", int(still.sum()), runs))
    columns = ("policy", "budget", "quantity", "events", "runs")
    return Table(dict(zip(columns, zip(*rows, strict=True), strict=True)))


def _shifts(random: np.random.Generator, runs: int, steps: int) -> Floats:
    """Return (steps, runs) of the shift of the moment: environments of 2 to 50 pulls."""
    changes = np.zeros((steps, runs), bool)
    at = np.zeros(runs, int)
    while (at < steps).any():
        here = at < steps
        changes[at[here], np.flatnonzero(here)] = True
        at += random.integers(2, 50, runs, endpoint=True)
    number = changes.cumsum(axis=0) - 1
    shifts = random.uniform(0.0, 20.0, (int(number.max()) + 1, runs))
    moved: Floats = np.take_along_axis(shifts, number, axis=0)
    return moved


def _halving(budget: int) -> list[tuple[int, int]]:
    """Return (pulls, arms kept) of each phase of PSS(2) with five arms."""
    return [(budget // 3, 3), (budget // 3, 2), (budget // 3, 1)]


def _rejects(budget: int) -> list[tuple[int, int]]:
    """Return (pulls, arms kept) of each phase of successive rejects with five arms."""
    log = 0.5 + sum(1.0 / i for i in range(2, 6))
    each = [0, *(math.ceil((budget - 5) / (log * (6 - k))) for k in range(1, 5))]
    return [((after - before) * (5 - k), 4 - k) for k, (before, after) in enumerate(pairwise(each))]


def _play(
    random: np.random.Generator, noise: Floats, phases: list[tuple[int, int]], afresh: bool
) -> list[NDArray[np.bool_]]:
    """Return, after each phase, in which runs the best arm has dropped out."""
    means = np.array(mdm(5).means)
    runs = noise.shape[1]
    lanes = np.arange(runs)
    active: Ints = np.tile(np.arange(5), (runs, 1))
    sums, counts = np.zeros((runs, 5)), np.zeros((runs, 5))
    lost, t = [], 0
    for pulls, keep in phases:
        if afresh:
            sums[:], counts[:] = 0.0, 0.0
        for step in range(pulls):
            place = step % active.shape[1]
            if place == 0:
                active = random.permuted(active, axis=1)
            arm = active[:, place]
            sums[lanes, arm] += means[arm] + noise[t]
            counts[lanes, arm] += 1.0
            t += 1
        scores = np.take_along_axis(sums / np.maximum(counts, 1.0), active, axis=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :keep]
        active = np.take_along_axis(active, best, axis=1)
        lost.append((active != 4).all(axis=1))
    return lost
