"""A chunk of replications on a GPU: the same plan, the same worlds, the same sums as blocks of the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numba import cuda

from tideproof.core.cuda import differ, launchable, loop
from tideproof.core.disk import is_missing
from tideproof.kernels.replicate import ARMS, Score, play
from tideproof.lab.engines.compile_pool import compile_ahead, wait_for
from tideproof.lab.engines.cpu import BLOCK, play_all
from tideproof.lab.executors import threads
from tideproof.lab.plan import Plan, runs
from tideproof.lab.tally import Tally, tally
from tideproof.policies.spec import PolicySpec

THREADS = 256  # of a block
BLOCKS = 4096  # at most: enough for every multiprocessor
COUNTS = 131_072  # at most, in all tables of counts: few to add up
STEPS = 2_000_000_000  # of one policy with five arms in one chunk: some tenths of a second
SELECTIONS = 500_000_000  # in one chunk: a gigabyte of the GPU's memory


def chunk(plan: Plan) -> int:
    """Return how many replications to play between two looks at the screen."""
    steps = sum(budgets[-1] for spec in plan.policies for budgets in runs(plan, spec))
    quick = STEPS * 25 // (steps * plan.world.arms**2)
    small = SELECTIONS // (len(plan.policies) * len(plan.budgets))
    return max(BLOCK, min(10_000_000, quick, small))


def run_chunk(plan: Plan, first: int, count: int) -> Tally:
    """Play replications first, ..., first + count - 1 of the plan on the GPU."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*under-utilization")  # a few replications are no mistake
        return _run_chunk(plan, first, count)


def _run_chunk(plan: Plan, first: int, count: int) -> Tally:
    numbers = _on_gpu(plan.world.numbers())
    scores = [_score(plan, spec, numbers, first, count) for spec in plan.policies]
    pairs = list(combinations([score.selected for score in scores], 2))
    gaps = cuda.to_device(plan.world.gaps)
    shape = len(pairs), len(plan.budgets)
    both, apart = np.zeros(shape, np.int64), np.zeros(shape)
    for p, (mine, theirs) in enumerate(pairs):
        both[p], apart[p] = _compare(mine, theirs, gaps)
    return tally(np.stack([score.counts for score in scores]), both, apart)


def _score(plan: Plan, spec: PolicySpec, numbers: Any, first: int, count: int) -> Score:
    """Return the selections, on the GPU, and the counts."""
    program = _program(spec, plan.world.arms)
    if not _runs_here(program, plan, spec, numbers):
        score = on_all_cores(plan, spec, first, count)
        return Score(cuda.to_device(score.selected), score.counts)
    selected = cuda.device_array((len(plan.budgets), count), np.int16)
    counts, done = [], 0
    for budgets in runs(plan, spec):
        rows = selected[done : done + len(budgets)]
        counts.append(_launch(program, plan, spec, numbers, budgets, first, rows))
        done += len(budgets)
    return Score(selected, np.concatenate(counts))


def _launch(
    program: Any, plan: Plan, spec: PolicySpec, numbers: Any, budgets: Any, first: int, selected: Any
) -> Any:
    """Play as many replications as there is room for, and return the counts."""
    arguments = _arguments(plan, spec, numbers, budgets, first, selected)
    program[_blocks(selected.shape[1]), THREADS](*arguments)
    return arguments[-1].counts.copy_to_host().sum(axis=0)


def _blocks(threads: int) -> int:
    return min(BLOCKS, -(-threads // THREADS))


def _arguments(
    plan: Plan, spec: PolicySpec, numbers: Any, budgets: Any, first: int, selected: Any
) -> tuple[Any, ...]:
    K, (B, count) = plan.world.arms, selected.shape
    columns = ARMS + 2 * K
    tables = max(1, min(_blocks(count), COUNTS // (B * columns)))
    return (
        spec.within(plan.world).params(K, budgets[-1]),
        numbers,
        np.uint64(plan.seed),
        np.uint64(first),
        cuda.to_device(np.array(budgets, np.int64)),
        Score(selected, cuda.to_device(np.zeros((tables, B, columns), np.int64))),
    )


def prepare(plans: Iterable[Plan]) -> None:
    """Begin to compile what these plans need and the disk would keep, but does not."""
    found: dict[Any, Plan] = {}
    for plan in plans:
        numbers = _on_gpu(plan.world.numbers())
        for spec in plan.policies:
            program = _program(spec, plan.world.arms)
            if program not in _able and program not in found:
                arguments = _arguments(plan, spec, numbers, *_first_run(plan, spec))
                if is_missing(program, arguments):
                    found[program] = replace(plan, policies=(spec,))
    compile_ahead(found)


def _first_run(plan: Plan, spec: PolicySpec) -> tuple[Any, int, Any]:
    """Return budgets, first replication and room for one."""
    budgets = runs(plan, spec)[0]
    return budgets, 0, cuda.device_array((len(budgets), 1), np.int16)


def _program(spec: PolicySpec, arms: int) -> Any:
    return _linked(replace(spec, options=()), arms)  # the options come with each launch


@cache
def _linked(spec: PolicySpec, arms: int) -> Any:
    return loop(play, spec.layout(), arms, spec.fill())


_able: dict[Any, bool] = {}


def _runs_here(program: Any, plan: Plan, spec: PolicySpec, numbers: Any) -> bool:
    """Tell whether the program runs on this GPU; if not, say so once."""
    if program not in _able:
        wait_for(program)
        try:
            _launch(program, plan, spec, numbers, *_first_run(plan, spec))
            _able[program] = True
        except Exception as error:  # numba, NVVM, the linker and the driver each have their own
            _able[program] = False
            reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
            where = f"{spec.label} with {plan.world.arms} arms"
            warnings.warn(f"{where} cannot run on the GPU, so it runs on the CPU: {reason}", stacklevel=2)
    return _able[program]


def on_all_cores(plan: Plan, spec: PolicySpec, first: int, count: int) -> Score:
    """Play on the CPU what the GPU cannot, or what is to be compared with it."""
    with threads() as pool:
        parts = list(
            pool.map(
                lambda start: play_all(plan, spec, start, min(BLOCK, first + count - start)),
                range(first, first + count, BLOCK),
            )
        )
    return Score(
        np.hstack([part.selected for part in parts]), np.sum([part.counts for part in parts], axis=0)
    )


def _on_gpu(numbers: Any) -> Any:
    """Return the numbers of a world with their arrays on the GPU, which knows no empty ones."""
    return type(numbers)(
        *(
            cuda.to_device(n if n.size else np.zeros(1, n.dtype)) if isinstance(n, np.ndarray) else n
            for n in numbers
        )
    )


@cache
def _comparison() -> Any:
    return launchable(differ)


def _compare(mine: Any, theirs: Any, gaps: Any) -> tuple[Any, Any]:
    """Return, at each budget, how often both are wrong and the squared difference of what they cost."""
    rows, count = mine.shape
    blocks = min(max(1, 1024 // rows), -(-count // THREADS))
    both = cuda.device_array((rows, blocks * THREADS), np.int64)
    apart = cuda.device_array((rows, blocks * THREADS), np.float64)
    _comparison()[(blocks, rows), (THREADS, 1)](mine, theirs, gaps, both, apart)
    return both.copy_to_host().sum(axis=1), apart.copy_to_host().sum(axis=1)
