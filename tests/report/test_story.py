"""Events in words: every kind, with the pulls that they mean."""

from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

import tideproof as tp
from tideproof.experiment.events import event_records as e
from tideproof.report.event_text import EVENT_DESCRIPTIONS, describe_event, format_age
from tideproof.report.store_listing import experiment_details


def story(run, count):
    """Return the last events of a run as its page shows them."""
    return experiment_details(run, "shop", count)["last_events"]


@pytest.fixture
def run():
    now = [1.7e9]
    run = tp.Experiment(["A", "B"], budget=60, lease=100.0, seed=1, clock=lambda: now[0])
    run.tell(run.ask(environment="monday"), 1.5)
    run.tell_many(run.ask(environment="monday", n=3), [1.0, 2.0, 3.0])
    run.tell_many(run.ask(environment="monday", n=4), [1.0, 2.0, 3.0, 2.0])
    run.cancel(run.ask(environment=2, by="ann"))
    run.ask(environment=2)
    now[0] += 200.0
    run.correct(run.history()["pull"][0], 1.25)
    run.tell_summary(arm="A", environment=2, n=10, mean=2.0, variance=1.0, key="night")
    run.ask(unit="visitor", environment=2)
    run.forget_units()
    run.add_arm("C")
    run.retire_arm("B")
    run.extend(100)
    run.extend(None)
    run.pause("rain"), run.resume(), run.note("sun", by="bob"), run.stop("enough")
    return run


def test_all_that_happened(run):
    ids = run.history()["pull"]
    arms = run.history()["arm"]
    told = story(run, 1000)
    lines = [row["said"] for row in told]
    assert [row["number"] for row in told] == list(range(1, len(run.events()) + 1))
    assert lines[0] == "created: arms A and B; budget 60; policy contrast"
    assert lines[1] == f"assigned {ids[0]} ({arms[0]}, 'monday')"
    assert lines[2] == f"recorded 1.5 for {ids[0]} ({arms[0]}, 'monday')"
    assert lines[3].startswith(f"assigned {ids[1]}, {ids[2]} and {ids[3]} in 'monday': ")
    assert lines[4] == f"recorded 1, 2 and 3 for {ids[1]}, {ids[2]} and {ids[3]}"
    assert lines[5] == "assigned 4 pulls in 'monday': 2 of A and 2 of B"
    assert lines[6] == "recorded 4 rewards, mean 2"
    assert (told[7]["by"], told[8]["said"]) == ("ann", f"cancelled {ids[8]} ({arms[8]}, 2)")
    assert f"expired: {ids[9]} ({arms[9]}, 2)" in lines
    assert f"reward corrected to 1.25: {ids[0]} ({arms[0]}, 'monday')" in lines
    assert "recorded 10 rewards of A in 2, aggregated: mean 2, variance 1 (key 'night')" in lines
    assert any(line.startswith("shares of the next ") and line.endswith(" %") for line in lines)
    assert f"assigned {ids[10]} ({arms[10]}, 2) to a unit" in lines
    assert lines[-9:] == [
        "the salt for hashing unit IDs was deleted", "arm C was added", "arm B was retired", "the budget is now 100", "the budget was removed",
        "paused: rain", "resumed", "note: sun", "stopped: enough",
    ]  # fmt: skip


def test_the_last_ones_name_the_same_pulls(run):
    everything = story(run, 1000)
    for count in range(len(everything) + 1):
        assert story(run, count) == everything[len(everything) - count :]


def test_the_others():
    book = SimpleNamespace(arms=["A", "B"])
    for event, said in (
        (e.Opened(0.0, None, "ab"), "opened by a process whose pull IDs begin with ab"),
        (
            e.Sure(0.0, None, 1, "proven", 0.9),
            "the stopping rule found that B is best (90 % confidence, rule: proven)",
        ),
        (
            e.Warmed(0.0, None, ((0, 1, 3, 1.0, 2.0), (1, 1, 2, 1.0, 2.0))),
            "added 5 rewards from before the experiment (warm start)",
        ),
        (e.Salted(0.0, None, "ab"), "the salt for hashing unit IDs was created"),
        (e.Expired(0.0, None, (0, 1, 2, 3), 0.5), "expired: 4 pulls, with the reward 0.5"),
    ):
        assert describe_event(event, book, 0) == said


def closed(rewards):
    """Return what is said of windows that close: of a pull for each reward, None where none was told."""
    now = [0.0]
    run = tp.Experiment(["A", "B"], rewards="conversions", lease=60.0, seed=1, clock=lambda: now[0])
    pulls = run.ask(environment="monday", n=len(rewards))
    for pull, reward in zip(pulls, rewards, strict=True):
        if reward is not None:
            run.tell(pull, reward)
    now[0] = 60.0
    assert run.pending_pulls() == []
    with np.errstate(invalid="ignore"):  # the page fits ratios, also of arms whose rewards are all 0
        return story(run, 1)[0]["said"], pulls


def test_rewards_that_were_told_before_their_window_closed_are_counted():
    some = "leases ended for 5 pulls: 2 with a recorded reward, the others without one, so their reward is 0"
    assert closed([1, None, 0, None, None])[0] == some
    assert closed([1, 1, 0, 1])[0] == "leases ended for 4 pulls: 4 with a recorded reward"
    assert (
        closed([None] * 4)[0]
        == "leases ended for 4 pulls: 0 with a recorded reward, all without one, so their reward is 0"
    )
    for reward, ends in (
        (1, "its recorded reward counts"),
        (None, "no reward was recorded, so its reward is 0"),
    ):
        said, (pull,) = closed([reward])
        assert said == f"lease ended for {pull.id} ({pull.arm}, 'monday'): {ends}"


def test_no_kind_is_forgotten():
    assert set(EVENT_DESCRIPTIONS) == set(get_args(e.Event))


def test_ages():
    assert [format_age(x) for x in (-5.0, 89.0, 91.0, 5399.0, 129_601.0)] == [
        "0 s",
        "89 s",
        "1.5 min",
        "90.0 min",
        "1.5 d",
    ]


def test_an_exposure_is_in_the_story():
    run = tp.Experiment(["A", "B"], lease=60.0, reserve=10.0)
    pull = run.ask(unit="ann", environment="monday")
    run.expose(pull)
    assert story(run, 1)[0]["said"] == f"shown to users: {pull.id} ({pull.arm}, 'monday')"
