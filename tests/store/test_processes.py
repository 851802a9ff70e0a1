"""Several processes on one store: nothing is lost, nothing is done twice; forks; kills."""

import contextlib
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import tideproof as tp
from store.client_processes import check_acknowledged, lines_of, start
from store.stores import (
    ARMS,
    bytes_of,
    check_refold,
    database_of,
    in_threads,
    memory_of,
    opened,
    play,
    url_of,
)


def test_processes_that_ask_and_tell_lose_nothing(place):
    run = opened(place)
    clients = [start(place, 25) for _ in range(3)]
    play(run, 10)
    said = []
    for client in clients:
        output, errors = client.communicate(timeout=60)
        assert client.returncode == 0, errors.decode()
        said += lines_of(output)[1:]
    rows = check_acknowledged(run, said)
    assert len(rows) == 3 * 25 + 10
    assert {row["status"] for row in rows.values()} == {"told"}
    check_refold(run)


def test_killed_processes_lose_nothing_that_was_acknowledged(place):
    run = opened(place, budget=100_000)
    random_ = random.Random(1)
    said = []
    clients = [start(place, 10_000) for _ in range(3)]
    for client in clients:
        assert json.loads(client.stdout.readline()) == ["open"]
    for client in clients:
        time.sleep(0.05 + 0.1 * random_.random())
        client.send_signal(signal.SIGKILL)
        waited = time.monotonic()
        run.note("after a kill")  # the others go on
        assert time.monotonic() - waited < 5.0
        said += lines_of(client.communicate(timeout=20)[0])
    rows = check_acknowledged(run, said)
    assert len(said) > 10
    asked = sum(kind == "asked" for kind, _, _ in said)
    assert asked <= len(rows) <= asked + len(clients)  # one ask each may have been kept and not acknowledged
    assert sum(row["status"] == "told" for row in rows.values()) >= sum(kind == "told" for kind, _, _ in said)
    check_refold(run)


def test_processes_that_begin_at_once_make_one_experiment(place):
    code = (
        "import sys, tideproof as tp\n"
        "run = tp.Experiment.open(sys.argv[1], 'prices', ['A', 'B', 'C'], budget=100)\n"
        "run.tell(run.ask(environment=1), 1.0)\n"
    )
    clients = [
        subprocess.Popen([sys.executable, "-c", code, url_of(place)], stderr=subprocess.PIPE)
        for _ in range(5)
    ]
    for client in clients:
        assert client.communicate(timeout=60)[1] == b""
    assert tp.experiments(url_of(place))["pulls"] == [5]


def child(run, place, results):
    play(run, 8, seed=place)
    results.put((place, len(run.history()["pull"])))


def test_a_fork_goes_on_with_a_connection_of_its_own(place):
    run = opened(place)
    play(run, 5)
    fork = multiprocessing.get_context("fork")
    results = fork.Queue()
    stop = threading.Event()

    def meanwhile():  # the parent works on while it is forked
        while not stop.is_set():
            run.tell(run.ask(environment="parent"), 1.0)

    thread = threading.Thread(target=meanwhile)
    thread.start()
    children = [fork.Process(target=child, args=(run, place, results)) for place in range(3)]
    for each in children:
        each.start()
    done = [results.get(timeout=60) for _ in children]
    for each in children:
        each.join(20.0)
    stop.set()
    thread.join(20.0)
    assert sorted(place for place, _ in done) == [0, 1, 2]
    table = run.history()
    told = [e for e in table["environment"] if e != "parent"]
    assert len(told) == 5 + 3 * 8
    assert set(table["status"]) == {"told"}
    check_refold(run)


def test_no_connection_is_inherited(place, monkeypatch):
    run = opened(place)
    database = database_of(run)
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            files = [os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if int(fd) > 2
                     and os.path.islink(f"/proc/self/fd/{fd}")]  # fmt: skip
            os.write(writer, repr((database.is_open, [f for f in files if f"{place}/shop.db" in f])).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        assert pipe.read() == b"(False, [])"
    os.waitpid(process, 0)
    play(run, 2)
    with monkeypatch.context() as patch:  # as after a fork of which Python was not informed
        patch.setattr(os, "getpid", lambda: 1)
        with pytest.raises(tp.errors.StoreError, match="parent process"):
            run.ask(environment="x")
    play(run, 2)
    check_refold(run)


def test_threads_and_a_signal(place):
    """What a signal interrupts is whole or gone, and the other threads do not notice."""
    run = opened(place)
    play(run, 5)
    stop = threading.Event()

    def meanwhile():
        count = 0
        while not stop.is_set():
            run.tell(run.ask(environment="thread"), 1.0)
            count += 1
        return count

    def interrupt():
        time.sleep(0.02)
        for _ in range(25):
            time.sleep(0.004)
            os.kill(os.getpid(), signal.SIGALRM)
        time.sleep(0.05)
        stop.set()

    class Interrupted(BaseException):
        pass

    def handler(*_):
        raise Interrupted

    acknowledged, interrupted = {}, 0
    counts = []
    old = signal.signal(signal.SIGALRM, handler)
    workers = [threading.Thread(target=lambda: counts.append(meanwhile())) for _ in range(2)]
    killer = threading.Thread(target=interrupt)
    try:
        for each in (*workers, killer):
            each.start()
        while not stop.is_set():
            try:
                play(run, 1, acknowledged=acknowledged)
            except Interrupted:
                interrupted += 1
    finally:
        while killer.is_alive():
            with contextlib.suppress(Interrupted):
                killer.join()
        signal.signal(signal.SIGALRM, old)
    for each in workers:
        each.join(20.0)
        assert not each.is_alive()
    assert interrupted > 3
    assert len(counts) == 2
    rows = {row["pull"]: row for row in run.history().to_dicts()}
    for id, reward in acknowledged.items():
        assert reward is None or rows[id]["reward"] == reward
    assert sum(row["environment"] == "thread" for row in rows.values()) == sum(counts)
    check_refold(run)


def test_two_handles_and_threads_in_one_process(place):
    one, other = opened(place), opened(place)
    in_threads(*[lambda run=run, seed=seed: play(run, 10, seed) for seed, run in enumerate([one, other] * 2)])
    assert len(one.history()["pull"]) == 40
    assert bytes_of(memory_of(one)) == bytes_of(load_other(other))
    check_refold(other)


def load_other(run):
    run.pending_pulls()
    return memory_of(run)


def test_arms_added_elsewhere_are_asked_here(place):
    one, other = opened(place), opened(place)
    play(one, 10)
    other.add_arm("D")
    other.retire_arm("A")
    asked = {pull.arm for pull in one.ask(environment="x", n=12)}
    assert "D" in asked
    assert "A" not in asked
    assert one.arms == (*ARMS, "D")
    check_refold(one)
