"""The read model: later events do not change it, and it can be evaluated while other threads tell rewards."""

import pickle
import threading

import numpy as np
import pytest

import tideproof as tp
from tideproof.analysis.fit_result import Fit
from tideproof.policies.policy_registry import policy

KINDS = {
    "labels": {},
    "hidden tide": {"tide": "hidden"},
    "conversions": {"rewards": "conversions"},
    "confidence": {"confidence": 0.95},
    "confidence of conversions": {"rewards": "conversions", "confidence": 0.95},
    "outlying cells": {"policy": policy("contrast", robust="cells")},
    "low is good": {"direction": "minimize"},
}


def played(steps=80, retires=False, **options):
    run = tp.Experiment(["A", "B", "C"], budget=10_000, seed=3, **options)
    random = np.random.default_rng(4)
    for step in range(steps):
        pull = run.ask(**({} if options.get("tide") == "hidden" else {"environment": step // 8}))
        reward = ord(pull.arm) / 10.0 + step // 8 % 3 + random.standard_normal()
        run.tell(pull, float(random.random() < 0.5) if "rewards" in options else reward)
    for _ in range(3):
        run.ask(**({} if options.get("tide") == "hidden" else {"environment": 99}))
    if retires:
        run.retire_arm("A")
    return run


def numbers(model):
    """Return all numbers and texts that can be read from a read model."""
    return {
        "status": model.status,
        "facts": model.facts,
        "recommendation": model.recommendation.to_dict(),
        "text": str(model.recommendation_with_warnings),
        "warnings": model.warnings,
        "fit": None if model.fit is None else model.fit.arms.to_dicts(),
        "pending": [pull.arm for pull, _ in model.pending_pulls()],
        "asked": model.asked_by_arm,
    }


def without_sessions(found):
    """Return numbers without the pull IDs' prefix, which differs between copies of an experiment."""
    return found | {"status": found["status"]._replace(created=None)}


@pytest.mark.parametrize("retires", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_later_events_do_not_change_it(kind, retires):
    run = played(retires=retires, **KINDS[kind])
    expected = numbers(pickle.loads(pickle.dumps(run)).internals.read())
    before = run.internals.read()
    labels = [{}, {}] if kind == "hidden tide" else [{"environment": 7}, {"environment": "7"}]
    for step in range(40):  # with labels that look alike and an outlying reward, which give warnings
        pull = run.ask(**labels[step % 2])
        run.tell(pull, 1.0 if "rewards" in KINDS[kind] else 1e6 if step == 9 else float(step))
    run.note("a sale")
    run.pause()
    run.diagnostics()  # reads all events for warnings
    assert without_sessions(numbers(before)) == without_sessions(expected)
    after = run.internals.read()
    assert after.status.state == "paused"
    assert after.status.recorded > before.status.recorded
    assert len(after.warnings) > len(before.warnings)


@pytest.mark.parametrize("kind", KINDS)
def test_it_can_be_evaluated_while_other_threads_tell(kind):
    run, stop, errors = played(steps=20, **KINDS[kind]), threading.Event(), []

    def play():
        step = 0
        while not stop.is_set() and step < 5_000:
            step += 1
            label = {} if kind == "hidden tide" else {"environment": f"day {step // 4}"}
            try:
                run.tell(run.ask(**label), step % 2)
            except tp.errors.Finished:
                return
            except Exception as error:  # of any kind: the test reports it
                errors.append(error)
                return

    client = threading.Thread(target=play)
    client.start()
    try:
        for _ in range(15):
            model = run.internals.read()
            fit = model.fit
            if isinstance(fit, Fit) and fit.left_out is None:
                assert fit.cells.n.sum() == model.status.recorded
            assert model.recommendation.recorded == model.status.recorded
            assert len(model.pending_pulls()) == model.status.pending == model.facts.pending
    finally:
        stop.set()
        client.join()
    assert errors == []


def test_cells_of_active_arms_are_those_of_the_state():
    run = played(retires=True)
    run.tell_summary(arm="C", environment="alone", n=3, mean=1.0, variance=2.0)
    environments = run.internals.state.policy_state.environments
    expected = environments.cells(["B", "C"], [1, 2])
    found = run.internals.read().fit_of_active.cells
    assert (found.arms, found.environments) == (expected.arms, expected.environments)
    for name in ("arm", "environment", "n", "mean", "squares"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes()


def test_moments_need_only_the_rewards_of_active_arms_one_by_one():
    run = played()
    run.tell_summary(arm="A", environment=3, n=3, mean=1.0, variance=2.0)
    assert run.internals.read().fit_of_active.cells.cubes is None
    run.retire_arm("A")
    assert run.internals.read().fit_of_active.cells.cubes is not None
    assert run.internals.read().fit.cells.cubes is None


def test_one_fit_serves_all_if_all_arms_are_active():
    model = played().internals.read()
    assert model.fit is model.fit_of_active
    retired = played(retires=True).internals.read()
    assert retired.fit is not retired.fit_of_active


@pytest.mark.parametrize(
    ("change", "state"),
    [
        (lambda run: None, "running"),
        (lambda run: run.pause(), "paused"),
        (lambda run: run.stop(), "stopped"),
        (lambda run: (run.pause(), run.extend(83)), "done"),
    ],
)
def test_the_state(change, state):
    run = played()
    change(run)
    assert run.internals.read().status.state == run.internals.status().state == state


def test_looks_are_counted_by_recommend_alone():
    run = played(steps=20)
    for _ in range(9):
        run.tell(run.ask(environment=1), 1.0)
        assert run.internals.read().looks == 0
        run.diagnostics()
    assert run.internals.read().warnings == ()
    for _ in range(4):
        run.tell(run.ask(environment=1), 1.0)
        run.recommend()
    run.tell(run.ask(environment=1), 1.0)
    found = run.recommend()
    assert any("inspected 5 times" in remark for remark in found.remarks)
    assert run.internals.read().warnings == found.remarks


def test_nothing_to_fit():
    empty = tp.Experiment(["A", "B"]).internals.read()
    assert (empty.fit, empty.recommendation.arm, empty.warnings) == (None, None, ())
    with pytest.raises(tp.errors.NotComparable, match="no reward has been recorded yet"):
        empty.inputs.fit()


def test_a_notebook_shows_an_experiment_whose_hidden_tide_cannot_be_estimated():
    run = tp.Experiment(["A", "B"], tide="hidden")
    for step in range(40):
        run.tell(run.ask(), step % 2)
    assert "hidden tide cannot be estimated" in run._repr_html_()
