"""Speed of the GPU engine compared with one processor core of the same machine.

Programs are compiled by other processes first, as the lab does, and the second run is timed. Memory, and
the number of different choices between the engines, are measured as well.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import tideproof as tp
from lab import ARMS, processor, table, timed
from tideproof.errors import TideproofError
from tideproof.lab.engines import find_engine
from tideproof.lab.engines.cpu_engine import score_on_all_cores, score_policy
from tideproof.lab.executors import processes
from tideproof.lab.simulation_plan import SimulationPlan

STEPS = {5: 500, 10: 500, 20: 600, 50: 1000}
REPLICATIONS = {5: 2_000_000, 10: 1_000_000, 20: 100_000, 50: 30_000}
CPU_SECONDS = 0.2
COUNTS = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)
SAME = 1_000_000
MORE = ("p1+ips", "exp4p+ips", "reduce:linlucb", "reduce:round-robin")
CUBIC = {"reduce:lucb"}  # O(K^3), so neither engine is practical beyond ten arms


def report() -> Iterator[str]:
    """Yield the parts of the report as they are ready."""
    try:
        find_engine("cuda", None)
    except TideproofError as error:
        yield f"## The GPU lab\n\nNot measured: {error}."
        return
    from numba import cuda

    yield f"## The GPU lab\n\n{cuda.get_current_device().name}; {processor()}, {os.cpu_count()} cores."
    names = [*tp.policy_names(), "round-robin+ols", "reduce:successive-rejects", "reduce:lucb"]
    asked = [(name, arms) for arms in ARMS for name in names if arms <= 10 or name not in CUBIC]
    asked.sort(key=lambda each: -each[1])
    with processes() as pool:
        list(pool.map(_compile, [*asked, *((name, 5) for name in MORE)]))
    yield table(  # before larger programs run, because the local memory that they reserve is not released
        "Memory of the GPU in use at most, all included: LinLUCB and contrast, K = 5, T = 60, one budget.",
        ["replications", "MiB"],
        [[f"{count:,}", f"{_memory(count) / 2**20:,.0f}"] for count in COUNTS],
    )
    found = {}
    for each in reversed(asked):  # fast ones first
        found[each] = _measure(*each)
        print(*each, found[each], file=sys.stderr, flush=True)
    yield table(
        f"Millions of steps in a second: one core, the GPU, and their ratio (MDM, general; "
        f"T = {', '.join(str(T) for T in STEPS.values())}).",
        ["policy", *(f"K = {arms}" for arms in ARMS)],
        [[name, *(_cell(found.get((name, arms))) for arms in ARMS)] for name in names],
    )
    yield table(
        "Registers and bytes of local memory of a thread, and how many warps (of 64) a multiprocessor holds.",
        ["policy", *(f"K = {arms}" for arms in ARMS)],
        [[name, *(_room(found.get((name, arms))) for arms in ARMS)] for name in names],
    )
    yield table("Whole runs, the second of two.", ["", "seconds"], [*_long_runs()])
    yield table(
        f"The same {SAME:,} replications on both engines, MDM, general, K = 5, T = 120, at two budgets: selections that "
        "differ, and pulls of different arms.",
        ["policy", "selections", "pulls"],
        [[name, *_same(name)] for name in [*names, *MORE]],
    )


def _plan(name: str, arms: int) -> SimulationPlan:
    return SimulationPlan(tp.mdm(arms), (tp.policy(name),), (STEPS[arms],), 1)


def _compile(each: tuple[str, int]) -> None:
    from tideproof.lab.engines.cuda_engine import run_chunk

    plan = _plan(*each)
    run_chunk(plan, 0, 1)
    score_policy(plan, plan.policies[0], 0, 1)


def _measure(name: str, arms: int) -> dict[str, Any]:
    from tideproof.lab.engines import cuda_engine as gpu

    plan, count = _plan(name, arms), REPLICATIONS[arms]
    gpu.run_chunk(plan, 0, 1)
    fast = count * STEPS[arms] / timed(lambda: gpu.run_chunk(plan, 0, count))
    score_policy(plan, plan.policies[0], 0, 1)
    few, took = 10, 0.0
    while took < CPU_SECONDS:  # a call costs up to a millisecond, so many replications are run
        few *= 2
        took = timed(partial(score_policy, plan, plan.policies[0], 0, few))
    slow = few * STEPS[arms] / took
    program = next(iter(gpu._program(plan.policies[0], arms).overloads.values()))
    registers = -(-program.regs_per_thread // 8) * 8
    warps = 65536 // (registers * gpu.THREADS) * (gpu.THREADS // 32)
    return {
        "fast": fast,
        "slow": slow,
        "registers": program.regs_per_thread,
        "local": program.local_mem_per_thread,
        "warps": min(warps, 64),
    }


def _cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    return f"{found['slow'] / 1e6:,.1f}, {found['fast'] / 1e6:,.0f} ({found['fast'] / found['slow']:,.0f})"


def _room(found: dict[str, Any] | None) -> str:
    return "" if found is None else f"{found['registers']}, {found['local']:,} ({found['warps']})"


def _long_runs() -> Iterator[list[str]]:
    from tideproof.lab.engines.cuda_engine import run_chunk

    for name in ("linlucb", "contrast"):
        for arms in (5, 10):
            plan = _plan(name, arms)
            seconds = [timed(lambda plan=plan: run_chunk(plan, 0, 10_000_000)) for _ in range(2)][1]
            yield [f"1e7 replications of {name}, K = {arms}, T = 500, general", f"{seconds:.3f}"]


def _memory(replications: int) -> int:
    """Return the largest number of bytes of GPU memory in use during a run, including other processes."""
    from numba import cuda

    used, done = [0], threading.Event()

    def watch() -> None:
        with cuda.gpus[0]:
            while not done.wait(0.005):
                free, total = cuda.current_context().get_memory_info()
                used.append(total - free)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        tp.simulate(tp.mdm(5), ["linlucb", "contrast"], [60], replications, 1, engine="cuda")
    finally:
        done.set()
        watcher.join()
    return max(used)


def _same(name: str) -> list[str]:
    """Return how many selections and pulls differ between the engines."""
    from tideproof.lab.engines import cuda_engine as gpu

    spec, world = tp.policy(name), tp.mdm(5)
    plan = SimulationPlan(world, (spec,), (60, 120), 7)
    here = gpu.score_policy(plan, spec, gpu.tuple_to_gpu(world.numbers()), 0, SAME)
    there = score_on_all_cores(plan, spec, 0, SAME)
    apart = np.count_nonzero(here.selected.copy_to_host() != there.selected)
    moved = np.abs(here.counts - there.counts)[:, -world.arms :].sum() // 2
    return [str(apart), str(moved)]


if __name__ == "__main__":
    for part in report():
        print(part, end="\n\n", flush=True)
