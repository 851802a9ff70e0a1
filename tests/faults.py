"""Experiments in the middle of a run, every call to them, and checks after an interrupted call."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from functools import cache

import numpy as np

import tideproof as tp
from experiments import replay
from naive_experiment import check_replay

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
    """Exception that a signal handler raises, as Ctrl-C raises KeyboardInterrupt."""


def is_product_code(code):
    """Return whether a code object belongs to the package; a folder named tideproof is not enough."""
    return code.co_filename.startswith(PACKAGE)


def count(short):
    """Return the number of faults to try: `short`, or more under `make faults`."""
    return int(os.environ.get("TIDEPROOF_FAULTS", short))


@cache
def _busy(policy):
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
    return run


def busy(policy):
    """Return an experiment with told, cancelled, summarised and pending pulls, and a retired arm."""
    return replay(_busy(policy))


def _out(run, most):
    return run.pending_pulls()[:most]


def _told(run):
    table = run.history()
    return table["pull"][table["status"].index("told")]


LOG = {"arm": ["A", "B", "A", "C"], "day": ["old"] * 3 + ["older"], "sales": [1.0, 2.0, 1.5, 0.0]}

CALLS = {
    "ask": lambda run: run.ask(environment=1),
    "ask somewhere new": lambda run: run.ask(environment="elsewhere"),
    "ask for many": lambda run: run.ask(environment=2, n=7),
    "ask for a unit": lambda run: run.ask(environment=2, unit="somebody"),
    "tell": lambda run: run.tell(_out(run, 1)[0], 1.0),
    "tell many": lambda run: run.tell_many(_out(run, 6), [1.0, -2.0, 0.5, 0.25, 3.0, 1.5]),
    "reward of a unit": lambda run: run.tell(run.ask(environment=1, unit="ann"), 1.0, key="first"),
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
    "pause and resume": lambda run: (run.pause(), run.resume()),
    "stop": lambda run: run.stop(),
    "stop and ship": lambda run: run.stop("enough", "ann", ship="B"),
    "stop, archive and restore": lambda run: (run.stop(), run.archive(), run.restore(), run.archive("over")),
    "note": lambda run: run.note("hello"),
    "warm start": lambda run: run.warm_start(LOG, arm="arm", environment="day", reward="sales"),
    "forget a unit": lambda run: (run.ask(unit="visitor 1", environment=1), run.forget_unit("visitor 1")),
    "forget units": lambda run: run.forget_units(),
    "recommend": lambda run: run.recommend().p_best,
    "fit": lambda run: run.fit().arms,
    "history": lambda run: run.history(),
    "done": lambda run: run.done,
    "shares": lambda run: run.shares(environment=1, n=10),
    "pickle": lambda run: pickle.dumps(run),
}


@cache
def events_made(name):
    """Return the names of the events that a call makes if nothing interrupts it."""
    run = busy("linlucb")
    before = len(run.events())
    CALLS[name](run)
    return [type(event).__name__ for event in run.events()[before:]]


def lock_is_free(run):
    """Return whether another thread can call the experiment within five seconds."""
    found = []
    thread = threading.Thread(target=lambda: found.append(run.arms and run.pending_pulls()), daemon=True)
    thread.start()
    thread.join(5.0)
    return bool(found)


def check_whole(run, before, name):
    """Check that a call happened entirely or not at all, that the lock is free and that a replay agrees."""
    after = run.events()
    assert after[: len(before)] == before
    new = [type(event).__name__ for event in after[len(before) :]]
    assert new == events_made(name)[: len(new)]  # new ids and plans for units are separate events
    assert lock_is_free(run)
    again = check_replay(run)
    rows = [row for row in run.history().to_dicts() if row["status"] == "pending"]
    assert [pull.id for pull in run.pending_pulls()] == [row["pull"] for row in rows]
    if not run.done and new[-1:] != ["Paused"]:
        assert run.shares(environment="next", n=1) == again.shares(environment="next", n=1)


def interrupted_at(line, call):
    """Interrupt a call before its `line`th line of tideproof; return whether the call was that long."""
    old, seen = sys.gettrace(), 0

    def trace(frame, event, _):
        nonlocal seen
        if not is_product_code(frame.f_code) or frame.f_code.co_name in ("with_lock", "remarks"):
            return None  # unlike a signal, a trace can strike between the end of a locked block and its exit
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
