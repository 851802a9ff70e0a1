"""Cost of a step of a simulated replication, compared with NumPy and other libraries.

Because machines are noisy, everything is measured in turns with one normal number from NumPy's bulk
generator, and the fastest of many short rounds counts on both sides.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from tempfile import TemporaryDirectory

import numpy as np

import tideproof as tp
from tideproof.lab.engines.cpu_engine import CHUNK, compiled_loop, run_chunk, run_loop
from tideproof.lab.replay import Replay
from tideproof.lab.simulation_plan import SimulationPlan

ROUNDS = 20
ROUND = 0.03  # approximate seconds of a round
NORMALS = 500_000
T = 500
ARMS = (5, 10, 20, 50)

Task = Callable[[], object]


def report() -> Iterator[str]:
    """Yield the parts of the report as they are ready."""
    yield f"## The lab\n\n{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}."
    yield table(
        "Nanoseconds for one step of one replication on one thread, all included: drawing the world, the "
        "policy, scoring at every step (MDM, general, T = 500; policies that need the horizon are scored "
        "at its end). In brackets: times one normal from `standard_normal`, measured in turns.",
        ["policy", *(f"K = {arms}" for arms in ARMS)],
        [normal_row(), *(step_row(name) for name in [*tp.policy_names(), "round-robin+ols", "reduce:lucb"])],
    )
    yield table(
        "LinLUCB by the length of environments, K = 5; their number costs only their drawing.",
        ["environments", "ns a step"],
        [
            ["250 of 2 steps", cell(step_cost("linlucb", tp.mdm(5, "worst-case")))],
            ["19 of 2 to 50 steps", cell(step_cost("linlucb", tp.mdm(5)))],
            ["1 of 500 steps", cell(step_cost("linlucb", tp.mdm(5, "stationary")))],
        ],
    )
    yield table("A step elsewhere, K = 5.", ["", "ns a step"], [*elsewhere()])
    yield table("Whole runs.", ["", "measured"], [*whole_runs()])


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(cells) + " |" for cells in (header, ["---"] * len(header), *rows)]
    return "\n".join([title, "", *lines])


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            return next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def fastest(*tasks: Task) -> list[float]:
    """Return the seconds of each task's fastest round; the tasks take turns."""
    best = [float("inf")] * len(tasks)
    for _ in range(ROUNDS):
        for i, task in enumerate(tasks):
            best[i] = min(best[i], timed(task))
    return best


def timed(task: Task) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def normals() -> Task:
    generator, out = np.random.Generator(np.random.PCG64(0)), np.empty(NORMALS)
    return lambda: generator.standard_normal(out=out)


def step_cost(name: str, world: tp.World) -> tuple[float, float]:
    """Return the nanoseconds of a step, and their ratio to the time of one normal number."""
    spec = tp.policy(name)
    first = next(t for t in range(1, T + 1) if affordable(spec, world, t))
    budgets = [T] if spec.policy.needs_horizon else range(first, T + 1)
    loop = compiled_loop(spec)

    def task(replications: int) -> Task:
        return lambda: run_loop(loop, spec, world, budgets, 1, 0, replications)

    task(1)()  # compiles
    few, more = (min(timed(task(count)) for _ in range(5)) for count in (2, 12))
    replications = max(
        min(int(10 * ROUND / max(more - few, 1e-9)), CHUNK), 2
    )  # a call itself costs up to 1 ms
    ours, theirs = fastest(task(replications), normals())
    step = ours / replications / T
    return step * 1e9, step / (theirs / NORMALS)


def affordable(spec: tp.PolicySpec, world: tp.World, budget: int) -> bool:
    try:
        spec.within(world).params(world.arms, budget)
    except tp.errors.BudgetTooSmall:
        return False
    return True


def cell(cost: tuple[float, float]) -> str:
    return f"{cost[0]:,.0f} ({cost[1]:.1f})"


def normal_row() -> list[str]:
    (seconds,) = fastest(normals())
    return ["one normal from NumPy (PCG64)", f"{seconds / NORMALS * 1e9:.1f} (1)", *[""] * (len(ARMS) - 1)]


