"""Run a simulation plan: divide the replications into chunks, run them on an executor, add up the results."""

from __future__ import annotations

import platform
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, ExitStack, nullcontext
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any

import numpy as np

from tideproof._version import __version__
from tideproof.checks import require_whole_number
from tideproof.errors import InputError
from tideproof.lab.engines import Engine, find_engine
from tideproof.lab.keyboard_interrupts import delay_ctrl_c, wait_for_result
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.simulation_plan import SimulationPlan
from tideproof.lab.study import Recipe, Study

MOST_SUBMITTED = 1000  # chunks submitted and not yet added up; limits memory, not speed

# Context manager that yields a function to call with the number of finished replications.
ProgressContext = AbstractContextManager[Callable[[int], None]]


def run_plan(
    plan: SimulationPlan,
    replications: int,
    executor: Executor | None = None,
    engine: str = "auto",
    watch: ProgressContext | None = None,
) -> Study:
    """Run the replications of a simulation plan and return their results as a `Study`.

    `watch` is entered when the run begins; the function that it yields receives the number of finished
    replications.
    """
    replications = require_whole_number("replications", replications, 1)
    if executor is not None and not hasattr(executor, "submit"):
        raise InputError(f"executor must be a concurrent.futures.Executor, not {executor!r}")
    chosen = find_engine(engine, executor)
    start = time.perf_counter()
    total: ReplicationSums | None = None
    selected: list[Any] = []
    done = 0
    try:
        with ExitStack() as stack:
            show = stack.enter_context(watch or nullcontext(_ignore_progress))
            chosen.prepare([plan])
            if executor is None:
                chosen.run_chunk(plan, 0, 1)  # compiles in this thread, so Ctrl-C takes effect at once
            check = stack.enter_context(delay_ctrl_c())
            pool = stack.enter_context(chosen.workers()) if executor is None else executor
            for count, tally in _tallies(chosen, plan, replications, pool, check):
                selected.append(tally.selected)
                new_total = tally if total is None else total.plus(tally)
                total, done = new_total, done + count  # one statement, so that Ctrl-C cannot separate the two
                show(done)
    except KeyboardInterrupt:
        if total is None:
            raise
        print(f"interrupted after {done:,} of {replications:,} replications", file=sys.stderr)
    assert total is not None
    return Study(
        world=plan.world,
        recipes=tuple(Recipe(spec.name, dict(spec.options), spec.label) for spec in plan.policies),
        budgets=plan.budgets,
        replications=done,
        seed=plan.seed,
        tally=total._replace(selected=np.concatenate(selected, axis=-1)[..., :done]),
        interrupted=done < replications,
        keep=plan.keep,
        made=package_versions() | {"engine": chosen.name, "seconds": round(time.perf_counter() - start, 3)},
    )


def _tallies(
    chosen: Engine, plan: SimulationPlan, replications: int, pool: Executor, check: Callable[[], None]
) -> Iterator[tuple[int, ReplicationSums]]:
    """Yield the number of replications and the summed results of each chunk, always in the same order.

    Rounding is therefore always the same.
    """
    size = chosen.chunk_size(plan)
    firsts = iter(range(0, replications, size))
    waiting: deque[tuple[int, Future[ReplicationSums]]] = deque()
    try:
        while True:
            for first in islice(firsts, MOST_SUBMITTED - len(waiting)):
                count = min(size, replications - first)
                waiting.append((count, pool.submit(chosen.run_chunk, plan, first, count)))
            if not waiting:
                return
            count, future = waiting[0]
            yield count, wait_for_result(future, check)
            waiting.popleft()
    finally:
        for _, future in waiting:
            future.cancel()


def package_versions() -> dict[str, Any]:
    """Return the versions of tideproof, Python, NumPy and numba, which are saved with simulation results."""
    made: dict[str, Any] = {"tideproof": __version__, "python": platform.python_version()}
    for package in ("numpy", "numba"):
        try:
            made[package] = version(package)
        except PackageNotFoundError:
            made[package] = None
    return made


def _ignore_progress(done: int) -> None:
    """Do nothing; this function is called with the progress of a simulation if no progress bar is shown."""
