"""Processes that ask, tell, cancel and look at random, write down what they called, and may be killed."""

from __future__ import annotations

import bisect
import contextlib
import math
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tideproof as tp
from tideproof.experiment.snapshots import snapshot
from tideproof.store import log_replay
from tideproof.store.shared_log import SharedEventLog
from torture.records import Call, Records, calls_of, fingerprint

ARMS = ["A", "B", "C", "D", "E"]
BUDGET = 10**7
MOST_OUT = 6  # pulls that a client holds before it tells one
PAUSE = 0.05  # seconds before a call that failed is repeated


tp.Experiment(ARMS, budget=BUDGET).ask(environment="x")  # here, so that a client that is forked is ready


def open_run(url: str) -> tp.Experiment:
    return tp.Experiment.open(url, "torture", ARMS, budget=BUDGET, seed=21)


def patient(url: str) -> tp.Experiment:
    """Open an experiment, again and again while the store says that it cannot be reached."""
    while True:
        try:
            return open_run(url)
        except tp.errors.StoreError:
            time.sleep(PAUSE)


class Client:
    """One thread of a client process."""

    def __init__(self, run: tp.Experiment, name: str, folder: Path, before: Path | None) -> None:
        self.run, self.name, self.stop = run, name, folder / "stop"
        self.random = random.Random(name)
        self.records = Records(folder / f"{name}.calls")
        self.count = 0
        self.mine: list[str] = []  # pulls to be told
        if before is not None:
            self._go_on(calls_of([before]))

    def work(self, calls: int) -> None:
        while self.count < calls and not self.stop.exists():
            self.step()

    def step(self) -> None:
        """Call something, with a key or without."""
        chance, keyed = self.random.random(), self.random.random() < 0.5
        if chance < 0.1:
            self.make_call("look", [], False)
        elif chance < 0.14:
            self.make_call("note", [f"{self.random.random()}"], keyed)
        elif len(self.mine) < self.random.randrange(MOST_OUT):
            n = 1 if self.random.random() < 0.9 else self.random.randrange(2, 6)
            self.make_call("ask", [f"{self.name[0]} {self.count // 20}", n], keyed)
        elif self.mine and chance < 0.2:
            self.make_call("cancel", [self._taken()], keyed)
        elif self.mine:
            n = self.random.randrange(1, min(3, len(self.mine)) + 1)
            pulls = [self._taken() for _ in range(n)]
            self.make_call("tell", [pulls, [self.random.gauss(0.0, 1.0) for _ in pulls]], keyed)

    def _taken(self) -> str:
        return self.mine.pop(self.random.randrange(len(self.mine)))

    def make_call(self, kind: str, given: list[Any], keyed: bool) -> None:
        self.count += 1
        self._do(f"{self.name}:{self.count}", kind, given, keyed)

    def _do(self, id: str, kind: str, given: list[Any], keyed: bool) -> None:
        """Call it and write it down; where the store fails, repeat it if it has a key, and else give it up."""
        while True:
            self.records.begin(id, kind, given, keyed)
            try:
                answer = self.send(id, kind, given, keyed)
            except tp.errors.StoreError as error:
                self.records.error(id, error)
                time.sleep(PAUSE)
                if keyed and not self.stop.exists():
                    continue
                return
            except BaseException as error:
                self.records.error(id, error)
                raise
            self.records.end(id, answer)
            if kind == "ask":
                self.mine += [pull[0] for pull in answer]
            return

    def send(self, id: str, kind: str, given: list[Any], keyed: bool) -> Any:
        run = self.run
        if kind == "look":
            return fingerprint(pull.id for pull in run.pending_pulls())
        what: Callable[..., Any]
        options: dict[str, Any] = {"by": id}
        if kind == "ask":
            n = given[1] if given[1] > 1 else None
            what, args, options = run.ask, [], options | {"environment": given[0], "n": n}
        else:
            what = {"tell": run.tell_many, "cancel": run.cancel, "note": run.note}[kind]
            args = given
        found = run.once(id, what, *args, **options) if keyed else what(*args, **options)
        if kind != "ask":
            return None
        pulls = [found] if isinstance(found, tp.Pull) else found
        return [[pull.id, pull.arm, pull.environment] for pull in pulls]

    def _go_on(self, calls: list[Call]) -> None:
        """Take over from one that was killed: its pulls, and its last call if that has a key."""
        for call in calls:
            if call.kind == "has":
                self.mine += call.given
            elif call.kind == "ask" and call.acknowledged:
                self.mine += [pull[0] for pull in call.answer]
            elif call.kind in ("tell", "cancel"):
                used = call.given[0] if call.kind == "tell" else call.given
                self.mine = [id for id in self.mine if id not in used]
        self.records.begin(f"{self.name}:0", "has", self.mine, False)
        for call in calls:
            if call.keyed and not call.acknowledged:
                self._do(call.id, call.kind, call.given, True)


