"""Costs of `Experiment`: import time, asks and tells with many rewards or pending pulls, and its lock."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import numpy as np

import tideproof as tp
from lab import table
from tideproof.experiment import compiled_asks


def report() -> Iterator[str]:
    """Yield the report as Markdown."""
    rows = [["`import tideproof`, fresh process, best of 10", f"{1e3 * import_seconds('tideproof'):.0f} ms"]]
    rows += [["of which the interpreter alone", f"{1e3 * import_seconds('sys'):.0f} ms"]]
    for policy in ("linlucb", "contrast"):
        rows += [[f"one ask and one tell, {policy}, 5 arms", f"{ask_microseconds(policy):.0f} µs"]]
    rows += [
        [
            "one ask and one tell, linlucb, 5 arms, 100 pending pulls",
            f"{ask_microseconds('linlucb', out=100):.0f} µs",
        ]
    ]
    for way, threshold in (("interpreted", 10**9), ("compiled", 0)):
        rows += [[f"`ask(n=20000)`, contrast, 5 arms, {way}", f"{1e3 * batch(threshold):.0f} ms"]]
    yield "## The experiment\n\n" + table(
        "In memory, one thread; best of 5 rounds, batches in processor time.", ["", "measured"], rows
    )
    rows = []
    for arms in (5, 20):
        ratio = relative_times(experiment_with(arms, 100), experiment_with(arms, 100, out=10_000), 100)
        rows += [[f"10,000 pending pulls in 100 environments, none pending; {arms} arms", f"{ratio:.2f}"]]
        ratio = relative_times(experiment_with(arms, 10), experiment_with(arms, 10, more=99_990), 10)
        rows += [[f"100,000 told environments, ten; {arms} arms", f"{ratio:.2f}"]]
    yield table(
        "Time of one ask and one tell with contrast, relative to the smaller case. Both run in turns in one process; the "
        "third best of 16 rounds each, in processor time.",
        ["with, and without", "times"],
        rows,
    )
    found = lock_times(experiment_with(20, 100, out=10_000))
    rows = [[name, f"{1e3 * best:.2f} ms", f"{1e3 * worst:.2f} ms"] for name, (best, worst) in found.items()]
    yield table(
        "How long a call holds the lock, contrast, 20 arms, 10,000 pending pulls in 100 environments; 20 calls, "
        "in processor time.",
        ["", "median", "longest"],
        rows,
    )


def batch(threshold: int) -> float:
    """Return the seconds for 20,000 asks at once; with a large threshold, the interpreter does the work."""
    rewards = np.random.default_rng(0).standard_normal(40).tolist()
    best = float("inf")
    with (
        mock.patch.object(compiled_asks, "WORTH_THE_COMPILER", threshold),
        mock.patch.dict(compiled_asks._programs, clear=True),
    ):
        for seed in range(6):  # the first round may compile
            run = tp.Experiment([str(i) for i in range(5)], budget=20_040, seed=seed)
            run.tell_many(run.ask(n=40), rewards)
            start = time.thread_time()
            run.ask(n=20_000, environment=2)
            best = min(best, time.thread_time() - start)
    return best


def experiment_with(arms: int, environments: int, out: int = 0, more: int = 0) -> tp.Experiment:
    """Return an experiment with rewards, pending pulls, and a number of further environments."""
    rng = np.random.default_rng(arms)
    run = tp.Experiment([str(i) for i in range(arms)], budget=10**6, seed=1)
    for label in range(environments):
        run.tell_many(run.ask(environment=label, n=6), rng.standard_normal(6).tolist())
    for label in range(environments if out else 0):
        run.ask(environment=label, n=out // environments)
    for label in range(environments, environments + more):
        arm, mean = str(label % arms), float(rng.standard_normal())
        run.tell_summary(arm=arm, environment=label, n=1, mean=mean)
    return run


def relative_times(without: tp.Experiment, having: tp.Experiment, environments: int) -> float:
    """Return the time of an ask and a tell in the second experiment relative to the first."""
    rng = np.random.default_rng(1)
    times: tuple[list[float], list[float]] = [], []
    for _ in range(16):
        for run, found in zip((without, having), times, strict=True):
            where, rewards = rng.integers(0, environments, 40).tolist(), rng.standard_normal(40).tolist()
            start = time.thread_time()
            for label, reward in zip(where, rewards, strict=True):
                run.tell(run.ask(environment=label), reward)
            found.append(time.thread_time() - start)
    return sorted(times[1])[2] / sorted(times[0])[2]


class TimedLock:
    """A lock that records how long it is held."""

    def __init__(self, lock: Any) -> None:
        self.lock, self.depth, self.begun = lock, 0, 0.0
        self.times: list[float] = []

    def __enter__(self) -> None:
        self.lock.acquire()
        self.depth += 1
        if self.depth == 1:
            self.begun = time.thread_time()

    def __exit__(self, *_: object) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.times.append(time.thread_time() - self.begun)
        self.lock.release()


def lock_times(run: tp.Experiment) -> dict[str, tuple[float, float]]:
    """Return the median and the longest time inside the lock for each method."""
    run._lock = lock = TimedLock(run._lock)
    rng = np.random.default_rng(2)
    here: dict[str, Any] = {"environment": 3}
    pulls = [run.ask(**here)]
    run.tell(pulls[0], 0.5)
    steps: dict[str, Callable[[], Any]] = {
        "ask": lambda: pulls.append(run.ask(**here)),
        "ask(n=100)": lambda: run.ask(n=100, **here),
        "tell": lambda: run.tell(pulls[-1], float(rng.standard_normal())),
        "recommend": run.recommend,
        "ask after recommend": lambda: pulls.append(run.ask(**here)),
        "cancel": lambda: run.cancel(pulls.pop()),
        "ask after cancel": lambda: run.ask(**here),
        "correct": lambda: run.correct(pulls[0], float(rng.standard_normal())),
        "tell_summary": lambda: run.tell_summary(arm="3", n=5, mean=1.0, variance=1.0, **here),
        "shares": lambda: run.shares(n=1000, **here),
        "history": run.history,
        "fit": run.fit,
    }
    found: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(20):
        for name, step in steps.items():
            lock.times.clear()
            step()
            found[name].append(max(lock.times))
    return {name: (float(np.median(times)), max(times)) for name, times in found.items()}


def import_seconds(module: str) -> float:
    best = float("inf")
    for _ in range(10):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
        best = min(best, time.perf_counter() - start)
    return best


def ask_microseconds(policy: str, out: int = 0, steps: int = 400) -> float:
    """Return the microseconds of an ask and a tell."""
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
