"""Leases: expired pulls return to the budget or get the default reward, which a late reward replaces."""

import copy
import math

import numpy as np
import pytest

import tideproof as tp
from experiments import live_book, replay, saved_numbers
from tideproof.experiment.events import event_records as e
from tideproof.experiment.state.policy_state import PolicyState

ARMS = ["A", "B", "C"]


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def experiment(clock, **options):
    return tp.Experiment(ARMS, **{"budget": 30, "lease": 10.0, "clock": clock, "seed": 2, **options})


def same(one, other):
    assert saved_numbers(one) == saved_numbers(other)
    assert one.history().to_dicts() == other.history().to_dicts()
    assert one.remaining == other.remaining


def expirations(run):
    return [event for event in run.events() if isinstance(event, e.Expired)]


def test_an_expired_pull_returns_to_the_budget():
    clock = Clock()
    run = experiment(clock)
    first = run.ask(n=4, environment="mon")
    clock.now += 5.0
    second = run.ask(n=3, environment="mon")
    run.tell(first[0], 1.0)
    clock.now = 1009.999
    assert run.pending_pulls() == [*first[1:], *second]
    clock.now = 1010.0  # exactly ten seconds
    assert run.pending_pulls() == second
    assert run.remaining == 30 - 4
    assert expirations(run) == [e.Expired(1010.0, None, (1, 2, 3), None)]
    clock.now = 1015.0
    assert run.pending_pulls() == []
    assert run.history()["status"] == ["told"] + ["expired"] * 6
    assert live_book(run)["asked"] == [first[0].arm == arm for arm in ARMS]
    same(run, replay(run))


def test_every_call_expires_pulls():
    for call in (
        "ask",
        "tell",
        "recommend",
        "pending_pulls",
        "remaining",
        "done",
        "shares",
        "fit",
        "history",
    ):
        clock = Clock()
        run = experiment(clock, default=0.0)
        pulls = run.ask(n=6, environment="mon")
        run.tell_many(pulls[:3], [1.0, 2.0, 3.0])
        clock.now += 11.0
        found = getattr(run, call)
        if callable(found):
            found(*((pulls[0], 1.0) if call == "tell" else ()))
        assert len(expirations(run)) == 1, call


def test_a_late_reward_replaces_the_default():
    clock = Clock()
    run, plain = experiment(clock, default=0.0), experiment(clock, lease=None)
    rewards = np.random.default_rng(3).normal(size=12)
    for each in (run, plain):
        each.first = each.ask(n=12, environment="mon")
        each.tell_many(each.first[:6], rewards[:6])
    clock.now += 20.0
    run.recommend()
    plain.tell_many(plain.first[6:], [0.0] * 6)
    assert run.history()["status"] == ["told"] * 6 + ["defaulted"] * 6
    assert run.history()["reward"][6:] == [0.0] * 6
    assert run.remaining == plain.remaining == 18  # they stay used
    assert run.fit().arms["mean"] == plain.fit().arms["mean"]

    run.tell_many(run.first[6:8], rewards[6:8])
    run.correct(run.first[8], rewards[8])
    for i in (6, 7, 8):
        plain.correct(plain.first[i], rewards[i])
    assert run.history()["status"][6:] == ["told"] * 3 + ["defaulted"] * 3
    assert run.fit().arms["mean"] == pytest.approx(plain.fit().arms["mean"], rel=1e-12)
    same(run, replay(run))
    with pytest.raises(tp.errors.ConflictingReward):  # the default is replaced once; then it is a told reward
        run.tell(run.first[6], 99.0)
    run.tell(run.first[9], 0.0)  # as it was: known now
    assert run.history()["status"][9] == "told"


def test_a_late_reward_counts_if_there_is_no_default():
    clock = Clock()
    run = experiment(clock, budget=6)
    pulls = run.ask(n=6, environment="mon")
    clock.now += 10.0
    run.tell(pulls[2], 4.0)
    assert run.remaining == 5
    assert run.history()["reward"] == [None, None, 4.0, None, None, None]
    assert run.fit().cells.n.tolist() == [1.0]
    again = run.ask(n=5, environment="mon")
    assert run.remaining == 0
    run.tell(pulls[0], 1.0)  # one more than the budget: it was paid for, and is taken
    assert run.remaining == 0
    assert run.done
    run.tell_many(again, [1.0] * 5)
    assert run.history()["status"].count("told") == 7
    same(run, replay(run))