def step_row(name: str) -> list[str]:
    return [name, *(cell(step_cost(name, tp.mdm(arms))) for arms in ARMS)]


def elsewhere() -> Iterator[list[str]]:
    run = tp.replay(tp.mdm(5), "round-robin", budget=200)
    yield ["statsmodels, `OLS(...).fit()` of arm and environment dummies at each step", f"{refits(run):,.0f}"]
    yield ["river, `bandit.UCB`: `pull` and `update`", f"{river_steps():,.0f}"]
    spec, steps = tp.policy("linlucb"), 2000
    (seconds,) = fastest(lambda: tp.replay(tp.mdm(5), spec, budget=steps))
    yield ["tideproof, LinLUCB interpreted, as in `replay`", f"{seconds / steps * 1e9:,.0f}"]


def refits(run: Replay) -> float:
    """Return the nanoseconds of a least-squares fit after each of the steps 21 to 200."""
    import statsmodels.api as sm

    arms, environments = np.eye(5)[run.arm], np.eye(run.environment.max() + 1)[run.environment]
    start = time.perf_counter()
    for t in range(20, 200):
        shifts = environments[:t, 1 : run.environment[t - 1] + 1]  # the first shift is 0
        sm.OLS(run.reward[:t], np.hstack([arms[:t], shifts])).fit()
    return (time.perf_counter() - start) / 180 * 1e9


def river_steps() -> float:
    from river import bandit

    policy, arms = bandit.UCB(delta=1.0, seed=0), list(range(5))
    noise = np.random.default_rng(0).standard_normal(2000).tolist()

    def steps() -> None:
        for eps in noise:
            arm = policy.pull(arms)
            policy.update(arm, 0.5 * arm + eps)

    (seconds,) = fastest(steps)
    return seconds / len(noise) * 1e9


STUDY = """
import tideproof as tp
tp.simulate(tp.mdm(5), ["linlucb", "round-robin+ols"], budgets={budgets}, replications={replications})
"""


def whole_runs() -> Iterator[list[str]]:
    plan = SimulationPlan(tp.mdm(5), (tp.policy("linlucb"), tp.policy("round-robin+ols")), (T,), 1)

    def on(pool: ThreadPoolExecutor) -> Task:
        return lambda: list(pool.map(lambda part: run_chunk(plan, 500 * part, 500), range(8)))

    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(2) as two:
        alone, together = fastest(on(one), on(two))
    yield ["two threads against one", f"{alone / together:.2f} times as fast"]

    many = STUDY.format(budgets="[100, 200, 300, 400, 500]", replications=100_000)
    what = "1e5 replications of LinLUCB and round-robin+ols, K = 5, T = 500, in a fresh process"
    with TemporaryDirectory() as folder:
        first = min(fresh(many, TIDEPROOF_CACHE="off")[0] for _ in range(3))
        yield [f"{what}, compiling everything", f"{first:.1f} s"]
        later = min(fresh(many, TIDEPROOF_CACHE=folder)[0] for _ in range(4))
        yield [f"{what}, compiled before", f"{later:.1f} s"]

    bare = fresh("")[1]
    once = fresh(STUDY.format(budgets="[1000]", replications=1), TIDEPROOF_CACHE="off")[1]
    often = fresh(STUDY.format(budgets="range(30, 1001)", replications=100_000), TIDEPROOF_CACHE="off")[1]
    what = "memory above the bare interpreter: 1e5 replications, T = 1000, 971 checkpoints"
    yield [what, f"{often - bare:.0f} MB"]
    yield ["of which imports and compiler, with one replication", f"{once - bare:.0f} MB"]


PEAK = """
import resource
try:  # since exec; ru_maxrss would count the parent's memory before it
    kilobytes = next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
except (OSError, StopIteration):
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(kilobytes)
"""


def fresh(program: str, **environment: str) -> tuple[float, float]:
    """Run a program in a new interpreter; return its seconds and its peak memory in MB."""
    command, inherited = [sys.executable, "-c", program + PEAK], os.environ | environment
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=True, env=inherited)
    return time.perf_counter() - start, int(done.stdout) / 1000
