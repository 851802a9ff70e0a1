"""Experiments with planned looks: bounds as for a log, events, replay, and what is refused."""

import json
import sys

import numpy as np
import pytest

import tideproof as tp
from experiments import replay, replay_events
from faults import interrupted_at
from naive_experiment import check_same
from tideproof.cli import main
from tideproof.errors import Finished, InputError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_validation import check_event
from tideproof.experiment.snapshots import snapshot
from tideproof.experiment.state.experiment_state import State
from tideproof.report.event_text import describe_events
from tideproof.report.experiment_report import experiment_verdict

ARMS = ["A", "B", "C"]


def planned(looks=5, **options):
    return tp.Experiment(ARMS, looks=looks, policy="round-robin", **{"seed": 1, **options})


def play(run, days, lead=0.0, each=42):
    """Ask and tell for some days, on each of which all rewards shift; B is better by `lead`."""
    for day in days:
        random = np.random.default_rng(day)
        for _ in range(each):
            pull = run.ask(environment=day)
            run.tell(pull, day % 5 + lead * (pull.arm == "B") + random.standard_normal())
    return run


def decided(**options):
    """Return an experiment whose third look named B."""
    run = planned(**options)
    for day in range(3):
        assert not run.done
        play(run, [day], lead=4.0 * (day == 2))
        run.look()
    assert run.done
    return run


@pytest.mark.parametrize("spending", ["pocock", "obrien-fleming"])
def test_a_look_is_that_of_a_log_with_a_file_of_looks(tmp_path, spending):
    run = planned(tp.Looks(6, spending=spending), confidence=0.9)
    for day, look in enumerate([1, 2.5, 4, 6]):  # one is early, some are missed
        play(run, [day], lead=0.2, each=42 + 21 * day)
        found = run.look(look)
        plan = tp.Looks(6, look=look, spending=spending, file=tmp_path / "plan.json")
        columns = {"arm": "arm", "environment": "environment", "reward": "reward", "confidence": 0.9}
        log = tp.fit(run.history(), **columns, looks=plan, about="these")
        expected = log.contrast(found.arm, found.runner_up)
        assert (found.margin, found.low, found.high) == pytest.approx(
            (expected.estimate, expected.low, expected.high), rel=1e-9
        )
        event = run.events()[-1]
        [made] = json.loads((tmp_path / "plan.json").read_text())["made"][-1:]
        assert (event.look, event.spent) == pytest.approx((made["look"], made["spent"]))
        assert sorted(v for *_, v in event.variances) == pytest.approx(
            sorted(v for *_, v in made["variances"])
        )
        assert found.sure == log.decision.names_winner
    assert run.recommend().looks.spent == pytest.approx(0.1)


def test_a_look_that_names_an_arm_ends_and_ships():
    run = decided(budget=420)
    found = run.recommend()
    assert (found.arm, found.sure, found.rule, found.anytime, run.shipped) == ("B", True, "looks", False, "B")
    assert found.low > 0.0
    with pytest.raises(
        Finished, match="no further pull is needed: the selected arm is B, confirmed as the best"
    ):
        run.ask()
    verdict = experiment_verdict(run.internals.read())
    assert verdict.standing == "winner"
    assert "B is best on average over these environments (95 % confidence): " in verdict.sentence
    assert "valid at all planned looks" in verdict.sentence
    said = describe_events(run.internals.state, 5)[-1]["said"]
    assert said.startswith("look 3 at 126 rewards: B is best (")


def test_nothing_is_decided_between_looks():
    run = planned(14, budget=1400)
    assert run.recommend().looks.text == "look 1 of 14 is due at 100 rewards"
    play(run, range(6), lead=3.0)
    found = run.recommend()
    assert (found.arm, found.sure, found.low, found.high, run.done, run.shipped) == (
        "B", False, None, None, False, None,
    )  # fmt: skip
    assert experiment_verdict(run.internals.read()).standing == "open"
    assert "interval" not in str(found)
    at = run.look(2)
    assert at.sure
    assert at.looks.made == (2.0,)
    assert at.looks.text == "look 2 of 14 was made, and look 3 is due at 300 rewards"


