"""Cost of durable calls of an experiment in a SQLite file, compared with bare commits, and the time of opening.

    python benchmarks/store.py [pulls of the largest log]

It takes some minutes with 500,000 pulls, which are a million events.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tideproof as tp
from lab import processor, table
from tideproof.experiment.events import event_records as e
from tideproof.store import hash_chain, log_replay
from tideproof.store.backend import ExperimentLog, LogEntry
from tideproof.store.sqlite_connection import SqliteConnection
from tideproof.store.store_urls import open_backend
from tideproof.store.stored_experiments import create

ARMS = ["A", "B", "C", "D", "E"]
PROCESSES, SECONDS, OUT, ROUNDS = 8, 1.0, 10_000, 6
DAY = 50  # pulls of an environment
BEHIND = 1900  # events after the snapshot; after 100 more, a new snapshot is made


def open_run(path: Path) -> tp.Experiment:
    return tp.Experiment.open(f"sqlite:///{path}", "bench", ARMS, budget=10**7)


def filled(path: Path, told: int, out: int = 0, behind: int = 0) -> tp.Experiment:
    """Return an experiment with completed and pending pulls, one event each.

    Its snapshot covers all but the last `behind` events. The events are written in one transaction, because
    running them would take as long as durable calls do.
    """
    place = open_backend(f"sqlite:///{path}")
    run = tp.Experiment(ARMS, budget=10**7)
    (log, _), made = create(place, "bench", run), run.internals.state.created
    rewards = np.random.default_rng(21).standard_normal(told).tolist()
    asks = (e.Asked(made.at + i, None, f"day {i // DAY}", (i % 5,), None) for i in range(told + out))
    tells = (e.Told(made.at + i, None, (i,), (rewards[i],)) for i in range(told))
    both = itertools.chain.from_iterable(itertools.zip_longest(asks, tells))
    first = log.read(0)[0]
    position, pulls, rows = log_replay.Position(1, first.hash), 0, []
    for event in both:
        if event is not None:
            pulls += isinstance(event, e.Asked)
            rows.append(hash_chain.make_entry(event, position.seq + 1, pulls, first.writer, position.hash))
            position = log_replay.Position(rows[-1].seq, rows[-1].hash)
    last = len(rows) - behind
    _append(log, rows[:last])
    loaded = log_replay.load_state(log)
    copy = log_replay.copy_state(loaded.state, loaded.position)
    if copy is not None:
        log.write_snapshot(log_replay.pack_snapshot(copy))
    _append(log, rows[last:])
    place.close()
    return open_run(path)


def _append(log: ExperimentLog, rows: list[LogEntry]) -> None:
    log.begin(lambda: None)
    log.append(rows, [], None)
    log.commit()


def ask_and_tell_work(run: tp.Experiment) -> Callable[[], None]:
    day = itertools.count()
    return lambda: run.tell(run.ask(environment=f"now {next(day) // DAY}"), 0.5)


def commits(path: Path, count: int = 2) -> Callable[[], None]:
    """Return a function that commits rows as large as events, each in a transaction that locks others out."""
    database = SqliteConnection(str(path))
    database.run("CREATE TABLE IF NOT EXISTS bare (id INTEGER PRIMARY KEY, record TEXT, hash BLOB)")
    record, mark = json.dumps(["Told", time.time(), None, [12345], [0.12345678901234567]]), os.urandom(24)

    def work() -> None:
        for _ in range(count):
            database.begin()
            database.run("INSERT INTO bare (record, hash) VALUES (?, ?)", (record, mark))
            database.run("COMMIT")

    return work


def times(works: dict[str, Callable[[], Any]], rounds: int = 40, each: int = 10) -> dict[str, list[float]]:
    """Return the seconds of one call of each kind, as medians of rounds in which they take turns."""
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds):
        for name in list(works) if turn % 2 else reversed(list(works)):
            start = time.perf_counter()
            for _ in range(each):
                works[name]()
            found[name].append((time.perf_counter() - start) / each)
    return found


def ratio(a: list[float], b: list[float]) -> float:
    """Return the median of the ratios of neighbouring rounds."""
    return statistics.median(x / y for x, y in zip(a, b, strict=True))


def middle(values: list[float]) -> str:
    return f"{1000.0 * statistics.median(values):.2f} ms"


def one_process(folder: Path) -> Iterator[list[str]]:
    run = filled(folder / "one.db", 1000)
    path = folder / "one.db"
    found = times({"both": ask_and_tell_work(run), "bare": commits(path)})
    yield ["two bare commits", middle(found["bare"]), ""]
    yield [
        "ask + tell, 1,000 completed pulls",
        middle(found["both"]),
        f"{ratio(found['both'], found['bare']):.2f} (at most 2)",
    ]
    run.close()
    few, many = filled(folder / "few.db", 1_000), filled(folder / "many.db", 100_000)
    found = times({"few": ask_and_tell_work(few), "many": ask_and_tell_work(many)})
    yield ["ask + tell, 1,000 completed pulls, again", middle(found["few"]), ""]
    yield [
        "ask + tell, 100,000 completed pulls",
        middle(found["many"]),
        f"{ratio(found['many'], found['few']):.2f} (at most 1.2)",
    ]
    few.close()
    many.close()


def computing(folder: Path, rounds: int = 300, pairs: int = 7) -> Iterator[list[str]]:
    """Yield the processor time of an ask and a tell in their own process, and in another one that reads them.

    Both run in this process, in turns. The lower decile of rounds counts, because other programs add time.
    """
    path = folder / "cpu.db"
    run, other = filled(path, 1000, OUT), open_run(path)
    both, own, taken_in = ask_and_tell_work(run), [], []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(pairs):
            both()
        between = time.process_time()
        _ = other.remaining  # makes the other handle read the new events
        own.append((between - start) / pairs)
        taken_in.append((time.process_time() - between) / pairs)
    for name, found in (("in its process", own), ("in each other that has it open", taken_in)):
        yield [
            f"ask + tell, {OUT:,} pending pulls, {name}",
            f"{1000.0 * statistics.quantiles(found, n=10)[0]:.3f} ms",
        ]
    run.close()
    other.close()


Maker = Callable[[Path], Callable[[], Any]]


def _contender(
    path: Path, makers: dict[str, Maker], seconds: float, rounds: int, gate: Any, results: Any
) -> None:
    works = {name: make(path) for name, make in makers.items()}
    for turn in range(rounds):
        for name in list(works) if turn % 2 else reversed(list(works)):
            works[name]()
            gate.wait()
            count, errors, end = 0, 0, time.monotonic() + seconds
            while time.monotonic() < end:
                try:
                    works[name]()
                    count += 1
                except Exception:
                    errors += 1
            results.put((name, turn, count, errors))
            gate.wait()


def together(
    path: Path, makers: dict[str, Maker], rounds: int = ROUNDS
) -> tuple[dict[str, list[float]], dict[str, int]]:
    """Return the rate of each work over all processes, in rounds that take turns, and the errors."""
    fork = multiprocessing.get_context("spawn")
    gate, results = fork.Barrier(PROCESSES), fork.SimpleQueue()
    args = (path, makers, SECONDS, rounds, gate, results)
    processes = [fork.Process(target=_contender, args=args) for _ in range(PROCESSES)]
    for process in processes:
        process.start()
    found, failed = {name: [0.0] * rounds for name in makers}, dict.fromkeys(makers, 0)
    for _ in range(PROCESSES * rounds * len(makers)):
        name, turn, count, errors = results.get()
        found[name][turn] += count / SECONDS
        failed[name] += errors
    for process in processes:
        process.join()
    return found, failed


def one_commit(path: Path) -> Callable[[], None]:
    return commits(path, 1)


def open_and_ask(path: Path) -> Callable[[], None]:
    return ask_and_tell_work(open_run(path))


def eight_processes(folder: Path) -> Iterator[list[str]]:
    path = folder / "eight.db"
    filled(path, 1000, OUT).close()
    found, failed = together(path, {"bare": one_commit, "both": open_and_ask})
    if any(failed.values()):
        raise SystemExit(f"calls failed: {failed}")
    bare, both = (statistics.median(found[name]) for name in ("bare", "both"))
    reached = statistics.median(2.0 * x / y for x, y in zip(found["both"], found["bare"], strict=True))
    yield ["bare commits", f"{bare:,.0f} a second", ""]
    yield [f"ask + tell, {OUT:,} pending pulls", f"{both:,.0f} a second", f"{reached:.2f} (at least 0.4)"]


# Opening, in a process of its own: seconds and megabytes beyond those of an empty experiment
_OPEN = """
import json, sys, time
import tideproof as tp
from tideproof.store import log_replay
def opened(url):
    start = time.perf_counter()
    run = tp.Experiment.open(url, "bench", ["A", "B", "C", "D", "E"])
    return run, time.perf_counter() - start
