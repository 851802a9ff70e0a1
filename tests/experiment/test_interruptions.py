"""An interrupted call of an experiment happens entirely or not at all.

`make faults` tries 2,000 signals, and every tenth line of every call; `make test` a hundred signals, in a
process of their own: inside the counting of lines a signal would keep its lock for ever.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from experiments import experiment, saved_state
from faults import (
    CALLS,
    POLICIES,
    Interrupt,
    busy,
    check_whole,
    count,
    events_made,
    interrupted_at,
    is_product_code,
)
from tideproof.experiment.events import event_records as e
from tideproof.experiment.state import recorded_rewards as module

faults = pytest.mark.skipif("TIDEPROOF_FAULTS" not in os.environ, reason="make faults")


# events of experiments with a lease, a time to expose, a stopping rule, a set of environments or no labels, and
# the first event
NEED_OTHER_OPTIONS = {"AskedPairs", "Expired", "Exposed", "Looked", "Sure", "Unlabelled", "Created"}


def test_every_other_type_of_event_is_made_by_a_call_that_is_interrupted():
    made = {kind for name in CALLS for kind in events_made(name)}
    assert made == set(e.KINDS) - NEED_OTHER_OPTIONS


@pytest.fixture(autouse=True)
def solves_often(monkeypatch):
    """Solve anew after every fifth reward, so that this is interrupted, too."""
    monkeypatch.setattr(module, "BATCHES_PER_SOLVE", 5)


@pytest.fixture
def late_alarms():
    """Ignore signals that arrive after the test."""
    old = signal.signal(signal.SIGALRM, lambda *_: None)
    yield
    time.sleep(0.05)
    signal.signal(signal.SIGALRM, old)


def interrupted_by_signal(call, seconds, times):
    """Make a call that up to `times` signals interrupt after so many seconds; return whether one did."""
    left, heard = times, False

    def handler(_, frame):
        nonlocal left, heard
        while frame is not None and not is_product_code(frame.f_code):
            frame = frame.f_back
        if frame is not None and left > 0:  # not in the lines of this test
            left, heard = left - 1, True
            raise Interrupt

    old = signal.signal(signal.SIGALRM, handler)
    try:
        with contextlib.suppress(Interrupt):
            signal.setitimer(signal.ITIMER_REAL, seconds, 5e-5)
            call()
    finally:
        left = 0
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    return heard


@pytest.mark.skipif("TIDEPROOF_FAULTS" in os.environ, reason="make faults tries more of them")
def test_a_hundred_signals_in_another_process():
    """Run the test below in a process without coverage measurement."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV")}
    options = ["-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist", "-k", "random_points"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, __file__],
        env=environment | {"TIDEPROOF_FAULTS": "100"}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout


def applied(state):
    return state.events[0], len(state.events), state.book.paused, state.policy_state.buffers()


@pytest.mark.parametrize("policy", ["contrast", "hidden:linlucb"])
@pytest.mark.parametrize(
    "change",
    [
        lambda state, interrupt: state.read(interrupt),
        lambda state, interrupt: state.add(e.Paused(1.0, None, "")),
        lambda state, interrupt: state.ask(1, 2, 1.0, None, None),
    ],
)
def test_a_change_that_ends_halfway_is_undone_by_the_next_access(policy, change, monkeypatch):
    """The interruption comes after numbers and pulls have changed and before the call has ended."""
    run = experiment(policy=policy, tide="hidden") if "hidden" in policy else busy(policy)
    for _ in range(5):
        run.tell(run.ask(), 1.0)
    state = saved_state(run)
    state.update_policy_state()
    before = applied(state)

    def interrupt(*_):
        state.book.paused = True
        state.policy_state.memory.floats[:] = 7.0
        raise Interrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(state.policy_state), "finish", interrupt)
        patch.setattr(type(state.book), "ask", interrupt)
        with pytest.raises(Interrupt):
            change(state, interrupt)
    assert applied(state) != before
    state.fold()
    state.update_policy_state()
    assert applied(state) == before


@faults
@pytest.mark.usefixtures("late_alarms")
def test_signals_at_random_points_of_every_method():
    """Only signals that came before the call had ended are counted."""
    random = np.random.default_rng(18)
    names, heard, trial = list(CALLS), 0, 0
    while heard < count(100):
        policy, name = POLICIES[trial % len(POLICIES)], names[trial % len(names)]
        run, other = busy(policy), busy(policy)
        if random.random() < 0.5:
            _ = run.done, other.done  # looks ahead, or has everything to do yet
        before, start = run.events(), time.perf_counter()
        CALLS[name](other)
        took = time.perf_counter() - start
        call = CALLS[name]
        seconds, times = random.uniform(2e-6, took), int(random.integers(1, 4))
        heard += interrupted_by_signal(lambda c=call, r=run: c(r), seconds, times)
        check_whole(run, before, name)
        trial += 1
        assert trial < 20 * count(100)


@faults
@pytest.mark.parametrize("name", CALLS)
def test_an_interruption_before_any_line(name):
    """Interrupt at about every seventh line, starting at another line for each policy."""
    random = np.random.default_rng(len(name))
    for policy in POLICIES:
        line = int(random.integers(1, 30))
        while True:
            run = busy(policy)
            before = run.events()
            if not interrupted_at(line, lambda r=run: CALLS[name](r)):
                break
            check_whole(run, before, name)
            line += int(random.integers(1, line + 60))
