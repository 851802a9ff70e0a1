"""simulate: check, cut the replications into blocks, let an executor play them, add up the sums."""

from __future__ import annotations

import platform
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version
from itertools import islice, pairwise
from typing import Any

from tideproof._version import __version__
from tideproof.checks import whole
from tideproof.errors import InputError
from tideproof.lab.engines import Engine, find_engine
from tideproof.lab.plan import Plan
from tideproof.lab.study import Recipe, Study
from tideproof.lab.tally import Tally
from tideproof.policies.registry import as_policies
from tideproof.policies.spec import PolicySpec
from tideproof.worlds import World, as_world

_AHEAD = 1000  # blocks handed to the executor before the first is awaited: bounds memory, not speed


def simulate(
    world: World,
    policies: str | PolicySpec | Iterable[str | PolicySpec],
    budgets: int | Iterable[int],
    replications: int = 100_000,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool | Callable[[int], None] = False,
    engine: str = "auto",
) -> Study:
    """Run policies in a world many times over and score what they select.

    Every policy meets the same worlds, replication by replication. The numbers are the same for any
    executor and any number of workers. Policies that need no horizon are run once to the largest
    budget and read at each; the others are run once for each budget.

    Parameters
    ----------
    world
        `tp.mdm(...)`, `tp.slippage(...)` or `tp.World(...)`.
    policies
        Names or `tp.policy(...)`; each label must be used once.
    budgets
        Checkpoints in ascending order.
    replications
        How often to run each policy.
    seed
        0 to 2**64 - 1. The same seed gives the same study.
    executor
        Any `concurrent.futures.Executor`: one of processes, or `client.get_executor()` of a Dask
        client. Threads on all cores if none is given.
    progress
        Show a bar with the replications done and the time left; or what to call with the replications
        done, each time that some are.
    engine
        `cpu`, `cuda` (a GPU, with the extra `gpu`) or `auto`: a GPU if there is one. Both play the
        same worlds; docs/performance.md says how often rounding lets them choose differently.

    Returns
    -------
    Study
        If Ctrl-C ends the run, of the replications finished until then, marked as `interrupted`.

    Examples
    --------
    >>> import tideproof as tp
    >>> study = tp.simulate(tp.mdm(3), "round-robin", budgets=[30, 90], replications=2000, seed=1)
    >>> study.pics("round-robin")
    array([0.244 , 0.1065])
    """
    plan = planned(world, policies, budgets, seed)
    doing = "simulating" if progress is True else progress or None
    return carry_out(plan, replications, executor, doing, engine)


def carry_out(
    plan: Plan,
    replications: int,
    executor: Executor | None,
    doing: str | Callable[[int], None] | None,
    on: str = "auto",
) -> Study:
    """Run a plan on that engine. `doing` is what a progress bar says, or what to call instead of it."""
    replications = whole("replications", replications, 1)
    if executor is not None and not hasattr(executor, "submit"):
        raise InputError(f"executor must be a concurrent.futures.Executor, not {executor!r}")
    chosen = find_engine(on, executor)
    start = time.perf_counter()
    total: Tally | None = None
    done = 0
    try:
        with ExitStack() as stack:
            pool = stack.enter_context(chosen.workers()) if executor is None else executor
            show = doing if callable(doing) else _nothing
            if isinstance(doing, str):
                show = stack.enter_context(_bar(replications, doing))
            chosen.prepare([plan])
            if executor is None:
                chosen.play(plan, 0, 1)  # compiles in this thread, where Ctrl-C is heard
            for count, tally in _tallies(chosen, plan, replications, pool):
                total = tally if total is None else total.plus(tally)
                done += count
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
        tally=total,
        interrupted=done < replications,
        made=_versions() | {"engine": chosen.name, "seconds": round(time.perf_counter() - start, 3)},
    )


def _tallies(chosen: Engine, plan: Plan, replications: int, pool: Executor) -> Iterator[tuple[int, Tally]]:
    """Yield size and sums of each block, in order: floating-point sums depend on it."""
    size = chosen.size(plan)
    firsts = iter(range(0, replications, size))
    waiting: deque[tuple[int, Future[Tally]]] = deque()
    try:
        while True:
            for first in islice(firsts, _AHEAD - len(waiting)):
                count = min(size, replications - first)
                waiting.append((count, pool.submit(chosen.play, plan, first, count)))
            if not waiting:
                return
            count, future = waiting[0]
            yield count, future.result()
            waiting.popleft()
    finally:
        for _, future in waiting:
            future.cancel()


def planned(world: Any, policies: Any, budgets: Any, seed: Any) -> Plan:
    """Return the plan, or say what is wrong with it before anything runs."""
    arms = as_world(world).arms
    specs = as_policies(policies)
    if not specs:
        raise InputError("policies must not be empty")
    labels = [spec.label for spec in specs]
    for label in labels:
        if labels.count(label) > 1:
            raise InputError(f"two policies are labelled {label!r}; give one tp.policy(..., label=...)")
    points = tuple(budgets) if isinstance(budgets, Iterable) else (budgets,)
    points = tuple(whole("a budget", budget, 1) for budget in points)
    if not points:
        raise InputError("budgets must not be empty")
    for before, after in pairwise(points):
        if after <= before:
            raise InputError(f"budgets must be in ascending order, each once; {after} comes after {before}")
    for spec in specs:
        for budget in points if spec.policy.needs_horizon else points[:1]:
            spec.within(world).params(arms, budget)
    return Plan(world, specs, points, whole("seed", seed, 0, 2**64 - 1))


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


@contextmanager
def _bar(replications: int, doing: str) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr, if somebody looks; yields what to call with the replications done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("replications, time left"),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    unseen = not (console.is_terminal or console.is_jupyter)
    with Progress(*columns, console=console, transient=True, disable=unseen) as progress:
        task = progress.add_task("compiling", total=replications)
        yield lambda done: progress.update(task, completed=done, description=doing)
