"""What a step of a replication costs, and what is to be compared with it.

The machines are noisy. So everything is measured in turns with the yardstick, one normal number from
NumPy's bulk generator, and the best of many short rounds counts on both sides.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import tideproof as tp
from tideproof.lab.blocks import BLOCK, Plan, play, run_block

ROUNDS = 15
T = 500


def report() -> Iterator[str]:
    """Yield the parts of the report as they are ready."""
    yield f"## The lab ({platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()})"
    yield table(
        "Nanoseconds for one step of one replication, one thread, all included: drawing the world, the "
        "policy, scoring at every step (MDM, general, T = 500). In brackets: times one normal from "
        "`standard_normal` in the same run.",
        ["policy", "K = 5", "K = 10", "K = 20", "K = 50"],
        [step_row(name) for name in ["normal", *tp.policy_names(), "round-robin+ols"]],
    )
    yield table(
        "LinLUCB, K = 5, by the length of environments: the cost does not depend on their number.",
        ["environments", "ns a step"],
        [[name, f"{step_cost('linlucb', tp.mdm(5, name))[0]:.0f}"] for name in ("worst-case", "stationary")],
    )
    yield table("The same step elsewhere, K = 5.", ["", "ns a step"], [*elsewhere()])
    yield table("Whole runs.", ["", "measured"], [*whole_runs()])


def table(title: str, header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]
    return "\n".join([title, "", *lines])


def fastest(*tasks: Callable[[], object]) -> list[float]:
    """Return the seconds of each task's fastest round; the tasks take turns."""
    best = [float("inf")] * len(tasks)
    for _ in range(ROUNDS):
        for i, task in enumerate(tasks):
            start = time.perf_counter()
            task()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def yardstick(n: int = 1_000_000) -> Callable[[], object]:
    generator, out = np.random.Generator(np.random.PCG64(0)), np.empty(n)
    return lambda: generator.standard_normal(out=out)


def step_cost(policy: str, world: tp.World) -> tuple[float, float]:
    """Return nanoseconds a step, and the same over the cost of one normal."""
    spec = tp.policy(policy)
    first = next(t for t in range(1, T + 1) if affordable(spec, world.arms, t))
    budgets = [T] if spec.policy.needs_horizon else range(first, T + 1)
    loop, replications = spec.compiled(), max(400 // world.arms, 8)
    task = lambda: play(loop, spec, world, budgets, 1, 0, replications)  # noqa: E731
    task()
    ours, normals = fastest(task, yardstick())
    return ours / replications / T * 1e9, (ours / replications / T) / (normals / 1e6)


def affordable(spec: tp.PolicySpec, arms: int, budget: int) -> bool:
    try:
        spec.params(arms, budget)
    except tp.BudgetTooSmall:
        return False
    return True


def step_row(policy: str) -> list[str]:
    if policy == "normal":
        (seconds,) = fastest(yardstick())
        return ["one normal from NumPy (PCG64)", f"{seconds * 1e3:.1f} (1)", "", "", ""]
    costs = [step_cost(policy, tp.mdm(arms)) for arms in (5, 10, 20, 50)]
    return [policy, *(f"{ns:,.0f} ({ratio:.1f})" for ns, ratio in costs)]


def elsewhere() -> Iterator[list[str]]:
    """Measure a refit by statsmodels at every step, river's UCB, and our own kernels interpreted."""
    run = tp.replay(tp.mdm(5), "round-robin", budget=200)
    yield ["statsmodels `OLS(...).fit()` of arm and environment dummies at every step", f"{refits(run):,.0f}"]
    yield ["river `bandit.UCB`, `pull` and `update`", f"{river_steps(run):,.0f}"]
    spec, steps = tp.policy("linlucb"), 2000
    (seconds,) = fastest(lambda: tp.replay(tp.mdm(5), spec, budget=steps))
    yield [
        "tideproof's LinLUCB interpreted, as in `Experiment` and `replay`",
        f"{seconds / steps * 1e9:,.0f}",
    ]


def refits(run: object) -> float:
    import statsmodels.api as sm

    arms = np.eye(5)[run.arm]
    environments = np.eye(run.environment.max() + 1)[run.environment]
    start = time.perf_counter()
    for t in range(20, 200):
        seen = environments[:t, 1 : run.environment[t - 1] + 1]  # s_1 = 0
        sm.OLS(run.reward[:t], np.hstack([arms[:t], seen])).fit().params  # noqa: B018
    return (time.perf_counter() - start) / 180 * 1e9


def river_steps(run: object) -> float:
    from river import bandit

    policy, arms = bandit.UCB(delta=1.0, seed=0), list(range(5))
    noise = np.random.default_rng(0).standard_normal(5000).tolist()

    def steps() -> None:
        for eps in noise:
            arm = policy.pull(arms)
            policy.update(arm, 0.5 * arm + eps)

    (seconds,) = fastest(steps)
    return seconds / len(noise) * 1e9


STUDY = """
import tideproof as tp
policies = ["linlucb", "round-robin+ols"]
study = tp.simulate(tp.mdm(5), policies, budgets={budgets}, replications=100_000, seed=1)
"""


def whole_runs() -> Iterator[list[str]]:
    plan = Plan(tp.mdm(5), (tp.policy("linlucb"), tp.policy("round-robin+ols")), (T,), 1)
    blocks = [first * BLOCK // 4 for first in range(8)]

    def on(pool: ThreadPoolExecutor) -> Callable[[], object]:
        return lambda: list(pool.map(lambda first: run_block(plan, first, BLOCK // 4), blocks))

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        on(one)(), on(two)()
        alone, together = fastest(on(one), on(two))
    yield ["two threads against one", f"{alone / together:.2f} times as fast"]

    seconds = min(fresh(STUDY.format(budgets="[100, 200, 300, 400, 500]"))[0] for _ in range(3))
    yield [
        "1e5 replications of LinLUCB and round-robin+ols, K = 5, T = 500, in a fresh process, "
        "imports and compilation included (best of 3)",
        f"{seconds:.1f} s",
    ]
    bare, compiled = fresh("")[1], fresh(STUDY.replace("100_000", "1").format(budgets="[1000]"))[1]
    many = fresh(STUDY.format(budgets="range(30, 1001)"))[1]
    yield [
        "memory above the bare interpreter, same policies, 1e5 replications, T = 1000, 971 checkpoints",
        f"{many - bare:.0f} MB",
    ]
    yield ["of which numba, LLVM and the other imports", f"{compiled - bare:.0f} MB"]


def fresh(program: str) -> tuple[float, float]:
    """Run a program in a new interpreter; return its seconds and its peak memory in MB."""
    peak = "import resource as r, sys; sys.stdout.write(str(r.getrusage(r.RUSAGE_SELF).ru_maxrss))"
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", program + "\n" + peak], capture_output=True, check=True)
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return time.perf_counter() - start, int(done.stdout) / unit


assert resource  # a clear ImportError here on systems that cannot measure memory
