"""Run a chunk of replications on the CPU; return sums such as how often each arm was selected.

All policies of a plan run in the same random worlds. The result of a chunk depends only on the plan and on
the index of its first replication. All chunks have the same size and are added in a fixed order, so the
results do not depend on the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import combinations
from threading import Lock
from typing import Any

import numpy as np

from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.kernel_linker import link
from tideproof.core.kernel_state_arrays import Memory
from tideproof.core.program_cache import attach_disk_cache
from tideproof.kernels.simulate.replication_loop import ARMS, Score, Trace, replicate
from tideproof.lab.executors import threads
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.simulation_plan import SimulationPlan
from tideproof.policies.final_selection_rules import Selection
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.worlds import World

CHUNK = 1000  # replications

_linking = Lock()


def compiled_loop(spec: PolicySpec, trace: bool = False) -> Callable[..., Any]:
    """Return the compiled loop that simulates a policy, for any number of arms and any options."""
    return _compile(spec.policy, spec.selection, trace)


@cache
def _compile(policy: Policy, selection: Selection, trace: bool) -> Callable[..., Any]:
    """Compile, or load from disk, the loop that simulates a policy with a given selection rule."""
    fill = PolicySpec(policy, selection).fill(trace)
    return attach_disk_cache(link(replicate, compile_for_cpu, fill), replicate, compile_for_cpu, fill)


def run_chunk(plan: SimulationPlan, first: int, count: int) -> ReplicationSums:
    """Run `count` replications of a simulation on the CPU, from number `first` on; return summed results.

    The kernels are compiled, which needs numba.
    """
    scores = [score_policy(plan, spec, first, count) for spec in plan.policies]
    costs = [plan.world.gaps[score.selected] for score in scores]
    shape = len(scores) * (len(scores) - 1) // 2, len(plan.budgets)
    both, squares = np.zeros(shape, np.int64), np.zeros(shape)
    for pair, (a, b) in enumerate(combinations(costs, 2)):
        both[pair] = np.count_nonzero((a > 0.0) & (b > 0.0), axis=1)
        squares[pair] = np.square(a - b).sum(axis=1)
    kept = np.stack([score.selected[plan.kept_rows] for score in scores])
    return ReplicationSums.of_counts(np.stack([score.counts for score in scores]), both, squares, kept)


def score_policy(plan: SimulationPlan, spec: PolicySpec, first: int, count: int) -> Score:
    """Simulate one policy in some replications; return the selected arms, and sums such as total pulls.

    There are `count` replications, from number `first` on.
    """
    with _linking:
        loop = compiled_loop(spec)
    scores = [
        run_loop(loop, spec, plan.world, budgets, plan.seed, first, count)[0]
        for budgets in plan.budgets_by_run(spec)
    ]
    return Score(np.vstack([s.selected for s in scores]), np.concatenate([s.counts for s in scores]))


def score_on_all_cores(plan: SimulationPlan, spec: PolicySpec, first: int, count: int) -> Score:
    """Simulate one policy on all cores; return the selected arms, and sums such as total pulls.

    The result is that of `score_policy`.
    """
    with threads() as pool:
        parts = list(
            pool.map(
                lambda start: score_policy(plan, spec, start, min(CHUNK, first + count - start)),
                range(first, first + count, CHUNK),
            )
        )
    return Score(
        np.hstack([part.selected for part in parts]), np.sum([part.counts for part in parts], axis=0)
    )


def run_loop(
    loop: Callable[..., Any],
    spec: PolicySpec,
    world: World,
    budgets: Sequence[int],
    seed: int,
    first: int,
    count: int,
    trace: Trace | None = None,
    memory: Memory[Any] | None = None,
) -> tuple[Score, Memory[Any]]:
    """Run replications of a policy with its simulation loop, which is either compiled or interpreted.

    Returns the score, and the memory after the last replication. If memory is given, it is used again.
    """
    K, B = world.arms, len(budgets)
    score = Score(np.zeros((B, count), np.int16), np.zeros((B, ARMS + 3 * K), np.int64))
    memory = spec.memory(K) if memory is None else memory
    loop(
        spec.within(world).params(K, budgets[-1]),
        memory.view,
        memory.floats,
        memory.ints,
        world.numbers(),
        np.uint64(seed),
        np.uint64(first),
        np.array(budgets, np.int64),
        score,
        empty_trace(0, K) if trace is None else trace,
    )
    return score, memory


def empty_trace(steps: int, arms: int) -> Trace:
    """Allocate the arrays that record every step of one replication."""
    return Trace(
        arm=np.zeros(steps, np.int64),
        environment=np.zeros(steps, np.int64),
        shift=np.zeros(steps),
        reward=np.zeros(steps),
        estimates=np.zeros((steps, arms)),
    )
