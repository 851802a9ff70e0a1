"""Shares of the next batch: the arms that asking would give, without asking."""

import threading
from collections import Counter

import numpy as np
import pytest

import tideproof as tp
from experiments import replay, saved_numbers
from tideproof.experiment.lookahead import Lookahead

ARMS = ["A", "B", "C"]
POLICIES = ["contrast", "linlucb", "top-two-thompson", "round-robin+ols", "reduce:ucb1-normal", "ser3"]


def experiment(**options):
    run = tp.Experiment(ARMS, **{"budget": 2000, "seed": 5, **options})
    random = np.random.default_rng(1)
    for step in range(60):
        pull = run.ask(environment=step // 6)
        if step % 7:
            run.tell(pull, {"A": 0.0, "B": 1.0, "C": 1.5}[pull.arm] + random.standard_normal())
    return run


def asked(run, **where):
    arms = [pull.arm for pull in run.ask(**where)]
    return {arm: arms.count(arm) / len(arms) for arm in run.arms}


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    "options", [{}, {"minimum_shares": {"A": 0.3}, "maximum_shares": {"C": 0.4}}], ids=["free", "bound"]
)
def test_shares_are_those_of_the_arms_that_ask_returns(policy, options):
    run = experiment(policy=policy, **options)
    for label, n in ((9, 1), (9, 40), ("new", 60), ("new", 200)):
        found = run.shares(environment=label, n=n)
        assert found == asked(run, environment=label, n=n)
        assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)


def test_computing_shares_changes_nothing():
    run, other = experiment(), experiment()
    for n in (1, 100, 1000):
        run.shares(environment="new", n=n)
    assert len(run.events()) == len(other.events())
    assert saved_numbers(run) == saved_numbers(other)
    assert saved_numbers(replay(run)) == saved_numbers(run)
    arms = [p.arm for p in run.ask(n=50, environment="new")]
    assert arms == [p.arm for p in other.ask(n=50, environment="new")]


@pytest.mark.parametrize("policy", ["contrast", "linlucb", "round-robin+ols"])
def test_shares_of_a_large_batch_are_approximate(policy):
    run = experiment(policy=policy)
    found = run.shares(environment="new", n=1500)
    exact = asked(run, environment="new", n=1500)
    assert sum(found.values()) == pytest.approx(1.0, abs=1e-12)
    for arm in ARMS:  # a step is 7.5 pulls of 1,500
        assert found[arm] == pytest.approx(exact[arm], abs=0.03)


def test_shares_of_a_large_batch_keep_minimum_and_maximum_shares():
    found = experiment(minimum_shares={"A": 0.5}, maximum_shares={"C": 0.1}).shares(environment="new", n=1001)
    run = experiment(minimum_shares={"A": 0.5}, maximum_shares={"C": 0.1})
    asked = Counter(run.history()["arm"])
    total = sum(asked.values()) + 1001
    assert found["A"] * 1001 + asked["A"] >= 0.5 * total - 1e-6
    assert found["C"] * 1001 + asked["C"] <= 0.1 * total + 1


def test_shares_are_by_default_of_a_hundred_pulls_or_of_those_left():
    run = tp.Experiment(ARMS, budget=104, policy="round-robin")
    assert run.shares(environment=0)["A"] == 0.34
    run.ask(n=100, environment=0)
    assert run.shares() == {"A": 0.25, "B": 0.5, "C": 0.25}  # pulls 100 to 103 of A B C A ...


def test_a_retired_arm_has_a_share_of_zero():
    run = experiment()
    run.retire_arm("B")
    assert run.shares(environment=9)["B"] == 0.0


def test_shares_raise_the_errors_of_ask():
    run = tp.Experiment(ARMS, budget=5)
    with pytest.raises(tp.errors.Finished, match=r"6 pulls were requested, but 5 of 5 are left"):
        run.shares(n=6)
    with pytest.raises(tp.errors.InputError, match="n must be a whole number of at least 1, not 0"):
        run.shares(n=0)
    with pytest.raises(tp.errors.InputError, match="label"):
        run.shares(environment=1.5)
    run.pause()
    with pytest.raises(tp.errors.Finished, match="paused"):
        run.shares()


def test_another_thread_may_ask_while_shares_are_computed(monkeypatch):
    run, found, computed = experiment(), [], Lookahead.shares

    def slow(trial, n, play):
        thread = threading.Thread(target=lambda: found.append(run.ask(environment="new").arm), daemon=True)
        thread.start()
        thread.join(30.0)
        return computed(trial, n, play)

    monkeypatch.setattr(Lookahead, "shares", slow)
    assert sum(run.shares(environment="new", n=100).values()) == pytest.approx(1.0, abs=1e-12)
    assert len(found) == 1
