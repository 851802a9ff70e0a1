"""Carrying a plan out: cut the replications into chunks, let an executor play them, add up the sums."""

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
from tideproof.lab.keyboard_interrupts import awaited, ctrl_c_waits
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.simulation_plan import SimulationPlan
from tideproof.lab.study import Recipe, Study

_MOST_HANDED_OUT = 1000  # chunks, before the first is awaited: bounds memory, not speed

Watch = AbstractContextManager[Callable[[int], None]]


def run_plan(
    plan: SimulationPlan,
    replications: int,
    executor: Executor | None = None,
    engine: str = "auto",
    watch: Watch | None = None,
) -> Study:
    """Run a plan that often on that engine.

    `watch` is entered once it begins, and gives what to call with the replications done.
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
            show = stack.enter_context(watch or nullcontext(_nothing))
            chosen.prepare([plan])
            if executor is None:
                chosen.run_chunk(plan, 0, 1)  # compiles in this thread, where Ctrl-C is heard at once
            look = stack.enter_context(ctrl_c_waits())
            pool = stack.enter_context(chosen.workers()) if executor is None else executor
            for count, tally in _tallies(chosen, plan, replications, pool, look):
                selected.append(tally.selected)
                more = tally if total is None else total.plus(tally)
                total, done = more, done + count  # both or none, whenever Ctrl-C comes
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
        made=_versions() | {"engine": chosen.name, "seconds": round(time.perf_counter() - start, 3)},
    )


def _tallies(
    chosen: Engine, plan: SimulationPlan, replications: int, pool: Executor, look: Callable[[], None]
) -> Iterator[tuple[int, ReplicationSums]]:
    """Yield size and sums of each chunk, in order: floating-point sums depend on it."""
    size = chosen.chunk_size(plan)
    firsts = iter(range(0, replications, size))
    waiting: deque[tuple[int, Future[ReplicationSums]]] = deque()
    try:
        while True:
            for first in islice(firsts, _MOST_HANDED_OUT - len(waiting)):
                count = min(size, replications - first)
                waiting.append((count, pool.submit(chosen.run_chunk, plan, first, count)))
            if not waiting:
                return
            count, future = waiting[0]
            yield count, awaited(future, look)
            waiting.popleft()
    finally:
        for _, future in waiting:
            future.cancel()


def _versions() -> dict[str, Any]:
    made: dict[str, Any] = {"tideproof": __version__, "python": platform.python_version()}
    for package in ("numpy", "numba"):
        try:
            made[package] = version(package)
        except PackageNotFoundError:
            made[package] = None
    return made


def _nothing(done: int) -> None:
    pass