def work(
    url: str, folder: Path, name: str, before: str, threads: int, calls: int, fewest: int, fault: str
) -> None:
    """Be a client process; `before` is who was killed, if this one takes over."""
    log_replay.MIN_EVENTS_BETWEEN_SNAPSHOTS = fewest
    snapshot.FEWEST_EVENTS = min(snapshot.FEWEST_EVENTS, fewest)
    plant(fault)
    while not (folder / "go").exists():
        time.sleep(0.01)
    run = patient(url)
    names = [f"{name}.{thread}" for thread in range(threads)]
    clients = [
        Client(run, each, folder, folder / f"{before}.{thread}.calls" if before else None)
        for thread, each in enumerate(names)
    ]
    workers = [threading.Thread(target=client.work, args=(calls,)) for client in clients[1:]]
    for each in workers:
        each.start()
    clients[0].work(calls)
    for each in workers:
        each.join()
    run.close()


def plant(fault: str) -> None:
    """Break the store on purpose, to see whether the checks notice."""
    answer, call = Client.send, Client.make_call

    def lost(self: Client, id: str, kind: str, given: list[Any], keyed: bool) -> Any:
        if kind == "tell" and random.random() < 0.1:
            return None  # acknowledged, and never done
        return answer(self, id, kind, given, keyed)

    def doubled(self: Client, id: str, kind: str, given: list[Any], keyed: bool) -> Any:
        if kind == "ask" and random.random() < 0.1:
            answer(self, id, kind, given, False)
        return answer(self, id, kind, given, keyed)

    def later(self: Client, kind: str, given: list[Any], keyed: bool) -> None:
        if kind == "look":
            time.sleep(PAUSE)
        call(self, kind, given, keyed)

    if fault in ("lost", "doubled"):
        Client.send = {"lost": lost, "doubled": doubled}[fault]
    elif fault == "stale":  # looks at what it knew before others changed it
        SharedEventLog.look = lambda self, method, args, kwargs: method(self.run, *args, **kwargs)
        Client.make_call = later


class Herd:
    """Client processes that begin at once, and again when they were killed."""

    def __init__(
        self, url: str, folder: Path, count: int, threads: int = 1, calls: int = 10**9, fewest: int = 1000,
        fault: str = "",
    ) -> None:  # fmt: skip
        self._fork = multiprocessing.get_context("forkserver")
        self._fork.set_forkserver_preload(["torture.clients", "tideproof.store.stored_experiments"])
        self.url, self.folder, self.options = url, folder, (threads, calls, fewest, fault)
        self.folder.mkdir(exist_ok=True)
        self.lives = [0] * count
        self.kills: list[tuple[float, str]] = []
        self.bad: list[str] = []  # how clients ended that nobody killed
        self.processes = [self._begun(place, "") for place in range(count)]
        (folder / "go").touch()

    def _begun(self, place: int, before: str) -> Any:
        args = (self.url, self.folder, self._name(place), before, *self.options)
        process = self._fork.Process(target=work, args=args, daemon=True)
        process.start()
        return process

    def _name(self, place: int) -> str:
        return f"{place}-{self.lives[place]}"

    def ready(self, patience: float = 60.0) -> None:
        """Wait until each has called something."""
        end = time.monotonic() + patience
        files = [self.folder / f"{self._name(place)}.0.calls" for place in range(len(self.lives))]
        while not all(path.exists() for path in files):
            assert time.monotonic() < end, self.bad
            time.sleep(0.02)

    def kill(self, *places: int) -> None:
        """Kill some, and begin them again."""
        for place in places:
            process, name = self.processes[place], self._name(place)
            if not process.is_alive():
                self.bad.append(f"{name} ended with {process.exitcode}")
                continue
            os.kill(process.pid, signal.SIGKILL)
            self.kills.append((time.monotonic(), name))
        for place in places:
            self.processes[place].join()
            before = self._name(place)
            self.lives[place] += 1
            self.processes[place] = self._begun(place, before)

    def end(self, patience: float = 60.0) -> list[Call]:
        """Let them finish what they do, and return all calls."""
        (self.folder / "stop").touch()
        return self.join(patience)

    def join(self, patience: float = 60.0) -> list[Call]:
        """Wait until they have done all they should, and return their calls."""
        end = time.monotonic() + patience
        for place, process in enumerate(self.processes):
            process.join(max(0.0, end - time.monotonic()))
            if process.exitcode != 0:
                self.bad.append(f"{self._name(place)} ended with {process.exitcode}")
        return self.calls()

    def calls(self) -> list[Call]:
        return calls_of(sorted(self.folder.glob("*.calls"), key=_life))

    def gaps(self, calls: list[Call]) -> tuple[list[float], list[float]]:
        """Return, for each kill, seconds until any other was acknowledged, and until each of them was."""
        died = {name: at for at, name in self.kills}
        ends: dict[str, list[float]] = {}
        for call in sorted(calls, key=lambda call: call.end):
            name = call.id.split(".")[0]
            if call.acknowledged and call.end < died.get(name, math.inf):
                ends.setdefault(name, []).append(call.end)
        some, every = [], []
        for at, _ in self.kills:
            others = (times for times in ends.values() if times[0] < at < times[-1])
            waits = [times[bisect.bisect(times, at)] - at for times in others]
            if waits:
                some.append(min(waits))
                every += waits
        return some, every

    def close(self) -> None:
        for process in self.processes:
            with contextlib.suppress(AttributeError):
                process.kill()
                process.join()


def _life(path: Path) -> list[int]:
    """Return which client it is, which life of it, and which thread."""
    return [int(number) for number in path.stem.replace(".", "-").split("-")]
