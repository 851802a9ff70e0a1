"""Experiments for tests, and what tests compare: three arms whose mean rewards are 0, 1 and 2."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import tideproof as tp
from tideproof.experiment.events.event_validation import check_event
from tideproof.experiment.snapshots import experiment_file, snapshot
from tideproof.experiment.state.experiment_state import State
from tideproof.policies.policy_spec import PolicySpec

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.0, "B": 1.0, "C": 2.0}
FOLDER = TemporaryDirectory()  # where `saved_state` writes


def experiment(**options):
    """Return an experiment with the arms A, B and C."""
    return tp.Experiment(ARMS, **{"budget": 200, "policy": "linlucb", "seed": 3, **options})


def drive(run, steps, seed=0, tide=None, each=5):
    """Ask and tell for that many steps, with a new environment every few steps."""
    random = np.random.default_rng(seed)
    for step in range(steps):
        pull = run.ask(environment=step // each)
        shift = tide[step // each] if tide is not None else 0.0
        run.tell(pull, MEANS[pull.arm] + shift + random.standard_normal())
    return run


def number(pull):
    """Return how many pulls were asked for before this one."""
    return int(pull.id.rpartition("-")[2])


def without_sessions(pulls):
    """Return pulls without the part of their ids that differs between any two experiments."""
    return [(number(pull), pull.arm, pull.environment) for pull in pulls]


def replay(run):
    """Return a new experiment made from the events of another, with the same policy and clock."""
    return copy.copy(run)


def replay_events(events, policy=None):
    """Return a new experiment that `load` makes from a file with these events and without a snapshot."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.json"
        experiment_file.write(events, None, path)
        return tp.Experiment.load(path, policy)


def saved_state(run):
    """Return a copy of the state of an experiment, made from the numbers that `save` writes.

    The book of pulls follows from the events, but no reward is folded again. So the numbers are those of the
    experiment itself, and comparing them with those of a replay can fail. Nothing that is done to the copy
    changes the experiment.
    """
    path = Path(FOLDER.name) / "run.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshot, "FEWEST_EVENTS", 0)
        patch.setattr("os.fsync", lambda file: None)  # the file need not survive a crash
        run.save(path)
    events, numbers = run.events(), json.loads(path.read_text())["snapshot"]
    state = State(events[0], run.policy)
    state.events += events[1:]
    assert snapshot.restore_from_snapshot(state, numbers, check_event), "the saved numbers could not be read"
    return state


def saved_numbers(run):
    """Return the bytes of all numbers of an experiment: those of the policy and of the environments."""
    return saved_state(run).policy_state.buffers()


def live_book(run):
    """Return a copy of the book of pulls that an experiment holds in memory.

    `save` writes events, from which the book follows. So only this shows what an interrupted call left in the
    book: units, plans for units and keys of rewards, which no public method returns.
    """
    run.pending_pulls()  # any call first undoes what an interrupted one has changed
    book = vars(run.internals.state.book)
    return copy.deepcopy(book | {"pending": list(book["pending"]), "reserved": list(book["reserved"])})


def contents(run):
    """Return everything that an experiment is: its events, its numbers, its book and its history."""
    return {
        "events": run.events(),
        "numbers": saved_numbers(run),
        "book": live_book(run),
        "history": run.history().to_dicts(),
        "remaining": run.remaining,
    }


def same_contents(run, other):
    """Return whether two experiments are the same but for the ids of their pulls and the times of events."""
    found = []
    for each in (run, other):
        book = live_book(each)
        del book["session"]
        found.append((saved_numbers(each), book))
    return found[0] == found[1]


def next_arm(run, environment=None):
    """Return the arm that the next ask would choose there, without asking."""
    (arm,) = [arm for arm, share in run.shares(environment=environment, n=1).items() if share]
    return arm


def replace_kernels(monkeypatch, change):
    """Let every experiment that is made from now on run `change(program)` instead of its policy's program."""
    for name in ("plain_program", "program"):
        made = getattr(PolicySpec, name)

        def changed(spec, made=made):
            program = made(spec)
            return None if program is None else change(program)

        monkeypatch.setattr(PolicySpec, name, changed)
