"""Warm starts: earlier rewards count in everything except the budget."""

import datetime

import numpy as np
import pytest

import tideproof as tp
from experiments import replay, saved_numbers, saved_state
from tideproof.experiment.events import event_records as e

ARMS = ["A", "B", "C"]
MEANS = {"A": 0.0, "B": 1.0, "C": 2.0}
NAMES = {"arm": "arm", "environment": "day", "reward": "y"}


def log(rows=60, days=5):
    random = np.random.default_rng(8)
    arms = [ARMS[i] for i in random.integers(0, 3, rows)]
    day = [f"d{i}" for i in random.integers(0, days, rows)]
    return {"arm": arms, "day": day, "y": [MEANS[a] + float(random.standard_normal()) for a in arms]}


def drive(run, steps):
    random = np.random.default_rng(9)
    for step in range(steps):
        pull = run.ask(environment=f"d{step // 10}")  # d0 to d4 are those of the log
        run.tell(pull, MEANS[pull.arm] + random.standard_normal())


def test_a_log_and_its_fit_give_the_same_start():
    first, second = (tp.Experiment(ARMS, budget=100, seed=1) for _ in range(2))
    first.warm_start(log(), **NAMES)
    second.warm_start(tp.fit(log(), **NAMES), by="me")
    assert first.events()[1].cells == second.events()[1].cells
    assert second.events()[1].by == "me"
    assert saved_numbers(first) == saved_numbers(second)
    expected = {row["arm"]: row for row in tp.fit(log(), **NAMES, variance="common").arms.to_dicts()}
    for row in first.fit(variance="common").arms.to_dicts():
        other = expected[row.pop("arm")]
        assert row == pytest.approx({name: other[name] for name in row}, rel=1e-6, abs=1e-5)


@pytest.mark.parametrize("policy", ["contrast", "linlucb", "top-two-thompson", "round-robin+ols"])
def test_the_fit_is_that_of_log_and_run_together(policy, tmp_path):
    run = tp.Experiment(ARMS, budget=100, policy=policy, seed=1)
    run.warm_start(log(), **NAMES)
    drive(run, 70)
    told = [row for row in run.history().to_dicts() if row["status"] == "told"]
    whole = {
        "arm": log()["arm"] + [row["arm"] for row in told],
        "day": log()["day"] + [row["environment"] for row in told],
        "y": log()["y"] + [row["reward"] for row in told],
    }
    found = run.fit()
    expected = tp.fit(whole, adaptive=found.adaptive, about="these", **NAMES)
    for a, b in (("B", "A"), ("C", "A")):
        assert found.contrast(a, b).estimate == pytest.approx(expected.contrast(a, b).estimate, rel=1e-9)
        assert found.contrast(a, b).se == pytest.approx(expected.contrast(a, b).se, rel=1e-9)
    assert len(found.cells.environments) == 7  # the days that both have are the same
    run.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    assert saved_numbers(again) == saved_numbers(run)
    assert again.ask(environment="new").arm == replay(run).ask(environment="new").arm


def test_earlier_rewards_use_no_budget():
    run = tp.Experiment(ARMS, budget=100, seed=1)
    run.warm_start(log(600), **NAMES)
    assert run.remaining == 100
    assert saved_state(run).book.horizon == 700  # the policy counts 600 of them as played
    assert saved_state(run).policy_state.rewards.params == run.policy.params(3, 700)
    drive(run, 100)
    assert saved_state(run).book.horizon == 700
    assert run.done
    assert run.history()["status"].count("told") == 100


def test_a_warm_start_may_come_while_pulls_are_pending():
    run = tp.Experiment(ARMS, budget=100, seed=1)
    drive(run, 20)
    pulls = run.ask(n=10, environment="d9")
    run.warm_start(log(), **NAMES)
    run.tell_many(pulls, [MEANS[p.arm] for p in pulls])
    assert run.fit().cells.n.sum() == 90
    again = replay(run)
    assert saved_numbers(again) == saved_numbers(run)


def test_an_aggregated_log_with_dates():
    run = tp.Experiment(["A", "B"])
    days = [datetime.date(2026, 11, 16)] * 2
    run.warm_start(
        {"arm": ["A", "B"], "day": days, "y": [1.0, 2.0], "n": [10, 20], "sd": [2.0, 3.0]},
        **NAMES,
        n="n",
        sd="sd",
    )
    (event,) = [event for event in run.events() if isinstance(event, e.Warmed)]
    assert event.cells == ((0, "2026-11-16", 10, 1.0, 36.0), (1, "2026-11-16", 20, 2.0, 171.0))


def test_the_largest_number_of_rewards_is_the_largest_exact_one():
    log = {"arm": ["A", "B"], "day": ["x", "x"], "y": [1.0, 2.0], "sd": [1.0, 1.0]}
    run = tp.Experiment(["A", "B"], budget=None)
    with pytest.raises(tp.errors.InputError, match=f"at most {2**53}, not {2.0**53 + 2.0!r}"):
        run.warm_start(log | {"n": [2**53 + 2, 1]}, **NAMES, n="n", sd="sd")
    run.warm_start(log | {"n": [2**53, 1]}, **NAMES, n="n", sd="sd")
    assert [cell[2] for cell in run.events()[-1].cells] == [2**53, 1]


NO_NAMES = (3, b"day", ["day"], "", {}, 10**5000)


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        ({"arm": ["A", "Z"], "day": [1, 1], "y": [1.0, 2.0]}, NAMES, "unknown arm 'Z'"),
        (log(), {"arm": "arm"}, "the names of the columns of the log: environment=, reward= are missing"),
        (tp.fit(log(), **NAMES), {"arm": "arm"}, "a Fit has no columns: omit arm="),
        ({"arm": ["A", "B"], "day": [1.5, 2.5], "y": [1.0, 2.0]}, NAMES, "label must be a string"),
        ({"arm": ["A", "B"], "day": [1, 1], "y": [1.0, 1e150]}, NAMES, "mean must be between"),
        ({"arm": ["A", "B"], "day": [1, 1], "y": [1.0, 11.0]}, NAMES, "mean must be between -5 and 10"),
        (42, NAMES, "42|int"),
        *(
            (
                log(),
                {**NAMES, "environment": no},
                "environment must be the name of a column|choose environment=",
            )
            for no in NO_NAMES
        ),
        *((log(), {**NAMES, "arm": no}, "arm must be the name of a column, not") for no in NO_NAMES),
        *((log(), {**NAMES, "n": no, "sd": "y"}, "n must be the name of a column, not") for no in NO_NAMES),
        (log(), {**NAMES, "varience": "y"}, "^unknown option 'varience' of tp.fit; did you mean 'variance'"),
        (log(), {**NAMES, "m": None}, "^unknown option 'm' of tp.fit; known: 'arm', 'environment', 'reward'"),
        ({"arm": ["A", 10**5000], "day": [1, 1], "y": [1.0, 2.0]}, NAMES, "number of more than 4300 digits"),
    ],
)
def test_invalid_data_are_refused(data, options, words):
    run = tp.Experiment(ARMS, limits=(-5, 10))
    before = saved_numbers(run)
    with pytest.raises(tp.errors.TideproofError, match=words):
        run.warm_start(data, **options)
    assert len(run.events()) == 1
    assert saved_numbers(run) == before
