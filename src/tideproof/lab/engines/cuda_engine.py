"""Run a chunk of replications on a GPU, in the same random worlds as on the CPU; return summed results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from tideproof.core.cuda_target import (
    allocate_on_gpu,
    build_thread_program,
    compile_gpu_program,
    copy_to_gpu,
    copy_tuple_to_gpu,
    launch,
    thread_and_row,
)
from tideproof.core.program_cache import is_missing
from tideproof.kernels.simulate.policy_pairs import compare_selections
from tideproof.kernels.simulate.replication_loop import ARMS, Score, play_one
from tideproof.lab.engines.compile_pool import compile_ahead, wait_for
from tideproof.lab.engines.cpu_engine import CHUNK, score_on_all_cores
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.simulation_plan import SimulationPlan
from tideproof.policies.policy_spec import PolicySpec

THREADS = 256  # threads per block
BLOCKS = 4096  # most blocks of a launch: enough for all multiprocessors
COUNTS = 131_072  # most cells in all tables of counts, which the CPU adds up
STEPS = 2_000_000_000  # most steps of a chunk with five arms: some tenths of a second
SELECTIONS = 500_000_000  # most selected arms of a chunk: one gigabyte of GPU memory


def chunk_size(plan: SimulationPlan) -> int:
    """Return how many replications a GPU runs in one chunk, so that it ends soon and fits into GPU memory."""
    steps = sum(budgets[-1] for spec in plan.policies for budgets in plan.budgets_by_run(spec))
    quick = STEPS * 25 // (steps * plan.world.arms**2)
    small = SELECTIONS // (len(plan.policies) * len(plan.budgets))
    return max(CHUNK, min(10_000_000, quick, small))


def run_chunk(plan: SimulationPlan, first: int, count: int) -> ReplicationSums:
    """Run `count` replications of a simulation on the GPU, from number `first` on; return summed results."""
    world = copy_tuple_to_gpu(plan.world.numbers())
    scores = [score_policy(plan, spec, world, first, count) for spec in plan.policies]
    pairs = list(combinations([score.selected for score in scores], 2))
    gaps = copy_to_gpu(plan.world.gaps)
    shape = len(pairs), len(plan.budgets)
    both, squares = np.zeros(shape, np.int64), np.zeros(shape)
    for p, (a, b) in enumerate(pairs):
        both[p], squares[p] = _compare(a, b, gaps)
    kept = np.stack([_copy_kept(plan, score.selected) for score in scores])
    return ReplicationSums.of_counts(np.stack([score.counts for score in scores]), both, squares, kept)


def _copy_kept(plan: SimulationPlan, selected: Any) -> Any:
    """Copy the selected arm of every replication from the GPU, at the budgets where selections are kept."""
    kept = np.zeros((len(plan.keep), selected.shape[1]), np.int16)
    for index, row in enumerate(plan.kept_rows):
        kept[index] = selected[row].copy_to_host()
    return kept


def score_policy(plan: SimulationPlan, spec: PolicySpec, world: Any, first: int, count: int) -> Score:
    """Simulate one policy at all budgets; return the selected arms, and sums such as total pulls.

    The selected arms stay in GPU memory.
    """
    program = _program(spec, plan.world.arms)
    if not _runs_here(program, plan, spec, world):
        score = score_on_all_cores(plan, spec, first, count)
        return Score(copy_to_gpu(score.selected), score.counts)
    selected = allocate_on_gpu((len(plan.budgets), count), np.int16)
    counts, done = [], 0
    for budgets in plan.budgets_by_run(spec):
        rows = selected[done : done + len(budgets)]
        counts.append(_play(program, plan, spec, world, budgets, first, rows))
        done += len(budgets)
    return Score(selected, np.concatenate(counts))


def _play(
    program: Any, plan: SimulationPlan, spec: PolicySpec, world: Any, budgets: Any, first: int, selected: Any
) -> Any:
    """Simulate a policy on the GPU, store the selected arms, and return sums such as total pulls.

    The arms are stored in `selected`, which has one column for each replication.
    """
    arguments = _arguments(plan, spec, world, budgets, first, selected)
    launch(program, _blocks(selected.shape[1]), THREADS, arguments)
    return arguments[-1].counts.copy_to_host().sum(axis=0)


def _blocks(threads: int) -> int:
    """Return the number of GPU blocks for a number of threads, at most `BLOCKS`."""
    return min(BLOCKS, -(-threads // THREADS))


def _arguments(
    plan: SimulationPlan, spec: PolicySpec, world: Any, budgets: Any, first: int, selected: Any
) -> tuple[Any, ...]:
    """Return the arguments, stored in GPU memory, of the GPU program that simulates a policy."""
    K, (B, count) = plan.world.arms, selected.shape
    columns = ARMS + 3 * K
    tables = max(1, min(_blocks(count), COUNTS // (B * columns)))
    return (
        spec.within(plan.world).params(K, budgets[-1]),
        world,
        np.uint64(plan.seed),
        np.uint64(first),
        copy_to_gpu(np.array(budgets, np.int64)),
        Score(selected, copy_to_gpu(np.zeros((tables, B, columns), np.int64))),
    )


def prepare(plans: Iterable[SimulationPlan]) -> None:
    """Begin to compile GPU programs that simulation plans need and that are not cached on disk yet."""
    found: dict[Any, SimulationPlan] = {}
    for plan in plans:
        world = copy_tuple_to_gpu(plan.world.numbers())
        for spec in plan.policies:
            program = _program(spec, plan.world.arms)
            if program not in _runnable and program not in found:
                arguments = _arguments(plan, spec, world, *_first_run(plan, spec))
                if is_missing(program, arguments):
                    found[program] = replace(plan, policies=(spec,))
    compile_ahead(found)


def _first_run(plan: SimulationPlan, spec: PolicySpec) -> tuple[Any, int, Any]:
    """Return the arguments of a short run that tests whether the GPU program of a policy works.

    They are the last arguments of `_play`: budgets, first replication, and selected arms.
    """
    budgets = plan.budgets_by_run(spec)[0]
    return budgets, 0, allocate_on_gpu((len(budgets), 1), np.int16)


def _program(spec: PolicySpec, arms: int) -> Any:
    """Return the GPU program of a policy, which does not depend on the options of the policy."""
    return _link(replace(spec, options=()), arms)  # options are arguments of the program


@cache
def _link(spec: PolicySpec, arms: int) -> Any:
    """Link the GPU program of a policy."""
    return build_thread_program(play_one, spec.layout(), arms, spec.fill())


_runnable: dict[Any, bool] = {}


def _runs_here(program: Any, plan: SimulationPlan, spec: PolicySpec, world: Any) -> bool:
    """Return whether the program of a policy runs on this GPU; if it does not, warn once."""
    if program not in _runnable:
        wait_for(program)
        try:
            _play(program, plan, spec, world, *_first_run(plan, spec))
            _runnable[program] = True
        except Exception as error:  # numba, NVVM, the linker and the driver raise different errors
            _runnable[program] = False
            reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
            where = f"{spec.label} with {plan.world.arms} arms"
            warnings.warn(
                f"{where} cannot run on the GPU and runs on the CPU instead: {reason}", stacklevel=2
            )
    return _runnable[program]


@cache
def _comparison() -> Any:
    """Return the GPU program that compares the arms that two policies selected."""
    return compile_gpu_program(compare_selections, fill={"place": thread_and_row})


def _compare(first: Any, second: Any, gaps: Any) -> tuple[Any, Any]:
    """Return by budget how often two policies both select a wrong arm, and how far their costs differ.

    The results are the number of replications in which both selections are wrong, and the sum of the squared
    differences of their opportunity costs.
    """
    rows, count = first.shape
    blocks = min(max(1, 1024 // rows), -(-count // THREADS))
    both = allocate_on_gpu((rows, blocks * THREADS), np.int64)
    squares = allocate_on_gpu((rows, blocks * THREADS), np.float64)
    launch(_comparison(), (blocks, rows), (THREADS, 1), (first, second, gaps, both, squares))
    return both.copy_to_host().sum(axis=1), squares.copy_to_host().sum(axis=1)
