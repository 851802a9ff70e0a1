"""Time of the new version relative to an old one, measured in turns (`make bench OLD=.../src`).

Each version is a process of its own that has compiled everything before the first turn. Turns alternate
(old, new, new, old, ...), so that other load on the machine affects both alike. Only public names are used,
so that versions with different internal packages can be compared.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from lab import table

TURNS = 16

WORKER = """
import sys, time
import numpy as np
import tideproof as tp

def simulated(name, arms, replications):
    world = tp.mdm(arms)
    return lambda: tp.simulate(world, name, [500], replications, seed=1, engine="cpu")

def asked():
    run = tp.Experiment(["A", "B", "C", "D", "E"], budget=400, seed=1)
    random = np.random.default_rng(1)
    for step in range(400):
        run.tell(run.ask(environment=step // 10), random.standard_normal())

random = np.random.default_rng(1)
log = {"arm": random.integers(0, 20, 200_000), "day": random.integers(0, 300, 200_000),
       "reward": random.standard_normal(200_000)}

def fitted():
    fit = tp.fit(log, arm="arm", environment="day", reward="reward")
    fit.arms, fit.shifts, fit.comparisons, fit.p_best

cases = {
    "linlucb, 5 arms": simulated("linlucb", 5, 8_000),
    "contrast, 5 arms": simulated("contrast", 5, 8_000),
    "linlucb, 10 arms": simulated("linlucb", 10, 4_000),
    "contrast, 10 arms": simulated("contrast", 10, 4_000),
    "round-robin+ols, 5 arms": simulated("round-robin+ols", 5, 16_000),
    "top-two-thompson, 5 arms": simulated("top-two-thompson", 5, 4_000),
    "reduce:lucb, 5 arms": simulated("reduce:lucb", 5, 2_000),
    "Experiment, 400 pulls": asked,
    "fit, 200,000 rows": fitted,
}
for case in cases.values():
    case()
print("ready", flush=True)
for line in sys.stdin:
    case = cases[line.strip()]
    start = time.perf_counter()
    case()
    print(time.perf_counter() - start, flush=True)
"""


class Version:
    """A process that runs one version and times the named cases."""

    def __init__(self, source: Path) -> None:
        paths = {"PYTHONPATH": str(source.resolve())}
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | paths,
        )

    def wait(self) -> None:
        assert self.process.stdout is not None
        if self.process.stdout.readline() != "ready\n":
            raise SystemExit(f"a version did not start: {self.process.args}")

    def seconds(self, case: str) -> float:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(case, file=self.process.stdin, flush=True)
        return float(self.process.stdout.readline())


def cases() -> list[str]:
    """Return the names of the timed cases."""
    block = WORKER.split("cases = {")[1].split("\n}")[0]
    return [line.split('"')[1] for line in block.splitlines() if line.strip()]


def report() -> Iterator[str]:
    """Yield the report; the variable OLD names the sources of the old version."""
    if not os.environ.get("OLD"):
        yield "## Old and new in turns\n\nNot measured: make bench OLD=path/to/old/src."
        return
    versions = [Version(Path(os.environ["OLD"])), Version(Path(__file__).parents[1] / "src")]
    for version in versions:
        version.wait()
    rows = [[case, *_in_turns(versions, case)] for case in cases()]
    columns = ["", "old, ms", "new, ms", "new/old, median of turns", "middle half"]
    yield "## Old and new in turns\n\n" + table(f"{TURNS} turns each, both cores.", columns, rows)


def _in_turns(versions: list[Version], case: str) -> list[str]:
    taken: list[list[float]] = [[], []]
    for turn in range(TURNS):
        for which in (0, 1) if turn % 2 == 0 else (1, 0):
            taken[which].append(versions[which].seconds(case))
    ratios = [new / old for old, new in zip(*taken, strict=True)]
    low, ratio, high = statistics.quantiles(ratios, n=4)
    old, new = (f"{1000 * statistics.median(each):.1f}" for each in taken)
    return [old, new, f"{ratio:.3f}", f"{low:.3f} to {high:.3f}"]


if __name__ == "__main__":
    for part in report():
        print(part)
