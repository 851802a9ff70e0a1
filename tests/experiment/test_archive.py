"""Archived experiments: only stopped ones, and back; everything can still be read."""

import pytest

import tideproof as tp
from experiments import drive, experiment, replay_events
from tideproof.experiment.events import event_records as e


def test_only_a_stopped_experiment_is_archived():
    run = drive(experiment(), 6)
    with pytest.raises(tp.errors.InputError, match=r"the experiment is not stopped: call stop\(\)"):
        run.archive()
    run.stop(ship="B")
    run.archive("the season is over", by="ann")
    run.archive("again")
    assert run.internals.status().archived_at == run.events()[-1].at
    run.restore("it begins again", by="bob")
    run.restore()
    assert run.internals.status().archived_at is None
    last = [(type(event).__name__, *event[1:]) for event in run.events()[-2:]]
    assert last == [("Archived", "ann", "the season is over"), ("Restored", "bob", "it begins again")]
    assert run.shipped == "B"
    assert replay_events(run.events()).events() == run.events()


def test_impossible_events_are_refused():
    run = experiment()
    with pytest.raises(tp.errors.InputError, match="impossible"):
        replay_events([*run.events(), e.Archived(1.0, None, "")])
    with pytest.raises(tp.errors.InputError, match="impossible"):
        replay_events([*run.events(), e.Restored(1.0, None, "")])


def test_lists_omit_archived_experiments(tmp_path):
    url = f"sqlite:///{tmp_path}/shop.db"
    for name in ("a", "b", "c"):
        run = tp.Experiment.open(url, name, ["A", "B"])
        if name != "b":
            run.stop()
            run.archive()
        run.close()
    assert tp.experiments(url)["name"] == ["b"]
    assert tp.experiments(url, archived=True)["name"] == ["a", "c"]
    run = tp.Experiment.open(url, "a")
    run.restore()
    run.close()
    assert tp.experiments(url)["name"] == ["a", "b"]
