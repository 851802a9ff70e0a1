"""Time of `tideproof analyze` with many arms, environments or units, for a whole report in a process of its own.

The logs are made here. Wall time is what a user waits on an idle machine. Processor time is more stable on
a busy one. Linear algebra uses one thread, so that both can be compared.

    python benchmarks/many.py [--only "400 arms"]
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

OPTIONS = {
    "numbers": ["--arm", "arm", "--environment", "day", "--reward", "reward"],
    "clicks": ["--arm", "arm", "--environment", "day", "--successes", "clicks", "--n", "n"],
    "units": ["--arm", "arm", "--environment", "day", "--reward", "reward", "--unit", "user"],
}


def numbers(path: Path, arms: int, days: int = 40) -> None:
    """Write one row for each arm and day; days add to the rewards of all arms."""
    random = np.random.default_rng(1)
    day, arm = np.divmod(np.arange(arms * days), arms)
    reward = random.normal(0, 3, days)[day] + random.normal(0, 1, arms)[arm] + random.normal(size=day.size)
    _write(path, ["arm", "day", "reward"], "a%d,%d,%.4f", arm, day, reward)


def clicks(path: Path, arms: int, days: int = 40) -> None:
    """Write clicks and impressions of each arm and day; days multiply the rates of all arms."""
    random = np.random.default_rng(1)
    day, arm = np.divmod(np.arange(arms * days), arms)
    n = random.integers(50, 400, day.size)
    rate = random.uniform(0.02, 0.05, days)[day] * np.exp(random.normal(0, 0.2, arms))[arm]
    _write(path, ["arm", "day", "clicks", "n"], "a%d,%d,%d,%d", arm, day, random.binomial(n, rate), n)


def environments(path: Path, days: int) -> None:
    """Write three of five arms in each environment, one row each."""
    random = np.random.default_rng(1)
    arm = np.argsort(random.random((days, 5)), axis=1)[:, :3].ravel()
    day = np.repeat(np.arange(days), 3)
    reward = random.normal(0, 3, days)[day] + 0.1 * arm + random.normal(size=day.size)
    _write(path, ["arm", "day", "reward"], "a%d,%d,%.4f", arm, day, reward)


def meetings(path: Path, arms: int, days: int, each: int, rewards: str) -> None:
    """Write one row for each of `each` arms a day, which differ from day to day, so that arms meet rarely.

    Rewards are grades from 1 to 5, or 0 and 1.
    """
    random = np.random.default_rng(1)
    arm = np.concatenate([random.choice(arms, each, replace=False) for _ in range(days)])
    day = np.repeat(np.arange(days), each)
    if rewards == "grades":
        reward = 3.0 + random.normal(0, 0.5, days)[day] + random.normal(0, 0.5, arms)[arm]
        reward = np.clip(np.rint(reward + random.normal(size=day.size)), 1, 5)
    else:
        reward = random.random(day.size) < random.uniform(0.1, 0.5, days)[day] + 0.02 * arm / arms
    _write(path, ["arm", "day", "reward"], "a%d,%d,%d", arm, day, reward)


def units(path: Path, people: int) -> None:
    """Write two rows for each unit on average, in 30 days; each unit has one of three arms."""
    random = np.random.default_rng(1)
    unit = random.integers(0, people, 2 * people)
    arm, day = random.integers(0, 3, people)[unit], random.integers(0, 30, unit.size)
    reward = random.normal(size=people)[unit] + 0.1 * day + random.normal(size=unit.size)
    _write(path, ["arm", "day", "reward", "user"], "a%d,%d,%.4f,%d", arm, day, reward, unit)


def _write(path: Path, names: list[str], form: str, *columns: np.ndarray) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(",".join(names) + "\n")
        file.writelines(form % row + "\n" for row in zip(*(c.tolist() for c in columns), strict=True))


Make = Callable[[Path], None]

LOGS: dict[str, tuple[str, Make]] = {
    "100,000 environments, 5 arms": ("numbers", lambda path: environments(path, 100_000)),
    **{
        f"{arms:,} arms, 40 days, {kind}": (kind, lambda path, make=make, arms=arms: make(path, arms))
        for arms in (400, 600, 1000, 3000)
        for kind, make in (("numbers", numbers), ("clicks", clicks))
    },
    "1,128 arms, 2,972 environments with 25 of them, grades": (
        "numbers",
        lambda path: meetings(path, 1128, 2972, 25, "grades"),
    ),
    "50 arms, 20,000 environments with 5 of them, 0 or 1": (
        "numbers",
        lambda path: meetings(path, 50, 20_000, 5, "0 or 1"),
    ),
    "2,000,000 rows of 1,000,000 units, 3 arms": ("units", lambda path: units(path, 1_000_000)),
}


GROWTH = [*((arms, 2000) for arms in (250, 500, 1000, 2000)), *((500, days) for days in (1000, 4000, 16_000))]


class Measured(NamedTuple):
    """Wall and processor seconds of a report, the peak of its memory, and the megabytes of its HTML file."""

    wall: float
    processor: float
    memory: float
    page: float


def measure(kind: str, make: Make) -> Measured:
    """Measure a report in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        log, page = Path(folder) / "log.csv", Path(folder) / "report.html"
        make(log)
        command = ["-m", "tideproof", "analyze", str(log), *OPTIONS[kind], "--html", str(page)]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=one_thread,
        )
        _, _, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        return Measured(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, page.stat().st_size / 1e6)


def report(only: str = "") -> Iterator[str]:
    """Yield Markdown tables for `docs/performance.md`."""
    yield "## many"
    yield "`tideproof analyze --html` on logs with many arms, environments or units; linear algebra on one thread."
    lines = ["| log | wall s | processor s | peak MB | page MB |", "|---|---|---|---|---|"]
    for name, (kind, make) in LOGS.items():
        if only in name:
            found = measure(kind, make)
            lines.append(
                f"| {name} | {found.wall:.1f} | {found.processor:.1f} | {found.memory:.0f} | {found.page:.2f} |"
            )
    yield "\n".join(lines)
    if only not in "growth":
        return
    yield "How the time grows with arms and with environments: 25 arms an environment, grades, one row a cell."
    lines = [
        "| arms | environments | rows | processor s | times the first | peak MB |",
        "|---|---|---|---|---|---|",
    ]
    first = math.nan
    for arms, days in GROWTH:
        found = measure("numbers", partial(meetings, arms=arms, days=days, each=25, rewards="grades"))
        first = found.processor if math.isnan(first) else first
        lines.append(
            f"| {arms:,} | {days:,} | {25 * days:,} | {found.processor:.1f} | {found.processor / first:.1f} "
            f"| {found.memory:.0f} |"
        )
    yield "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="measure only logs whose name contains this, or growth")
    for part in report(parser.parse_args().only):
        print(part, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