def test_a_loaded_experiment_keeps_its_leases(tmp_path):
    clock = Clock()
    run = experiment(clock, default=-1.0, limits=(-2.0, 5.0))
    pulls = run.ask(n=3, environment="mon")
    clock.now += 1.0
    run.save(tmp_path / "run.json")
    loaded = tp.Experiment.load(tmp_path / "run.json", clock=clock)
    assert loaded.pending_pulls() == pulls
    clock.now += 9.0
    assert loaded.pending_pulls() == []
    assert loaded.history()["reward"] == [-1.0] * 3
    same(loaded, replay(loaded))


def test_only_pending_pulls_expire():
    clock = Clock()
    run = experiment(clock, default=0.0)
    pulls = run.ask(n=5, environment="mon")
    run.cancel(pulls[0])
    arm = pulls[1].arm
    run.tell_summary(arm=arm, environment="mon", n=1, mean=2.0)
    run.tell(pulls[4], 1.0)
    clock.now += 100.0
    run.pending_pulls()
    status = ["cancelled", *("summarised" if p.arm == arm else "defaulted" for p in pulls[1:4]), "told"]
    assert run.history()["status"][:5] == status


def test_a_clock_that_goes_back_expires_nothing():
    clock = Clock()
    run = experiment(clock)
    run.ask(n=2, environment="mon")
    clock.now -= 500.0
    run.ask(environment="mon")
    assert len(run.pending_pulls()) == 3
    clock.now += 511.0
    assert run.pending_pulls() == []


def test_no_event_is_recorded_if_nothing_expires():
    clock = Clock()
    run = experiment(clock)
    for _ in range(20):
        clock.now += 9.0
        run.tell(run.ask(environment="mon"), 1.0)
    assert not expirations(run)
    plain = experiment(clock, lease=None)
    plain.ask(environment="mon")
    clock.now += 1e9
    assert len(plain.pending_pulls()) == 1


def test_an_interrupted_late_reward_changes_nothing(monkeypatch):
    clock = Clock()
    run = experiment(clock, default=0.0)
    pulls = run.ask(n=6, environment="mon")
    clock.now += 10.0
    run.recommend()
    before = saved_numbers(run), run.history().to_dicts()
    correct = PolicyState.correct

    def broken(self, *args):
        correct(self, *args)
        raise KeyboardInterrupt

    monkeypatch.setattr(PolicyState, "correct", broken)
    with pytest.raises(KeyboardInterrupt):
        run.tell_many(pulls[:2], [1.0, 2.0])
    monkeypatch.undo()
    assert (saved_numbers(run), run.history().to_dicts()) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lease": 0}, "lease must be a number of seconds above 0, not 0"),
        ({"lease": -1}, "lease must be a number of seconds above 0, not -1"),
        ({"lease": math.inf}, "lease must be a finite number, not inf"),
        ({"lease": "1h"}, "lease must be a finite number, not '1h'"),
        ({"lease": None, "default": 0.0}, "default=0.0 requires lease="),
        ({"default": 1e200}, "default must be between -1e.50 and 1e.50, not 1e.200"),
        ({"default": 2.0, "limits": (0, 1)}, "default must be between 0 and 1, not 2.0"),
        ({"clock": lambda: math.nan}, "clock must be a finite number, not nan"),
    ],
)
def test_invalid_leases_are_refused(options, words):
    with pytest.raises(tp.errors.InputError, match=words):
        tp.Experiment(ARMS, **{"lease": 10.0, **options})


def test_a_copy_has_the_same_clock():
    now = [0.0]
    run = tp.Experiment(["A", "B"], lease=5, clock=lambda: now[0])
    pulls = run.ask(environment=1, n=4)
    assert copy.deepcopy(run).pending_pulls() == pulls
