"""Experiments in the middle of everything, every call to them, and what must hold after one was interrupted."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from functools import cache

import numpy as np

import tideproof as tp
from naive_experiment import check_refold
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.pull import OUT

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(tp.__file__)), "")

POLICIES = [
    "linlucb",
    "contrast",
    "round-robin+period",
    "ucb1-normal",
    "top-two-thompson",
    "ser3",
    "proven:contrast",
    "by-arm:auto:contrast",
    "robust:linlucb",
]


class Interrupt(BaseException):
    """What a handler of signals raises, as Ctrl-C does."""


def is_product_code(code):
    """Tell whether code belongs to the package; the clone's folder may be named tideproof, too."""
    return code.co_filename.startswith(PACKAGE)


def count(short):
    """Return how many faults to try: `make faults` says, and tries more."""
    return int(os.environ.get("TIDEPROOF_FAULTS", short))


@cache
def _events(policy):
    run = tp.Experiment(["A", "B", "C", "D"], budget=150, policy=policy, seed=9)
    random = np.random.default_rng(2)
    for step in range(12):
        pulls = run.ask(n=3, environment=step // 4)
        run.tell_many(pulls[:2], random.standard_normal(2))
        if step % 4 == 1:
            run.cancel(pulls[2])
    run.tell_summary(arm="B", environment=1, n=4, mean=0.5, variance=1.0, key="k")
    run.retire_arm("D")
    run.ask(n=2, environment="new")
    return run.events(), run.policy


def busy(policy):
    """Return an experiment with told, cancelled and summarised pulls, others out, and an arm retired."""
    events, spec = _events(policy)
    return Experiment._folded(list(events), spec)


def _out(run, most):
    return run.pulls_out()[:most]


def _told(run):
    book = run._state.book
    return next(book.pulls[i].id for i, status in enumerate(book.status) if status == "told")


LOG = {"arm": ["A", "B", "A", "C"], "day": ["old"] * 3 + ["older"], "sales": [1.0, 2.0, 1.5, 0.0]}

CALLS = {
    "ask": lambda run: run.ask(environment=1),
    "ask somewhere new": lambda run: run.ask(environment="elsewhere"),
    "ask for many": lambda run: run.ask(environment=2, n=7),
    "ask for a unit": lambda run: run.ask(environment=2, unit="somebody"),
    "tell": lambda run: run.tell(_out(run, 1)[0], 1.0),
    "tell many": lambda run: run.tell_many(_out(run, 6), [1.0, -2.0, 0.5, 0.25, 3.0, 1.5]),
    "summary": lambda run: run.tell_summary(arm="A", environment=0, n=50, mean=1.0, variance=2.0),
    "summary of somewhere new": lambda run: run.tell_summary(
        arm="A", environment="x", n=5, mean=1.0, variance=2.0, key="new"
    ),
    "summary of a retired arm": lambda run: run.tell_summary(
        arm="D", environment=1, n=5, mean=1.0, variance=2.0
    ),
    "cancel": lambda run: run.cancel_many(_out(run, 3)),
    "correct": lambda run: run.correct(_told(run), 7.0),
    "add an arm": lambda run: run.add_arm("E"),
    "retire an arm": lambda run: run.retire_arm("A"),
    "extend": lambda run: run.extend(400),
    "pause": lambda run: run.pause(),
    "stop": lambda run: run.stop(),
    "note": lambda run: run.note("hello"),
    "warm start": lambda run: run.warm_start(LOG, arm="arm", environment="day", reward="sales"),
    "forget units": lambda run: run.forget_units(),
    "recommend": lambda run: run.recommend().p_best,
    "fit": lambda run: run.fit().arms,
    "history": lambda run: run.history(),
    "done": lambda run: run.done,
    "shares": lambda run: run.shares(environment=1, n=10),
    "pickle": lambda run: pickle.dumps(run),
}


@cache
def _kinds(name):
    """Return the kinds of events that an undisturbed call makes."""
    run = busy("linlucb")
    before = len(run.events())
    CALLS[name](run)
    return [type(event).__name__ for event in run.events()[before:]]


def lock_is_free(run):
    """Tell whether another thread gets in."""
    free = []

    def enter():
        free.append(run._lock.acquire(timeout=5.0))
        if free[0]:
            run._lock.release()

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    return free[0]


def check_whole(run, before, name):
    """All of a call happened or nothing, nobody holds the lock, and the run goes on like its own copy."""
    after = run.events()
    assert after[: len(before)] == before
    new = [type(event).__name__ for event in after[len(before) :]]
    assert new == _kinds(name)[: len(new)]  # ids of one's own and plans for units are events before it
    assert lock_is_free(run)
    again = check_refold(run)
    book = run._state.book
    assert list(book.out) == [i for i, status in enumerate(book.status) if status == OUT]
    if not run.done and not book.paused:
        assert run._next_arm("next") == again._next_arm("next")


def interrupted_at(line, call):
    """Make a call that is interrupted before its `line`th line of tideproof; whether it was."""
    old, seen = sys.gettrace(), 0

    def trace(frame, event, _):
        nonlocal seen
        if not is_product_code(frame.f_code) or frame.f_code.co_name in ("alone", "remarks"):
            return None  # a trace gets in between a block that holds a lock and its end, a signal does not
        if event == "line":
            seen += 1
            if seen == line:
                raise Interrupt
        return trace

    sys.settrace(trace)
    try:
        call()
    except Interrupt:
        return True
    finally:
        sys.settrace(old)
    return False
