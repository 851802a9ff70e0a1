"""Cost of durable calls of an experiment in PostgreSQL, compared with bare commits on the same server.

    python benchmarks/postgres.py [URL of a database to write to]

Without a URL, the script starts a server of its own. It takes half a minute.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg

import tideproof as tp
from lab import processor, table

ARMS = ["A", "B", "C", "D", "E"]
PROCESSES, SECONDS, ROUNDS = 8, 1.5, 4
RECORD = '["Told",1763300000.123456,null,[12345],[0.12345678901234567]]'


def ask_and_tell_work(url: str) -> Callable[[], Any]:
    run, day = tp.Experiment.open(url, "bench", ARMS, budget=10**7), itertools.count()
    return lambda: run.tell(run.ask(environment=f"now {next(day) // 50}"), 0.5)


def commits(url: str, lock: bool = False) -> Callable[[], Any]:
    """Return a function that commits two rows as large as events one by one, with a lock if asked for."""
    connection = psycopg.connect(url, autocommit=True)

    def work() -> None:
        for _ in range(2):
            if lock:
                connection.execute("BEGIN; SELECT FROM bare_lock FOR UPDATE")
            connection.execute("INSERT INTO bare (record, hash) VALUES (%s, %s)", (RECORD, os.urandom(24)))
            if lock:
                connection.execute("COMMIT")

    return work


def alone(url: str, rounds: int = 40, each: int = 10) -> dict[str, list[float]]:
    """Return the seconds of one call of each kind, in rounds in which they take turns."""
    works = {"ask + tell": ask_and_tell_work(url), "two bare commits": commits(url)}
    found: dict[str, list[float]] = {name: [] for name in works}
    for turn in range(rounds + 5):
        for name in list(works) if turn % 2 else reversed(list(works)):
            start = time.perf_counter()
            for _ in range(each):
                works[name]()
            found[name].append((time.perf_counter() - start) / each)
    return {name: values[5:] for name, values in found.items()}


def _contender(url: str, gate: Any, results: Any) -> None:
    works = {"ask + tell": ask_and_tell_work(url), "two bare commits": commits(url, lock=True)}
    for turn in range(ROUNDS):
        for name in list(works) if turn % 2 else reversed(list(works)):
            works[name]()
            gate.wait()
            count, end = 0, time.monotonic() + SECONDS
            while time.monotonic() < end:
                works[name]()
                count += 1
            results.put((name, count / SECONDS))
            gate.wait()


def together(url: str) -> dict[str, float]:
    """Return how many calls of each kind several processes do in a second."""
    spawn = multiprocessing.get_context("spawn")
    gate, results = spawn.Barrier(PROCESSES), spawn.Queue()
    workers = [spawn.Process(target=_contender, args=(url, gate, results)) for _ in range(PROCESSES)]
    for worker in workers:
        worker.start()
    counts = [results.get() for _ in range(PROCESSES * ROUNDS * 2)]
    for worker in workers:
        worker.join()
    names = {name for name, _ in counts}
    return {name: sum(count for each, count in counts if each == name) / ROUNDS for name in names}


def measured(url: str) -> str:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bare (id serial PRIMARY KEY, record text, hash bytea)")
        connection.execute("CREATE TABLE IF NOT EXISTS bare_lock AS SELECT 1 AS one")
        version = connection.info.parameter_status("server_version")
    found, rates, many = alone(url), together(url), f"{PROCESSES} processes"
    ratio = statistics.median(x / y for x, y in zip(*found.values(), strict=True))
    rate, bare = rates["ask + tell"], rates["two bare commits"]
    one, two = (f"{1000 * statistics.median(values):.2f} ms" for values in found.values())
    rows = [
        ["two bare commits, one process", two, ""],
        ["ask + tell, one process", one, f"{ratio:.2f} times as long"],
        [f"two bare commits under one lock, {many}", f"{bare:.0f} / s", ""],
        [f"ask + tell, {many}", f"{rate:.0f} / s", f"{rate / bare:.2f} times as many"],
    ]
    title = f"### Durable calls in PostgreSQL {version} ({processor()})"
    return table(title, ["", "time or rate", "beside bare commits"], rows)


def report() -> Iterator[str]:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from store.servers import Server

    server = Server()
    try:
        yield measured(server.database())
    finally:
        server.stop()


if __name__ == "__main__":
    print(measured(sys.argv[1]) if len(sys.argv) > 1 else "\n\n".join(report()))
