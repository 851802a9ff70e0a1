"""The public function `simulate`, which runs policies many times in a simulated world."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

from tideproof.lab.chunk_runner import ProgressContext, run_plan
from tideproof.lab.matrix_simulation import simulate_matrix
from tideproof.lab.simulation_plan import make_plan
from tideproof.lab.study import Study
from tideproof.policies.policy_registry import Chosen
from tideproof.progress import progress_bar
from tideproof.worlds import ResponseMatrix, World


def simulate(
    world: World | ResponseMatrix,
    policies: Chosen | Iterable[Chosen],
    budgets: int | Iterable[int],
    replications: int = 100_000,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool | Callable[[int], None] = False,
    engine: str = "auto",
    keep: int | Iterable[int] = (),
) -> Study:
    """Run policies many times in a simulated world, and count how often they select a wrong arm.

    In each replication all policies run in the same random world. The results do not depend on the executor
    or on the number of workers. Policies that do not need the budget in advance run once, up to the largest
    budget, and their selection is recorded at each budget. Other policies run once for each budget.

    Parameters
    ----------
    world
        `tp.mdm(...)`, `tp.slippage(...)` or `tp.World(...)`; or `tp.worlds.ResponseMatrix(...)`, in which
        each pair of an arm and an environment can be asked for once, in random orders of both.
    policies
        Names, `tp.policy(...)` or `Policy` objects; their labels must be unique. For a response matrix:
        `"valuable-pairs"` (the rule of `tp.Experiment` with `environments`; it estimates the variances only
        after every 5 % of the calls), `"paired-halving"` and `"ucb-e"`.
    budgets
        Numbers of pulls at which the selection is recorded, in ascending order.
    replications
        Number of runs of each policy.
    seed
        0 to 2**64 - 1. The same seed gives the same study.
    executor
        Any `concurrent.futures.Executor`, such as a process pool or `client.get_executor()` of a Dask
        client. By default, threads on all cores.
    progress
        True shows a progress bar with the time left. A function is called repeatedly with the number of
        finished replications.
    engine
        `cpu`, `cuda` (a GPU, with the extra `gpu`) or `auto`: a GPU if there is one. All engines simulate
        the same worlds; docs/performance.md says how often rounding leads to different choices.
    keep
        Budgets, in ascending order, at which the selected arm of every replication is kept for
        `study.selected`; each takes two bytes. Worlds with the same seed share their noise, so that
        replications of different studies can be paired.

    Returns
    -------
    Study
        The results. If Ctrl-C ends the run, they cover the replications that were finished, and the study
        is marked as `interrupted`.

    Examples
    --------
    >>> import tideproof as tp
    >>> study = tp.simulate(tp.mdm(3), "round-robin", budgets=[30, 90], replications=2000, seed=1)
    >>> study.pics("round-robin")
    array([0.244 , 0.1065])
    """
    watch: ProgressContext | None = None
    if callable(progress):
        watch = nullcontext(progress)
    elif progress:
        watch = progress_bar("simulating", replications, "replications", first="compiling")
    if isinstance(world, ResponseMatrix):
        rules: Any = policies
        with watch or nullcontext(lambda done: None) as show:
            return simulate_matrix(world, rules, budgets, replications, seed, executor, engine, keep, show)
    plan = make_plan(world, policies, budgets, seed, keep)
    return run_plan(plan, replications, executor, engine, watch)
