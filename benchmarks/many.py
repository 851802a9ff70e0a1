"""Time of `tideproof analyze` with many arms, environments or units, for a whole report in a process of its own.

The logs are made here. Wall time is what a user waits on an idle machine. Processor time is more stable on
a busy one. Linear algebra uses one thread, so that both can be compared.

    python benchmarks/many.py [--only "400 arms"]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

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
    "2,000,000 rows of 1,000,000 units, 3 arms": ("units", lambda path: units(path, 1_000_000)),
}


def measure(kind: str, make: Make) -> tuple[float, float, float]:
    """Return wall and processor seconds of a report, and the megabytes of its HTML file."""
    with tempfile.TemporaryDirectory() as folder:
        log, page = Path(folder) / "log.csv", Path(folder) / "report.html"
        make(log)
        command = [
            sys.executable,
            "-m",
            "tideproof",
            "analyze",
            str(log),
            *OPTIONS[kind],
            "--html",
            str(page),
        ]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        before, start = os.times(), time.perf_counter()
        subprocess.run(command, capture_output=True, env=one_thread, check=False)
        wall, after = time.perf_counter() - start, os.times()
        return wall, after.children_user - before.children_user, page.stat().st_size / 1e6


def report(only: str = "") -> Iterator[str]:
    """Yield a Markdown table for `docs/performance.md`."""
    yield "## many"
    yield "`tideproof analyze --html` on logs with many arms, environments or units; linear algebra on one thread."
    lines = ["| log | wall s | processor s | page MB |", "|---|---|---|---|"]
    for name, (kind, make) in LOGS.items():
        if only in name:
            wall, processor, size = measure(kind, make)
            lines.append(f"| {name} | {wall:.1f} | {processor:.1f} | {size:.2f} |")
    yield "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="measure only logs whose name contains this")
    for part in report(parser.parse_args().only):
        print(part, end="\n\n", flush=True)


if __name__ == "__main__":
    main()