def test_a_repeated_look_spends_nothing():
    run = play(planned(), [0])
    first = run.look(by="ann")
    events = run.events()
    assert run.look() == run.look(1) == first
    assert run.events() == events
    assert events[-1].by == "ann"
    run.look(2)  # a further number without further rewards is a further look
    assert run.recommend().looks.made == (1.0, 2.0)


def test_the_last_look_ends_the_experiment_without_a_winner():
    run = planned(2, control="A")
    for day in range(2):
        play(run, [day])
        run.look()
    found = run.recommend()
    assert not found.sure
    assert run.done
    assert run.shipped is None
    assert found.looks.spent == pytest.approx(0.05)
    assert found.looks.text == "look 2 of 2 was made, the last one"
    assert run.internals.status().state == "done"
    with pytest.raises(Finished, match="all planned looks were made"):
        run.ask()
    run.tell_summary(arm="A", environment=1, n=3, mean=9.0, variance=1.0)
    with pytest.raises(InputError, match="beyond the plan of 2"):
        run.look()
    assert run.recommend().low is None
    assert run.fit().looks.made[-1] == 2


def test_a_correction_takes_the_decision_back_and_the_look_decides_anew():
    run = decided()
    for pull in [row["pull"] for row in run.history().to_dicts() if row["arm"] == "B"]:
        run.correct(pull, 0.0)
    assert not run.done
    found = run.look()
    assert not found.sure
    assert found.looks.made == (1.0, 2.0, 3.0)
    assert [type(event).__name__ for event in run.events()].count("Looked") == 4
    again = replay(run)
    assert again.recommend() == found


def test_a_retired_arm_is_not_named():
    run = play(planned(), [0, 1], lead=3.0)
    run.retire_arm("B")
    play(run, [2])
    assert run.look().arm in ("A", "C")
    assert not run.done


def test_files_replays_and_snapshots_hold_the_looks(tmp_path):
    run = decided(budget=600)
    for again in (replay(run), replay_events(run.events())):
        check_same(again, run)
        assert again.recommend() == run.recommend()
        assert again.shipped == "B"
    run.save(tmp_path / "run.json")
    assert "snapshot" in json.loads((tmp_path / "run.json").read_text())
    loaded = tp.Experiment.load(tmp_path / "run.json")
    assert loaded.recommend() == run.recommend()


def test_the_snapshot_of_a_store_holds_the_looks():
    run = decided(budget=600)
    state = run.internals.state
    resumed = State(state.created, state.spec)
    assert snapshot.resume(resumed, state.events, snapshot.serialize_state(snapshot.copy_whole_state(state)))
    assert resumed.book.looks == state.book.looks
    assert len(resumed.book.looks) == 3
    assert resumed.book.shipped == "B"


