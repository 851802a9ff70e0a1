"""A chunk of replications on a GPU: the same plan, the same worlds, the same sums as a block of the CPU."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numba import cuda

from tideproof.kernels._gpu import gpu, loop
from tideproof.kernels._link import kernel, link
from tideproof.kernels.replicate import ARMS, Score
from tideproof.lab.blocks import Plan, Tally, runs, tally
from tideproof.policies._policy import PolicySpec

THREADS = 128  # of a block
BLOCKS = 2048  # at most: enough to keep every multiprocessor busy, few enough to add up
STEPS = 2_000_000_000  # of a policy with five arms in one chunk: a fraction of a second


def chunk(plan: Plan) -> int:
    """Return how many replications to play between two looks at the screen: some tenths of a second."""
    steps = sum(budgets[-1] for spec in plan.policies for budgets in runs(plan, spec))
    return max(1, min(10_000_000, STEPS * 25 // (steps * plan.world.arms**2)))


def run_chunk(plan: Plan, first: int, count: int) -> Tally:
    """Play replications first, ..., first + count - 1 of the plan on the GPU."""
    world = _world(plan)
    selections, counts = [], []
    for spec in plan.policies:
        program = _program(spec, plan.world.arms)
        columns, tables = [], []
        for budgets in runs(plan, spec):
            score = _play(program, plan, spec, world, budgets, first, count)
            columns += [score.selected[:, b] for b in range(len(budgets))]
            tables.append(score.counts.copy_to_host().sum(axis=0))
        selections.append(columns)
        counts.append(np.concatenate(tables))
    pairs = list(combinations(selections, 2))
    both, apart = np.zeros((len(pairs), len(plan.budgets)), np.int64), np.zeros((len(pairs), len(plan.budgets)))
    gaps = cuda.to_device(plan.world.gaps)
    for p, (mine, theirs) in enumerate(pairs):
        for b in range(len(plan.budgets)):
            both[p, b], apart[p, b] = _compare(mine[b], theirs[b], gaps)
    return tally(np.stack(counts), both, apart)


def _play(program: Any, plan: Plan, spec: PolicySpec, world: Any, budgets: Any, first: int, count: int) -> Score:
    K, B = plan.world.arms, len(budgets)
    blocks = min(BLOCKS, -(-count // THREADS))
    score = Score(
        cuda.device_array((count, B), np.int16), cuda.to_device(np.zeros((blocks, B, ARMS + 2 * K), np.int64))
    )
    program[blocks, THREADS](
        spec.within(plan.world).params(K, budgets[-1]),
        world,
        np.uint64(plan.seed),
        np.uint64(first),
        cuda.to_device(np.array(budgets, np.int64)),
        score,
    )
    return score


def _world(plan: Plan) -> Any:
    """Return the numbers of the world on the GPU, which knows no empty arrays."""
    numbers = plan.world.numbers()
    return type(numbers)(
        *(cuda.to_device(n if n.size else np.zeros(1, n.dtype)) if isinstance(n, np.ndarray) else n for n in numbers)
    )


@cache
def _program(spec: PolicySpec, arms: int) -> Any:
    return loop(spec.layout(), arms, spec.fill())


@kernel
def _differ(mine, theirs, gaps, both, apart):
    """Compare two selections, replication by replication; each thread writes sums of its own."""
    thread = cuda.grid(1)
    wrong, square = 0, 0.0
    for r in range(thread, mine.size, cuda.gridsize(1)):
        a, b = gaps[mine[r]], gaps[theirs[r]]
        if a > 0.0 and b > 0.0:
            wrong += 1
        square += (a - b) * (a - b)
    both[thread] = wrong
    apart[thread] = square


_compared = link(_differ, gpu)


def _compare(mine: Any, theirs: Any, gaps: Any) -> tuple[int, float]:
    blocks = min(64, -(-mine.size // THREADS))
    both, apart = cuda.device_array(blocks * THREADS, np.int64), cuda.device_array(blocks * THREADS, np.float64)
    _compared[blocks, THREADS](mine, theirs, gaps, both, apart)
    return int(both.copy_to_host().sum()), float(apart.copy_to_host().sum())
