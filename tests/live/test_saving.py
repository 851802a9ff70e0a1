"""Saving and loading: it goes on exactly, and a file that is something else is refused."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

import tideproof as tp
from runs import ARMS, drive, experiment, snapshot
from tideproof.live.saving import to_dict

OLD = (
    Path(__file__).parent / "format_2.json"
)  # written by tideproof 0.1.0, by the lines of `test_an_old_file`


def test_files_that_cannot_be_had(tmp_path):
    path = tmp_path / "no" / "x.json"
    with pytest.raises(tp.InputError, match=f"cannot write '{path}': there is no folder '{path.parent}'"):
        tp.Experiment(["a", "b"]).save(path)
    with pytest.raises(tp.InputError, match=f"cannot read '{path}': there is no such file"):
        tp.Experiment.load(path)
    with pytest.raises(FileNotFoundError):  # who resumes or begins may ask for that
        tp.Experiment.load(path)
    with pytest.raises(tp.InputError, match="it is a folder"):
        tp.Experiment(["a", "b"]).save(tmp_path)


def test_saved_and_loaded_it_goes_on_exactly(tmp_path):
    path = tmp_path / "run.json"
    here = drive(experiment(policy=tp.policy("linlucb", n0=3, label="mine")), 57, tide=np.arange(40.0))
    here.ask(n=3, environment="out")
    here.cancel(58)
    here.tell_summary(arm="A", environment="s", n=4, mean=0.1, variance=1.0, key="k")
    here.save(path)
    there = tp.Experiment.load(path)
    assert snapshot(there) == snapshot(here)
    assert there.policy.label == "mine"
    for step in range(100):
        a, b = here.ask(environment=step // 3), there.ask(environment=step // 3)
        assert a == b
        here.tell(a, float(step % 5))
        there.tell(b, float(step % 5))
    assert snapshot(there) == snapshot(here)


def test_a_crash_while_saving_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.json"
    run = drive(experiment(), 20)
    run.save(path)
    old = path.read_text()
    drive(run, 20)

    def crash(*_):
        raise OSError("power cut")

    for moment in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, moment, crash)
            with pytest.raises(tp.InputError, match=r"cannot write .*: power cut"):
                run.save(path)
        assert path.read_text() == old
        assert [p.name for p in tmp_path.iterdir()] == ["run.json"]
    run.save(path)
    assert path.read_text() != old


def test_a_state_of_another_version_is_refused(tmp_path):
    path = tmp_path / "run.json"
    tp.Experiment(["A", "B"]).save(path)
    saved = json.loads(path.read_text())
    expected = len(saved["state"]["floats"])
    saved["state"]["floats"].pop()
    path.write_text(json.dumps(saved))
    with pytest.raises(tp.InputError, match=f"another version .* has {expected - 1} numbers, not {expected}"):
        tp.Experiment.load(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "3", '{"arms": ["A"]}'])
def test_a_file_that_is_no_experiment(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(tp.InputError, match="not a saved tideproof experiment"):
        tp.Experiment.load(path)


def test_a_file_of_another_format(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**to_dict(experiment()), "tideproof_experiment": 99}))
    with pytest.raises(tp.InputError, match="format 99"):
        tp.Experiment.load(path)


def half_told(path):
    """Save a run with a pull in every state, and return it loaded."""
    run = experiment(direction="minimize", policy="round-robin")
    pulls = run.ask(n=6, environment="mon")
    run.tell(pulls[0], 1.5)
    run.cancel(pulls[1])
    run.cancel(pulls[2])
    run.tell_summary(arm=pulls[3].arm, environment="mon", n=1, mean=0.25, key="k")
    run.ask(environment="tue")
    run.save(path)
    return run, tp.Experiment.load(path)


def test_what_is_left_of_the_budget_is_kept(tmp_path):
    run, again = half_told(tmp_path / "run.json")
    assert again.remaining == run.remaining == 200 - 7 + 2
    assert repr(again) == repr(run)
    assert again.direction == "minimize"


def test_it_stays_where_it_was(tmp_path):
    _, again = half_told(tmp_path / "run.json")
    assert again.ask().environment == "tue"


def test_every_pull_is_in_its_state(tmp_path):
    run, again = half_told(tmp_path / "run.json")
    assert again.history() == run.history()
    states = again.history()["status"]
    assert states == ["told", "cancelled", "cancelled", "summarised", "out", "out", "out", "summary"]
    again.tell(0, 1.5)  # a repeat
    with pytest.raises(tp.ConflictingReward, match=r"pull 0 was told 1.5 before; now 2.0"):
        again.tell(0, 2.0)
    again.tell(4, 1.0)
    with pytest.raises(tp.InputError, match="pull 1 is cancelled"):
        again.tell(1, 1.0)
    with pytest.raises(tp.UnknownName, match="this experiment has asked for 7"):
        again.tell(7, 1.0)


def test_a_summary_is_known_by_its_key(tmp_path):
    run, again = half_told(tmp_path / "run.json")
    before = snapshot(again)
    again.tell_summary(arm=run.history()["arm"][3], environment="mon", n=1, mean=0.25, key="k")
    assert snapshot(again) == before
    with pytest.raises(tp.ConflictingReward, match="summary 'k' was told"):
        again.tell_summary(arm="A", environment="tue", n=1, mean=0.25, key="k")


def test_an_old_file():
    """What 0.1.0 wrote still loads, and goes on as it would have gone on then."""
    run = tp.Experiment(ARMS, budget=60, policy="linlucb", seed=5, direction="minimize")
    for step in range(30):
        pull = run.ask(environment=f"day {step // 6}")
        run.tell(pull, ARMS.index(pull.arm) + 0.25 * (step % 5))
    run.ask(n=4, environment="late")
    run.cancel(31)
    run.tell_summary(arm="B", environment="late", n=3, mean=1.0, variance=0.5, key="s")
    old = tp.Experiment.load(OLD)
    assert to_dict(run) | {"version": None} == json.loads(OLD.read_text()) | {"version": None}
    for step in range(20):
        a, b = run.ask(environment=step // 3), old.ask(environment=step // 3)
        assert a == b
        run.tell(a, float(step % 4))
        old.tell(b, float(step % 4))
    assert snapshot(old) == snapshot(run)
    assert old.recommend() == run.recommend()


def test_pulls_that_are_out_keep_their_numbers(tmp_path):
    run = tp.Experiment(["A", "B"], seed=1)
    pulls = run.ask(n=3)
    run.cancel(pulls[1])
    run.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    again.tell(pulls[2], 1.0)
    again.cancel(pulls[0])
    assert again.history()["status"] == ["cancelled", "cancelled", "told"]
