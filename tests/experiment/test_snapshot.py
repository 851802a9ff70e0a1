"""Snapshots restore the bytes that a replay gives, and invalid ones are ignored."""

import json
from dataclasses import replace

import numpy as np
import pytest

import tideproof as tp
from experiments import ARMS, MEANS, replay, saved_numbers, saved_state
from tideproof.experiment.events.event_validation import check_event
from tideproof.experiment.experiment import Experiment
from tideproof.experiment.snapshots import experiment_file
from tideproof.experiment.snapshots import snapshot as module
from tideproof.experiment.snapshots.experiment_file import rebuild_state
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.pulls_book import Book
from tideproof.policies.policy_spec import PolicySpec


def busy(policy="contrast", steps=260, seed=2):
    """Return an experiment with pulls of every status, told late and in random order."""
    run = tp.Experiment(ARMS, budget=2000, policy=policy, seed=1)
    random = np.random.default_rng(seed)
    waiting = []
    for step in range(steps):
        waiting += run.ask(n=int(random.integers(1, 3)), environment=step // 9)
        while len(waiting) > 12:
            pull = waiting.pop(int(random.integers(len(waiting))))
            run.tell(pull, MEANS.get(pull.arm, 0.5) + random.standard_normal())
        if step % 31 == 0:
            run.cancel(waiting.pop())
            run.tell_summary(arm="B", environment="sums", n=3, mean=1.0, variance=0.5)
        if step == 90:
            run.add_arm("D")
        if step == 150:
            run.retire_arm("A")
            run.extend(2500)
    return run


def folded_events(monkeypatch):
    """Return a list that grows by one for each event whose numbers are computed."""
    seen, finish = [], PolicyState.finish
    monkeypatch.setattr(PolicyState, "finish", lambda self: seen.append(1) or finish(self))
    return seen


@pytest.mark.parametrize("policy", ["contrast", "linlucb", "round-robin+ols", "ucb1-normal", "reduce:lucb"])
def test_a_snapshot_restores_the_numbers_of_a_replay(policy, tmp_path, monkeypatch):
    run = busy(policy)
    run.save(tmp_path / "run.json")
    seen = folded_events(monkeypatch)
    again = Experiment.load(tmp_path / "run.json")
    assert not seen, "no event was folded"
    fresh = replay(run)
    assert seen
    for other in (again, fresh):
        assert other.events() == run.events()
        assert saved_numbers(other) == saved_numbers(run)
        assert other.history() == run.history()
        assert repr(other) == repr(run)
    arms = [[p.arm for p in one.ask(n=30, environment="next")] for one in (run, again, fresh)]
    assert arms[0] == arms[1] == arms[2]
    for one in (run, again, fresh):
        for i, pull in enumerate(one.pending_pulls()):
            one.tell(pull, float(i % 7))
    assert saved_numbers(again) == saved_numbers(run) == saved_numbers(fresh)


def test_a_snapshot_of_other_code_is_ignored(tmp_path, monkeypatch):
    run = busy()
    run.save(tmp_path / "run.json")
    saved = json.loads((tmp_path / "run.json").read_text())
    assert saved["snapshot"]["mark"]
    seen = folded_events(monkeypatch)
    other = saved["snapshot"] | {"mark": "another"}
    experiment_file.write(run.events(), other, tmp_path / "run.json")
    again = Experiment.load(tmp_path / "run.json")
    assert len(seen) == len(run.events()) - 1
    assert saved_numbers(again) == saved_numbers(run)


@pytest.mark.parametrize("damage", [{}, [], {"mark": "x"}, "numbers", 3])
def test_an_invalid_snapshot_is_ignored(damage, tmp_path):
    run = busy(steps=230)
    state = rebuild_state(run.events(), None)
    state.begin()
    assert not module.restore_from_snapshot(state, damage, check_event)
    state.fold()
    assert state.policy_state.buffers() == saved_numbers(run)


def test_a_snapshot_with_wrong_shapes_is_ignored(tmp_path):
    run = busy(steps=230)
    good = module.pack_snapshot(run.policy, module.copy_policy_state(saved_state(run)))
    changes = lambda n: n.pop(), lambda n: n[0][1][0].update(shape=[3]), lambda n: n[1][1].append(1)
    for change in changes:
        bad = json.loads(json.dumps(good))
        change(bad["numbers"])
        state = rebuild_state(run.events(), None)
        state.begin()
        if not module.restore_from_snapshot(state, bad, check_event):
            state.fold()
            assert state.policy_state.buffers() == saved_numbers(run)


def test_a_short_experiment_has_no_snapshot(tmp_path):
    run = tp.Experiment(ARMS)
    run.ask(n=20)
    run.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["snapshot"] is None


@pytest.mark.parametrize("policy", ["contrast", "linlucb", "top-two-thompson"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_rebuild_at_once_agrees_with_a_rebuild_cell_by_cell(policy, direction):
    """One solve of all cells agrees with a step for each cell, up to rounding."""
    run = tp.Experiment([*ARMS, "D"], budget=900, policy=policy, direction=direction)
    random = np.random.default_rng(4)
    for step in range(120):
        pull = run.ask(environment=step // 5)
        run.tell(pull, MEANS.get(pull.arm, 0.5) + 100.0 * (step // 5) + random.standard_normal())
    run.retire_arm("B")
    numbers = saved_state(run).policy_state
    at_once = [np.array(array) for array in numbers.environments.rows[2:]]
    fit = numbers.memory.view.data.fit
    found = [np.array(part) for part in (fit.P, fit.mu, fit.rss, fit.told, fit.environments, fit.joins)]
    pulls, first = numbers.memory.view.data.pulls.copy(), fit.first.copy()
    numbers.rewards.spec = PolicySpec(replace(run.policy.policy, merges=None), run.policy.selection)
    numbers.rebuild()
    fit = numbers.memory.view.data.fit
    P, gaps = found[0], np.subtract.outer(found[1], found[1])
    spread = np.add.outer(P.diagonal(), P.diagonal()) - 2 * P
    assert spread == pytest.approx(np.add.outer(fit.P.diagonal(), fit.P.diagonal()) - 2 * fit.P, abs=1e-12)
    assert gaps == pytest.approx(np.subtract.outer(fit.mu, fit.mu), abs=1e-9)
    assert found[2] == pytest.approx(fit.rss, rel=1e-9)
    assert [int(part[0]) for part in found[3:]] == [fit.told[0], fit.environments[0], fit.joins[0]]
    assert pulls.tolist() == numbers.memory.view.data.pulls.tolist()
    assert first.tolist() == fit.first.tolist()
    for old, row in zip(at_once[3], range(24), strict=False):  # slots of told rewards
        slot = numbers.environments.slot(row).memory
        assert old[: 3 + 3] == pytest.approx(slot.floats[: 3 + 3], rel=1e-12)  # counts, size, each, mean


def test_loading_searches_pending_pulls_only_where_there_are_some(tmp_path, monkeypatch):
    run = tp.Experiment(["A", "B"], seed=1)
    pulls = run.ask(environment="out", n=50)
    for i in range(250):
        run.tell_summary(arm="A", environment=i, n=2, mean=1.0, variance=1.0)
    run.tell_summary(arm=pulls[0].arm, environment="out", n=2, mean=1.0, variance=1.0)
    run.cancel(run.pending_pulls()[0])
    run.save(tmp_path / "run.json")
    looked: list[int] = []
    oldest_out = Book.oldest_pending
    monkeypatch.setattr(
        Book, "oldest_pending", lambda book, *given: looked.append(given[-1]) or oldest_out(book, *given)
    )
    again = tp.Experiment.load(tmp_path / "run.json")
    assert again.pending_pulls() == run.pending_pulls()
    assert looked == [0] * 250 + [2]
