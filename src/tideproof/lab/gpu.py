"""A chunk of replications on a GPU: the same plan, the same worlds, the same sums as blocks of the CPU."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numba import cuda

from tideproof.kernels._gpu import differ, gpu, loop
from tideproof.kernels._link import link
from tideproof.kernels.replicate import ARMS, Score
from tideproof.lab.blocks import BLOCK, Plan, Tally, play_all, runs, tally
from tideproof.lab.executors import threads
from tideproof.policies._policy import PolicySpec

THREADS = 128  # of a block
BLOCKS = 4096  # at most: enough for every multiprocessor, few enough to add up their counts
STEPS = 2_000_000_000  # of one policy with five arms in one chunk: some tenths of a second


def chunk(plan: Plan) -> int:
    """Return how many replications to play between two looks at the screen."""
    steps = sum(budgets[-1] for spec in plan.policies for budgets in runs(plan, spec))
    return max(BLOCK, min(10_000_000, STEPS * 25 // (steps * plan.world.arms**2)))


def run_chunk(plan: Plan, first: int, count: int) -> Tally:
    """Play replications first, ..., first + count - 1 of the plan on the GPU."""
    numbers = _on_gpu(plan.world.numbers())
    scores = [_score(plan, spec, numbers, first, count) for spec in plan.policies]
    pairs = list(combinations([score.selected for score in scores], 2))
    shape = len(pairs), len(plan.budgets)
    both, apart, gaps = np.zeros(shape, np.int64), np.zeros(shape), cuda.to_device(plan.world.gaps)
    for p, (mine, theirs) in enumerate(pairs):
        for b in range(len(plan.budgets)):
            both[p, b], apart[p, b] = _compare(mine[b], theirs[b], gaps)
    return tally(np.stack([score.counts for score in scores]), both, apart)


def _score(plan: Plan, spec: PolicySpec, numbers: Any, first: int, count: int) -> Score:
    """Return a column of selections on the GPU for each budget, and the counts."""
    program = _program(spec, plan.world.arms)
    if not _compiles(program, plan, spec, numbers):
        return _score_without(plan, spec, first, count)
    columns, counts = [], []
    for budgets in runs(plan, spec):
        score = _launch(program, plan, spec, numbers, budgets, first, count)
        columns += [score.selected[:, b] for b in range(len(budgets))]
        counts.append(score.counts.copy_to_host().sum(axis=0))
    return Score(columns, np.concatenate(counts))  # type: ignore[arg-type]


def _launch(
    program: Any, plan: Plan, spec: PolicySpec, numbers: Any, budgets: Any, first: int, count: int
) -> Any:
    K, B = plan.world.arms, len(budgets)
    blocks = min(BLOCKS, -(-count // THREADS))
    score = Score(
        cuda.device_array((count, B), np.int16),
        cuda.to_device(np.zeros((blocks, B, ARMS + 2 * K), np.int64)),
    )
    program[blocks, THREADS](
        spec.within(plan.world).params(K, budgets[-1]),
        numbers,
        np.uint64(plan.seed),
        np.uint64(first),
        cuda.to_device(np.array(budgets, np.int64)),
        score,
    )
    return score


@cache
def _program(spec: PolicySpec, arms: int) -> Any:
    return loop(spec.layout(), arms, spec.fill())


_able: dict[Any, bool] = {}


def _compiles(program: Any, plan: Plan, spec: PolicySpec, numbers: Any) -> bool:
    """Tell whether the program runs on this GPU; if not, say so once."""
    if program not in _able:
        try:
            _launch(program, plan, spec, numbers, runs(plan, spec)[0], 0, 1).counts.copy_to_host()
            _able[program] = True
        except Exception as error:  # numba, NVVM, the linker and the driver each have their own
            _able[program] = False
            reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
            where = f"{spec.label} with {plan.world.arms} arms"
            warnings.warn(f"{where} cannot run on the GPU, so it runs on the CPU: {reason}", stacklevel=2)
    return _able[program]


def _score_without(plan: Plan, spec: PolicySpec, first: int, count: int) -> Score:
    """Play on the CPU what the GPU cannot."""
    with threads() as pool:
        parts = list(
            pool.map(
                lambda start: play_all(plan, spec, start, min(BLOCK, first + count - start)),
                range(first, first + count, BLOCK),
            )
        )
    selected = np.vstack([part.selected for part in parts])
    columns = [cuda.to_device(np.ascontiguousarray(selected[:, b])) for b in range(selected.shape[1])]
    return Score(columns, sum(part.counts for part in parts))  # type: ignore[arg-type]


def _on_gpu(numbers: Any) -> Any:
    """Return the numbers of a world with their arrays on the GPU, which knows no empty ones."""
    return type(numbers)(
        *(
            cuda.to_device(n if n.size else np.zeros(1, n.dtype)) if isinstance(n, np.ndarray) else n
            for n in numbers
        )
    )


_compared: Any = link(differ, gpu)


def _compare(mine: Any, theirs: Any, gaps: Any) -> tuple[int, float]:
    blocks = min(64, -(-mine.size // THREADS))
    both = cuda.device_array(blocks * THREADS, np.int64)
    apart = cuda.device_array(blocks * THREADS, np.float64)
    _compared[blocks, THREADS](mine, theirs, gaps, both, apart)
    return int(both.copy_to_host().sum()), float(apart.copy_to_host().sum())
