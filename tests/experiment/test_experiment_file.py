"""Saving and loading: the experiment continues exactly, and other files are refused."""

import json
import os

import numpy as np
import pytest

import tideproof as tp
from experiments import contents, drive, experiment, saved_numbers, without_sessions


def numbers(run):
    """Return the numbers and results of a run without ids and times, which differ between runs."""
    table = run.history()
    kept = {name: table[name] for name in ("arm", "environment", "n", "reward", "variance", "status")}
    return saved_numbers(run), kept, run.remaining, run.recommend()


def test_files_that_cannot_be_read_or_written_raise_errors(tmp_path):
    path = tmp_path / "no" / "x.json"
    with pytest.raises(
        tp.errors.InputError, match=f"cannot write '{path}': there is no folder '{path.parent}'"
    ):
        tp.Experiment(["a", "b"]).save(path)
    with pytest.raises(tp.errors.InputError, match=f"cannot read '{path}': there is no such file"):
        tp.Experiment.load(path)
    with pytest.raises(FileNotFoundError):  # who resumes or begins may ask for that
        tp.Experiment.load(path)
    with pytest.raises(tp.errors.InputError, match="it is a folder"):
        tp.Experiment(["a", "b"]).save(tmp_path)


@pytest.mark.parametrize("path", [None, 3, b"run.json", ["run.json"], "run\0.json", [10**5000]])
def test_invalid_paths_are_refused(path):
    run = tp.Experiment(["a", "b"])
    for call in (run.save, tp.Experiment.load, run.report):
        with pytest.raises(tp.errors.InputError, match=r"a path must be a string or a pathlib\.Path, not "):
            call(path)


def test_a_file_name_that_is_too_long_raises_an_error(tmp_path):
    with pytest.raises(tp.errors.InputError, match=r"cannot write .*: File name too long"):
        tp.Experiment(["a", "b"]).save(tmp_path / ("a" * 300))


def test_a_loaded_experiment_continues_exactly(tmp_path):
    path = tmp_path / "run.json"
    here = drive(experiment(policy=tp.policy("linlucb", n0=3, label="mine")), 57, tide=np.arange(40.0))
    here.cancel(here.ask(n=3, environment="out")[1])
    here.tell_summary(arm="A", environment="s", n=4, mean=0.1, variance=1.0, key="k")
    here.save(path)
    there = tp.Experiment.load(path)
    assert contents(there) == contents(here)
    assert there.policy.label == "mine"
    for step in range(100):
        a, b = here.ask(environment=step // 3), there.ask(environment=step // 3)
        assert without_sessions([a]) == without_sessions([b])
        here.tell(a, float(step % 5))
        there.tell(b, float(step % 5))
    assert numbers(there) == numbers(here)


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
            with pytest.raises(tp.errors.InputError, match=r"cannot write .*: power cut"):
                run.save(path)
        assert path.read_text() == old
        assert [p.name for p in tmp_path.iterdir()] == ["run.json"]
    run.save(path)
    assert path.read_text() != old


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "3", '{"arms": ["A"]}'])
def test_a_file_that_is_no_experiment_is_refused(tmp_path, text):
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(tp.errors.InputError, match="not a saved tideproof experiment"):
        tp.Experiment.load(path)


def test_a_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "run.json"
    experiment().save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "tideproof_experiment": 99}))
    with pytest.raises(tp.errors.InputError, match="format 99"):
        tp.Experiment.load(path)


def half_told(path):
    """Save a run with a pull of every status, load it and return both."""
    run = experiment(direction="minimize", policy="round-robin")
    pulls = run.ask(n=6, environment="mon")
    run.tell(pulls[0], 1.5)
    run.cancel(pulls[1])
    run.cancel(pulls[2])
    run.tell_summary(arm=pulls[3].arm, environment="mon", n=1, mean=0.25, key="k")
    run.ask(environment="tue")
    run.save(path)
    return run, tp.Experiment.load(path)


def test_a_loaded_experiment_keeps_its_budget(tmp_path):
    run, again = half_told(tmp_path / "run.json")
    assert again.remaining == run.remaining == 200 - 7 + 2
    assert repr(again) == repr(run)
    assert again.direction == "minimize"


def test_a_loaded_experiment_stays_in_its_environment(tmp_path):
    _, again = half_told(tmp_path / "run.json")
    assert again.ask().environment == "tue"


def test_a_loaded_experiment_keeps_the_status_of_every_pull(tmp_path):
    run, again = half_told(tmp_path / "run.json")
    assert again.history() == run.history()
    states = again.history()["status"]
    assert states == [
        "told",
        "cancelled",
        "cancelled",
        "summarised",
        "pending",
        "pending",
        "pending",
        "summary",
    ]
    ids = run.history()["pull"]
    again.tell(ids[0], 1.5)  # a repeat
    with pytest.raises(
        tp.errors.ConflictingReward, match=f"pull {ids[0]} already has the reward 1.5, not 2.0"
    ):
        again.tell(ids[0], 2.0)
    again.tell(ids[4], 1.0)
    with pytest.raises(tp.errors.InputError, match=f"pull {ids[1]} are no longer accepted: it was cancelled"):
        again.tell(ids[1], 1.0)
    with pytest.raises(tp.errors.UnknownName, match="this experiment has 7"):
        again.tell(ids[0][:-1] + "7", 1.0)


def test_a_loaded_experiment_knows_the_keys_of_summaries(tmp_path):
    run, again = half_told(tmp_path / "run.json")
    before = contents(again)
    again.tell_summary(arm=run.history()["arm"][3], environment="mon", n=1, mean=0.25, key="k")
    assert contents(again) == before
    with pytest.raises(tp.errors.ConflictingReward, match="summary 'k' was recorded"):
        again.tell_summary(arm="A", environment="tue", n=1, mean=0.25, key="k")


def test_a_file_of_format_2_is_refused_in_one_line(tmp_path):
    (tmp_path / "run.json").write_text('{"tideproof_experiment": 2, "arms": ["A", "B"]}')
    with pytest.raises(tp.errors.InputError, match=r"has format 2; tideproof \S+ reads format 3 only$"):
        tp.Experiment.load(tmp_path / "run.json")


def test_pending_pulls_keep_their_numbers(tmp_path):
    run = tp.Experiment(["A", "B"], seed=1)
    pulls = run.ask(n=3)
    run.cancel(pulls[1])
    run.save(tmp_path / "run.json")
    again = tp.Experiment.load(tmp_path / "run.json")
    again.tell(pulls[2], 1.0)
    again.cancel(pulls[0])
    assert again.history()["status"] == ["cancelled", "cancelled", "told"]