def tideproof(*words):
    """Run a command, and return its exit status."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["tideproof", *words])
        with pytest.raises(SystemExit) as end:
            main()
    return end.value.code


def test_stored_looks_are_checked_and_travel(tmp_path, capsys):
    url, other = (f"sqlite:///{tmp_path / name}.db" for name in ("shop", "other"))
    run = tp.Experiment.open(url, "prices", ARMS, looks=3, policy="round-robin", seed=1)
    for day in range(2):
        play(run, [day], lead=0.3, each=12)
        run.look()
    run.close()
    file = str(tmp_path / "prices.json")
    for words in (("fsck", url), ("export", url, "prices", file), ("import", file, other, "prices")):
        assert tideproof(*words) == 0
    capsys.readouterr()
    assert tideproof("show", other, "prices") == 0
    assert "look 2 at 24 rewards: no arm is named (" in " ".join(capsys.readouterr().out.split())
    copy = tp.Experiment.open(other, "prices")
    assert copy.recommend().looks.made == (1.0, 2.0)
    copy.close()


def test_an_interrupted_look_is_made_or_not_made():
    run, whole = play(planned(), [0], each=12), 0
    for line in range(500, 9500, 600):
        copy = replay(run)
        interrupted_at(line, copy.look)
        made = [type(event).__name__ for event in copy.events()[len(run.events()) :]]
        assert made in ([], ["Looked"])
        whole += len(made)
        assert copy.look().looks.made == (1.0,)
    assert 0 < whole < 15


def test_processes_share_the_looks_of_a_stored_experiment(tmp_path):
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    run = tp.Experiment.open(url, "prices", ARMS, looks=tp.Looks(5), policy="round-robin", seed=1)
    other = tp.Experiment.open(url, "prices", ARMS, looks=5, confidence=0.95)
    for day in range(2):
        play(run, [day], lead=0.8)
        first = other.once(f"look {day}", other.look)
        assert run.once(f"look {day}", run.look) == first
    assert run.recommend().looks.made == (1.0, 2.0)
    with pytest.raises(InputError, match=r"has looks=\[5, 'pocock'\], not \[6, 'pocock'\]"):
        tp.Experiment.open(url, "prices", looks=6)
    run.close(), other.close()
    fresh = tp.Experiment.open(url, "prices")
    assert fresh.recommend() == run.recommend()
    fresh.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"policy": "contrast"}, "needs traffic that does not follow rewards, unlike policy='contrast'"),
        ({"environments": [1, 2], "policy": "contrast"}, "unlike environments="),
        ({"rule": "proven"}, "rule='proven' is for looks at any time"),
        ({"tide": "hidden"}, "requires tide='labels'"),
        ({"confidence": 0.4}, "must be above 0.5"),
        ({"looks": 0}, "looks must be"),
        ({"looks": 101}, "looks must be"),
        ({"looks": 4.5}, "looks must be"),
        ({"looks": (5, "all")}, "spending must be"),
        ({"looks": tp.Looks(5, look=2)}, r"give only the plan, tp.Looks\(5\)"),
    ],
)
def test_invalid_plans_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        tp.Experiment(ARMS, **{"looks": 5, "policy": "round-robin", **options})


def test_invalid_looks_are_refused():
    run = play(planned(), [0])
    run.look(3)
    play(run, [1])
    for look, words in ((2, "out of order"), (3, "out of order"), (0, "look must be"), ("x", "look must be")):
        with pytest.raises(InputError, match=words):
            run.look(look)
    with pytest.raises(InputError, match="no planned looks"):
        tp.Experiment(ARMS, policy="round-robin").look()
    with pytest.raises(InputError, match="warm start is not possible with planned looks"):
        run.warm_start({"a": ["A", "B"], "d": [1, 1], "r": [1.0, 2.0]}, arm="a", environment="d", reward="r")
    with pytest.raises(tp.errors.NotComparable, match="no reward"):
        planned().look()


def test_impossible_looks_in_a_file_are_refused():
    run = play(planned(), [0])
    run.look(2)
    play(run, [1])
    last = run.events()[-1].at
    good = e.Looked(last, None, 3.0, 0.0, 84, (), None)
    good = good._replace(spent=replay(run).look(3).looks.spent)
    check_event(run.internals.state, good)
    wrong = {"look": 1.0, "spent": 0.04, "recorded": 83, "variances": ((0, 3, 1.0),), "arm": 3}
    for name, value in wrong.items():
        with pytest.raises(InputError, match="impossible"):
            check_event(run.internals.state, good._replace(**{name: value}))
    for event in (e.Sure(last, None, 0, "calibrated", 0.95), e.Warmed(last, None, ())):
        with pytest.raises(InputError, match="impossible"):
            check_event(run.internals.state, event)
    with pytest.raises(InputError, match="impossible"):
        check_event(tp.Experiment(ARMS).internals.state, good._replace(recorded=0))
