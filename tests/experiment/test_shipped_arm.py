"""Which arm is shipped: one that a person chose at a stop, or that the stopping rule found; never only the leader."""

import json

import pytest

import tideproof as tp
from experiments import drive, experiment, replay, replay_events
from tideproof.experiment.events import event_records as e


def test_the_leader_is_not_shipped_by_a_stop():
    run = drive(experiment(), 30)
    assert run.recommend().arm is not None
    run.stop("legal says no to C")
    assert run.shipped is None
    with pytest.raises(tp.errors.Finished, match="the experiment is stopped, and no arm is shipped"):
        run.ask()


def test_the_chosen_arm_is_shipped_whoever_leads():
    run = drive(experiment(), 30)
    run.stop("legal says no to C", by="ann", ship="A")
    assert run.shipped == "A"
    assert run.events()[-1] == e.Stopped(run.events()[-1].at, "ann", "legal says no to C", 0)
    with pytest.raises(tp.errors.Finished, match="the experiment is stopped, and the arm A is shipped"):
        run.ask()
    assert replay(run).shipped == "A"


def test_a_later_choice_replaces_the_first_and_a_repeated_stop_changes_nothing():
    run = experiment()
    run.stop()
    run.stop("B is good enough", by="ann", ship="B")
    run.stop("again", ship="B")
    run.stop("once more")
    assert run.shipped == "B"
    run.stop("B has a bug", by="bob", ship="A")
    assert run.shipped == "A"
    stops = [event[1:] for event in run.events() if isinstance(event, e.Stopped)]
    assert stops == [(None, "", None), ("ann", "B is good enough", 1), ("bob", "B has a bug", 0)]


def test_what_the_stopping_rule_found_is_shipped_unless_a_person_chose_another_arm():
    run = drive_until_sure()
    found = run.recommend().arm
    assert run.shipped == found == "C"
    run.stop("done")
    assert run.shipped == found
    run.stop("legal says no to C", ship="A")
    assert run.shipped == "A"


def drive_until_sure():
    run = experiment(policy="contrast", budget=2000, confidence=0.95)
    while not run.done:
        drive(run, 5)
    return run


def test_a_used_budget_ships_nothing():
    run = drive(experiment(budget=30), 30)
    assert run.done
    assert run.recommend().arm == "C"
    assert run.shipped is None


def test_an_unknown_arm_is_refused_and_nothing_is_stopped():
    run = experiment()
    with pytest.raises(tp.errors.UnknownName, match=r"unknown arm 'D'.*'A', 'B', 'C'"):
        run.stop(ship="D")
    assert not run.done


def test_a_stop_ends_the_assignment_of_a_unit_too():
    run = experiment(rewards="conversions", lease=100.0, reserve=10.0, policy="contrast")
    pull = run.ask(unit="ann", environment=1)
    run.expose(pull)
    assert run.ask(unit="ann", environment=1) == pull
    run.stop(ship="A")
    with pytest.raises(tp.errors.Finished, match="the arm A is shipped"):
        run.ask(unit="ann", environment=1)
    run.tell(run.pull_of("ann"), 1)  # rewards are still accepted


def test_events_of_older_versions_are_read_and_written_as_they_are():
    run = drive(experiment(), 6)
    run.stop("enough")
    record = json.loads(json.dumps(e.event_to_record(run.events()[-1])))
    assert record == ["Stopped", run.events()[-1].at, None, "enough"]
    assert e.record_to_event(record) == e.trusted_record_to_event(record) == run.events()[-1]
    assert replay_events(run.events()).shipped is None
    run.stop(ship="B")
    again = replay_events(run.events())
    assert again.shipped == "B"
    assert again.events() == run.events()


@pytest.mark.parametrize("ship", [3, -1, "B", 1.0, [1]])
def test_a_file_with_an_impossible_choice_is_refused(ship):
    run = experiment()
    run.stop(ship="B")
    events = [*run.events()[:-1], run.events()[-1]._replace(ship=ship)]
    with pytest.raises(tp.errors.InputError):
        replay_events(events)


def test_the_choice_is_in_a_snapshot(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    run = tp.Experiment.open(url, "prices", ["A", "B"], seed=1)
    run.stop(ship="B")
    for number in range(1100):
        run.note(str(number))
    again = tp.Experiment.open(url, "prices")
    assert again.shipped == "B"
    assert again.done
    run.close(), again.close()


def test_the_control_arm_is_one_of_the_arms_and_survives_a_file(tmp_path):
    with pytest.raises(tp.errors.UnknownName, match="unknown arm 'D' as control="):
        experiment(control="D")
    run = experiment(control="A")
    run.save(tmp_path / "run.json")
    events = tp.Experiment.load(tmp_path / "run.json").events()
    assert events[0].options["control"] == "A"
    events[0].options["control"] = "D"
    with pytest.raises(tp.errors.UnknownName):
        replay_events(events)
