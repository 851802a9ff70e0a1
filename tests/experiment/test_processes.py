"""Threads, forked processes, copies and crashes: environments and pulls belong to the right one."""

import os
import pickle
import threading

import numpy as np
import pytest

import tideproof as tp
from experiments import drive, experiment, replace_kernels, replay, saved_numbers, without_sessions
from faults import CALLS, POLICIES, busy, check_whole

# ---------------------------------------------------------------------------------------- threads


def test_each_thread_keeps_its_own_environment():
    run = experiment(policy="round-robin")
    met, labels = threading.Barrier(2), {}

    def work(day):
        run.ask(environment=day)
        met.wait()  # both have asked somewhere
        labels[day] = [run.ask().environment for _ in range(5)]

    threads = [threading.Thread(target=work, args=(day,)) for day in ("mon", "tue")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert labels == {"mon": ["mon"] * 5, "tue": ["tue"] * 5}
    assert run.ask().environment in ("mon", "tue")  # a thread that was nowhere yet: where the last one was


# ------------------------------------------------------------------------------------------ forks


def in_a_child(work):
    """Return what `work` returns in a forked child, as text; '' if that does not end within 20 s."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, str(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    found, ended = [], threading.Event()

    def wait():
        with os.fdopen(reader, "rb") as pipe:
            found.append(pipe.read().decode())
        ended.set()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    if not ended.wait(20.0):
        os.kill(child, 9)
    os.waitpid(child, 0)
    thread.join()
    return found[0]


def refusals(run):
    """Return the calls that do not raise the error about a forked process."""
    others = []
    for name, call in CALLS.items():
        try:
            call(run)
        except tp.errors.InputError as error:
            if "another process" in str(error):
                continue
        except Exception as error:
            others.append(f"{name}: {error!r}")
            continue
        others.append(name)
    return others


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_every_call_in_a_forked_child_raises_an_error():
    run = busy("linlucb")
    assert in_a_child(lambda: refusals(run)) == "[]"
    assert in_a_child(lambda: (repr(run), run.arms)) == str((repr(run), run.arms))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_while_another_thread_holds_the_lock_does_not_hang():
    inside, leave, main = threading.Event(), threading.Event(), threading.current_thread()

    def clock():
        """Return the time; in the other thread, which holds the lock while it reads the clock, wait first."""
        if threading.current_thread() is not main:
            inside.set()
            leave.wait(60.0)
        return 0.0

    run = tp.Experiment(["A", "B", "C", "D"], budget=150, clock=clock)
    thread = threading.Thread(target=lambda: run.note("in the thread"))
    thread.start()
    inside.wait()
    try:
        assert in_a_child(lambda: refusals(run)) == "[]"
    finally:
        leave.set()
        thread.join()
    run.ask(environment=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_may_load_the_file_of_its_parent(tmp_path):
    run = busy("linlucb")
    run.save(tmp_path / "run.json")
    there = in_a_child(lambda: tp.Experiment.load(tmp_path / "run.json").ask(environment=1).arm)
    assert there == run.ask(environment=1).arm


# ----------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize("policy", [*POLICIES, "reduce:ucb1-normal"])
def test_a_pickled_copy_gives_other_pull_ids(policy):
    run = busy(policy)
    copy = pickle.loads(pickle.dumps(run))
    assert (copy.events(), saved_numbers(copy)) == (run.events(), saved_numbers(run))
    for step in range(20):
        if run.done:
            break
        mine, theirs = run.ask(environment=step // 3), copy.ask(environment=step // 3)
        assert without_sessions([mine]) == without_sessions([theirs])
        assert mine.id != theirs.id
        with pytest.raises(tp.errors.UnknownName, match="unknown pull"):
            copy.tell(mine, 1.0)
        run.tell(mine, float(step % 3))
        copy.tell(theirs, float(step % 3))
    assert saved_numbers(copy) == saved_numbers(run)


def test_every_copy_gives_other_pull_ids():
    run = busy("linlucb")
    ids = {pickle.loads(pickle.dumps(run)).ask().id for _ in range(20)}
    assert len(ids) == 20


# ---------------------------------------------------------------------------------------- crashes


def test_pulls_asked_after_the_last_save_are_unknown_once_it_is_loaded(tmp_path):
    """Rewards of pulls that no saved file contains cannot be told."""
    run = drive(experiment(), 20)
    known = run.ask(n=2, environment="kept")
    run.save(tmp_path / "run.json")
    lost = run.ask(n=9, environment="lost")
    again = tp.Experiment.load(tmp_path / "run.json")
    own = again.ask(n=9, environment="other")
    before = again.events()
    for pull in lost:
        for given in (pull, pull.id):
            with pytest.raises(tp.errors.UnknownName, match="unknown pull"):
                again.tell(given, 1.0)
            with pytest.raises(tp.errors.UnknownName, match="unknown pull"):
                again.cancel(given)
    assert again.events() == before
    again.tell_many(known, [1.0, 2.0])
    again.tell_many(own, [1.0] * 9)
    assert not {pull.id for pull in lost} & {pull.id for pull in own}


# ----------------------------------------------------------- errors in the middle of everything


class Broken(Exception):
    """Exception that a broken kernel raises."""


@pytest.mark.parametrize("policy", POLICIES)
def test_an_error_in_any_kernel_call_is_rolled_back(policy, monkeypatch):
    """Kernels run longest, so Ctrl-C mostly comes in one of them."""
    random, left = np.random.default_rng(5), 0

    def counted(kernel):
        def broken(*args):
            nonlocal left
            left -= 1
            if left == 0:
                raise Broken
            return kernel(*args)

        return broken

    def breaking(program):
        kernels = {name: counted(kernel) for name, kernel in program._asdict().items() if callable(kernel)}
        return program._replace(**kernels)

    replace_kernels(monkeypatch, breaking)
    for name, call in CALLS.items():
        at = 1
        while at:
            run = busy(policy)
            before, left = run.events(), at
            try:
                call(run)
                at = 0
            except Broken:
                at += int(random.integers(1, 2 * at + 1))
            left = 0
            check_whole(run, before, name)


def test_a_full_disk_changes_neither_file_nor_experiment(tmp_path, monkeypatch):
    run = busy("linlucb")
    run.save(tmp_path / "run.json")
    before, old = run.events(), (tmp_path / "run.json").read_bytes()
    run.note("more")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_text", full)
        with pytest.raises(tp.errors.InputError, match="No space left on device"):
            run.save(tmp_path / "run.json")
    assert (tmp_path / "run.json").read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]
    assert run.events()[:-1] == before
    assert saved_numbers(replay(run)) == saved_numbers(run)
