"""What the interactive face costs: importing it, and one ask and tell."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np

import tideproof as tp
from lab import table


def report() -> Iterator[str]:
    """Yield the report."""
    rows = [["`import tideproof`, fresh process, best of 10", f"{1e3 * importing('tideproof'):.0f} ms"]]
    rows += [["of which the interpreter alone", f"{1e3 * importing('sys'):.0f} ms"]]
    for policy in ("linlucb", "contrast"):
        rows += [[f"one ask and one tell, {policy}, 5 arms", f"{asking(policy):.0f} µs"]]
    rows += [["one ask and one tell, linlucb, 5 arms, 100 pulls out", f"{asking('linlucb', out=100):.0f} µs"]]
    yield "## The experiment\n\n" + table("In memory, one thread; best of 5 rounds.", ["", "measured"], rows)


def importing(module: str) -> float:
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        best = min(best, time.perf_counter() - start)
    return best


def asking(policy: str, out: int = 0, steps: int = 400) -> float:
    """Return microseconds for an ask and a tell."""
    rewards = np.random.default_rng(0).standard_normal(steps).tolist()
    best = float("inf")
    for seed in range(5):
        run = tp.Experiment([str(i) for i in range(5)], budget=steps + out + 40, policy=policy, seed=seed)
        run.tell_many(run.ask(n=40), range(40))
        if out:
            run.ask(n=out)
        start = time.perf_counter()
        for step, reward in enumerate(rewards):
            run.tell(run.ask(environment=step // 20), reward)
        best = min(best, time.perf_counter() - start)
    return best / steps * 1e6


if __name__ == "__main__":
    for part in report():
        print(part)
