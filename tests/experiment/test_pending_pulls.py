"""Deferred updates: numbers that are brought up to date late are those of an immediate update."""

from copy import deepcopy

import numpy as np
import pytest

import tideproof as tp
from experiments import next_arm, replace_kernels, replay, saved_numbers
from tideproof.experiment.snapshots.experiment_file import policy_from_description
from tideproof.experiment.state.experiment_state import State
from tideproof.experiment.state.pending_pulls import PendingPulls

ARMS = ["A", "B", "C", "D"]


def played(steps=300, seed=5, **options):
    """Return the events of a run with asks, rewards, cancelled pulls and summaries in random order."""
    run = tp.Experiment(ARMS, budget=5000, seed=3, **options)
    random, waiting = np.random.default_rng(seed), []
    for step in range(steps):
        for _ in range(int(random.integers(0, 3))):
            waiting += run.ask(n=int(random.integers(1, 4)), environment=int(random.integers(3)) + step // 40)
        for _ in range(int(random.integers(0, 5))):
            if waiting:
                run.tell(waiting.pop(int(random.integers(len(waiting)))), int(random.integers(2)))
        if step % 41 == 40 and waiting:
            run.cancel(waiting.pop())
        if step % 67 == 66:
            run.tell_summary(arm="B", environment="sums", n=3, successes=1)
        if step % 83 == 82:  # nothing is out
            run.tell_many(waiting, [1.0] * len(waiting))
            waiting.clear()
        if step == 200:
            run.retire_arm("A")
    return run.events()


def copy_of(state):
    """Return a copy of the numbers of a state; queries of the copy do not change the state."""
    book, numbers = state.book, State(state.created, state.spec).policy_state
    params = state.params(len(book.active), book.horizon)
    numbers.restore(len(book.arms), book.active, params, deepcopy(state.policy_state.contents()))
    return numbers


def folded(happened, looks, waits=True, monkeypatch=None):
    """Return the bytes of the numbers after some of the events and at the end."""
    if not waits:
        monkeypatch.setattr(PendingPulls, "_can_postpone", lambda self: False)
    state, found = State(happened[0], policy_from_description(happened[0].policy, None)), []
    for number, event in enumerate(happened[1:]):
        state.events.append(event)
        state.fold()
        if number in looks:
            found.append(copy_of(state).buffers())
    return found, state.policy_state.buffers()


KINDS = [
    {},
    {"policy": "linlucb"},
    {"policy": "top-two-thompson"},
    {"policy": "ucb1-normal"},
    {"policy": "reduce:lucb"},
    {"rewards": "conversions"},
    {"confidence": 0.95},
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_deferred_updates_give_the_numbers_of_immediate_ones(options, monkeypatch):
    happened = played(**options)
    looks = {*np.flatnonzero(np.random.default_rng(1).random(len(happened)) < 0.1).tolist()}
    late, at_once = folded(happened, looks), folded(happened, looks, False, monkeypatch)
    assert len(late[0]) > 30
    assert late == at_once


@pytest.mark.parametrize("rewards", ["normal", "conversions", "counts", "money"])
def test_deferred_updates_agree_after_each_of_the_first_events(rewards, monkeypatch):
    """The first events include the one from which arms are compared by ratios."""
    happened = played(steps=25, rewards=rewards)
    late = [folded(happened[:end], ())[1] for end in range(1, len(happened) + 1)]
    monkeypatch.setattr(PendingPulls, "_can_postpone", lambda self: False)
    assert late == [folded(happened[:end], ())[1] for end in range(1, len(happened) + 1)]


@pytest.mark.parametrize("scale", ["ratio", "odds"])
def test_a_loaded_run_on_another_scale_asks_for_the_same_arms(scale, tmp_path):
    run = tp.Experiment(["A", "B", "C"], budget=60, seed=1, rewards="conversions", scale=scale)
    pulls = run.ask(n=8, environment="d")
    run.tell_many(pulls[:6], [1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    run.ask(environment="d")
    run.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    asked = [[each.ask(environment="d").arm for _ in range(5)] for each in (run, again)]
    assert asked[0] == asked[1]


def test_most_deferred_updates_are_never_made(monkeypatch):
    """Without deferring, the policy would be brought up to date at each of 200 asks."""
    noticed = []

    def counted(program):
        return program._replace(notice=lambda *args: noticed.append(1) or program.notice(*args))

    replace_kernels(monkeypatch, counted)
    run = tp.Experiment(ARMS, budget=5000)
    run.ask(n=20, environment="first")
    for number in range(200):
        run.tell(run.ask(environment=number // 10), number % 2)
    assert len(noticed) > 150
    noticed.clear()
    again = replay(run)
    assert len(noticed) < 30  # the beginning, and all at once after 4096 rewards
    assert saved_numbers(again) == saved_numbers(run)


def test_an_interrupted_deferred_update_is_made_again(monkeypatch, tmp_path):
    armed = []

    def interrupting(program):
        def notice(*args):
            program.notice(*args)
            if armed:
                raise KeyboardInterrupt

        return program._replace(notice=notice)

    replace_kernels(monkeypatch, interrupting)
    run = tp.Experiment(ARMS, budget=5000)
    waiting = run.ask(n=40, environment="first")
    for number, pull in enumerate(waiting[:30]):
        run.tell(pull, number % 3)
    run.ask(environment="second")
    again = replay(run)
    monkeypatch.setattr("tideproof.experiment.snapshots.snapshot.FEWEST_EVENTS", 1)
    armed.append(True)
    for look in (lambda: next_arm(again, "second"), lambda: again.save(tmp_path / "run.json")):
        with pytest.raises(KeyboardInterrupt):
            look()
    armed.clear()
    assert next_arm(again, "second") == next_arm(run, "second")
    assert saved_numbers(again) == saved_numbers(run)


@pytest.mark.parametrize("policy", ["contrast", "reduce:sequential-halving"])
def test_an_extension_applies_to_pulls_that_were_already_pending(policy):
    """A choice before the extension, which reads the pending pulls, changes nothing after it."""
    found, before = [], None
    for looks in (True, False):
        run = tp.Experiment(ARMS, budget=60, policy=policy, seed=3)
        for step in range(30):
            pull = run.ask(environment=step // 5)
            run.tell(pull, ARMS.index(pull.arm) + step * step % 7)
        run.ask(n=4, environment=5)
        if looks:
            run.shares(environment=6, n=1)
            before = saved_numbers(run)
        run.extend(400)
        run.shares(environment=6, n=1)
        found.append(saved_numbers(run))
    assert found[0] == found[1]
    assert found[0] != before  # so the budget matters to this policy
