"""simulate: the public function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from contextlib import nullcontext

from tideproof.lab.chunk_runner import Watch, run_plan
from tideproof.lab.simulation_plan import make_plan
from tideproof.lab.study import Study
from tideproof.policies.policy_registry import Chosen
from tideproof.progress import progress_bar
from tideproof.worlds import World


def simulate(
    world: World,
    policies: Chosen | Iterable[Chosen],
    budgets: int | Iterable[int],
    replications: int = 100_000,
    seed: int = 0,
    executor: Executor | None = None,
    progress: bool | Callable[[int], None] = False,
    engine: str = "auto",
    keep: int | Iterable[int] = (),
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
        Names, `tp.policy(...)` or a `Policy` itself; each label must be used once.
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
    keep
        Budgets, in ascending order, at which the arm selected in every replication is kept, for
        `study.selected`: two bytes each. Worlds of one seed share their noise, so that studies can be
        paired by it.

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
    plan = make_plan(world, policies, budgets, seed, keep)
    watch: Watch | None = None
    if callable(progress):
        watch = nullcontext(progress)
    elif progress:
        watch = progress_bar("simulating", replications, "replications", first="compiling")
    return run_plan(plan, replications, executor, engine, watch)