def size():
    lines = open("/proc/self/status").read().splitlines()  # getrusage would begin with the parent's
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))
small, _ = opened(sys.argv[1])
before = size()
run, seconds = opened(sys.argv[2])
if sys.argv[3] == "refold":
    start = time.perf_counter()
    before = size()
    log_replay.load_state(run._shared.log, snapshots=False)
    seconds = time.perf_counter() - start
elif not run._shared._snapshot:
    raise SystemExit("there was no snapshot")
print(json.dumps([seconds, size() - before]))
"""


def opening(folder: Path, pulls: int) -> Iterator[list[str]]:
    small, usual, large = (folder / f"{name}.db" for name in ("small", "usual", "large"))
    filled(small, 10).close()
    filled(usual, 28_000, behind=BEHIND).close()
    filled(large, pulls, behind=BEHIND).close()
    bars = {usual: "0.25 s", large: "10 s"}
    for path, count in ((usual, 28_000), (large, pulls)):
        for how, words in (("snapshot", f"by its snapshot and {BEHIND:,} events"), ("refold", "refolded")):
            args = [f"sqlite:///{small}", f"sqlite:///{path}", how]
            done = [json.loads(subprocess.run([sys.executable, "-c", _OPEN, *args], check=True, capture_output=True).stdout)
                    for _ in range(3 if how == "snapshot" else 1)]  # fmt: skip
            seconds, size = (statistics.median(values) for values in zip(*done, strict=True))
            bar = f"under {bars[path]}" if how == "snapshot" else ""
            disk = f"{path.stat().st_size / 2**20:.0f} MB"
            yield [
                f"{count:,} completed pulls, {2 * count:,} events",
                disk,
                words,
                f"{seconds:.2f} s",
                f"{size:.0f} MB",
                bar,
            ]


def machine() -> str:
    return (f"{processor()}, {os.cpu_count()} cores, Python {platform.python_version()}; load of the machine "
            f"{os.getloadavg()[0]:.1f} when this began")  # fmt: skip


def report(pulls: int = 500_000) -> Iterator[str]:
    """Yield the tables as Markdown."""
    yield f"## The store\n\n{machine()}."
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        header = ["K = 5", "median", "relative to the line above"]
        yield table("One process, in turns.", header, list(one_process(folder)))
        title = "Time of a core."
        yield table(title, ["K = 5", "lower decile"], list(computing(folder)))
        title = f"{PROCESSES} processes at once, in turns of {SECONDS:g} s. An ask + tell is two commits."
        yield table(
            title, [header[0], "median", "commits, relative to the line above"], list(eight_processes(folder))
        )
        header = ["log", "file", "how", "seconds", "memory", "bar"]
        yield table(
            "Opening, in a process that has opened another before.", header, list(opening(folder, pulls))
        )


if __name__ == "__main__":
    for part in report(int(float(sys.argv[1])) if len(sys.argv) > 1 else 500_000):
        print(part, end="\n\n", flush=True)
