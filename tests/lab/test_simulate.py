"""simulate: the same numbers whoever computes them, and a clear word for bad input."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import tideproof as tp
from simulations import (
    ALARM,
    BUDGETS,
    POLICIES,
    SIZES,
    WORLD,
    Backwards,
    Inline,
    Interrupting,
    Pressed,
    Unused,
    first_half_then_other,
    in_turn_until_a_coin_says_stop,
    made_up,
    same,
)
from tideproof.lab import engines
from tideproof.lab.engines.cpu_engine import CHUNK, run_chunk
from tideproof.lab.simulation_plan import SimulationPlan

pytest.importorskip("numba")

# ---------------------------------------------------------------- the same numbers for everybody


@pytest.mark.parametrize(
    "make", [lambda: ThreadPoolExecutor(1), lambda: ThreadPoolExecutor(3), Inline, Backwards]
)
def test_any_executor_gives_the_same_bits(study, make):
    with make() as executor:
        other = tp.simulate(WORLD, POLICIES, BUDGETS, **SIZES, executor=executor)
    assert same(study, other)


def test_a_plan_travels_as_plain_names():
    plan = SimulationPlan(
        WORLD, (tp.policy("linlucb", n0=3, label="L"), tp.policy("round-robin+ols")), (40, 60), 3, (60,)
    )
    there = pickle.loads(pickle.dumps(plan))
    assert [spec.label for spec in there.policies] == ["L", "round-robin+ols"]
    sent = run_chunk(there, 0, 50)._asdict()
    assert sent["selected"].shape == (2, 1, 50)
    for name, here in run_chunk(plan, 0, 50)._asdict().items():
        assert here.tobytes() == sent[name].tobytes()


def test_more_work_than_is_handed_out_at_once(monkeypatch, study):
    monkeypatch.setattr("tideproof.lab.chunk_runner.MOST_SUBMITTED", 2)
    assert same(study, tp.simulate(WORLD, POLICIES, BUDGETS, **SIZES, executor=Inline()))


def test_fewer_replications_are_the_first_ones():
    whole = tp.simulate(WORLD, "round-robin", 30, replications=60, seed=3)
    runs = [tp.replay(WORLD, "round-robin", seed=3, replication=r, budget=30) for r in range(60)]
    assert whole.tally.chosen[0, 0].tolist() == np.bincount([r.selected for r in runs], minlength=5).tolist()


def test_policies_meet_the_same_world():
    one, other = (tp.replay(WORLD, policy, 5, 8, 120) for policy in ("linlucb", "round-robin"))
    assert np.array_equal(one.environment, other.environment)
    assert np.array_equal(one.shift, other.shift)
    noises = [run.reward - run.shift - np.array(WORLD.means)[run.arm] for run in (one, other)]
    np.testing.assert_allclose(*noises, atol=1e-12)
    assert (one.arm != other.arm).any()


def test_common_random_numbers_make_differences_tighter():
    a, b = tp.policy("linlucb", label="a"), tp.policy("linlucb", exploration=12.0, label="b")
    study = tp.simulate(WORLD, [a, b], [40], replications=4000, seed=1)
    alone = np.hypot(study.standard_error("a"), study.standard_error("b"))
    assert study.difference("a", "b").standard_error < 0.85 * alone


def test_unidentified_selections_are_counted():
    ones = tp.World([0.0, 1.0], lengths=(1, 1))  # nothing can ever be compared
    study = tp.simulate(ones, ["round-robin+ols", "round-robin"], [10], replications=20)
    assert study.unidentified("round-robin+ols").tolist() == [1.0]
    assert study.unidentified("round-robin").tolist() == [0.0]
    assert not tp.replay(ones, "round-robin+ols", budget=10).identified


# ---------------------------------------------------------------- horizons and stopping


def test_a_policy_that_needs_the_horizon_runs_once_for_each_budget():
    spec = made_up(first_half_then_other, needs_horizon=True)
    pulls = tp.simulate(tp.mdm(2), spec, [10, 20, 40], replications=30).pulls("made up")
    assert pulls.tolist() == [[5, 5], [10, 10], [20, 20]]
    anytime = replace(spec, policy=replace(spec.policy, needs_horizon=False))
    pulls = tp.simulate(tp.mdm(2), anytime, [10, 20, 40], replications=30).pulls("made up")
    assert pulls.tolist() == [[10, 0], [20, 0], [20, 20]]


def test_a_policy_that_stops_keeps_its_selection():
    spec, world, budgets, n = made_up(in_turn_until_a_coin_says_stop, False), tp.mdm(2), [5, 20, 60], 2000
    study = tp.simulate(world, spec, budgets, replications=n, seed=4)
    runs = [tp.replay(world, spec, 4, r, 60) for r in range(100)]
    few = tp.simulate(world, spec, budgets, replications=100, seed=4)
    steps = np.array([len(run.arm) for run in runs])
    for b, budget in enumerate(budgets):
        assert few.samples("made up")[b] == np.minimum(steps, budget).mean()
        assert few.stopped("made up")[b] == (steps < budget).mean()
        assert few.standard_error("made up", "samples")[b] == pytest.approx(
            stats.sem(np.minimum(steps, budget))
        )
    assert few.tally.chosen[0, 2].tolist() == np.bincount([r.selected for r in runs], minlength=2).tolist()
    for stopped, budget in zip(study.tally.stopped[0], budgets, strict=True):
        chance = 1 - 0.95 ** (budget - 2)  # it may stop at each step after the second
        assert stats.binomtest(int(stopped), n, chance).pvalue > ALARM


# ---------------------------------------------------------------- progress and Ctrl-C


def test_progress_changes_nothing(study, capsys):
    assert same(study, tp.simulate(WORLD, POLICIES, BUDGETS, **SIZES, progress=True))
    assert capsys.readouterr() == ("", "")  # nobody looks


def test_ctrl_c_keeps_finished_work(capsys):
    pool = Interrupting(at=2)
    kept = tp.simulate(WORLD, "round-robin", [30], replications=10 * CHUNK, seed=7, executor=pool)
    assert kept.interrupted
    assert kept.replications == 2 * CHUNK
    assert same(kept, tp.simulate(WORLD, "round-robin", [30], replications=2 * CHUNK, seed=7))
    assert capsys.readouterr().err == "interrupted after 2,000 of 10,000 replications\n"
    assert all(future.cancelled() for future in pool.futures[3:])
    assert "interrupted" in repr(kept)


def test_ctrl_c_while_sums_are_added_up_leaves_nothing_half_done(monkeypatch, capsys):
    """Selections, sums and their number are of the same replications, wherever it comes."""

    def pressed(mine, other):
        raise KeyboardInterrupt

    monkeypatch.setattr("tideproof.lab.replication_sums.ReplicationSums.plus", pressed)
    kept = tp.simulate(WORLD, "round-robin", [30], 3 * CHUNK, seed=7, executor=Inline(), keep=30)
    assert same(kept, tp.simulate(WORLD, "round-robin", [30], CHUNK, seed=7, keep=30))
    assert kept.replications == len(kept.selected("round-robin", 30)) == CHUNK


def test_ctrl_c_never_ends_the_handing_out_of_work_halfway(monkeypatch, capsys):
    """An executor's own locks would stay locked, and its threads wait for ever."""
    monkeypatch.setattr("tideproof.lab.chunk_runner.MOST_SUBMITTED", 1)
    before, pool = signal.getsignal(signal.SIGINT), Pressed(times=1)
    kept = tp.simulate(WORLD, "round-robin", [30], 10 * CHUNK, executor=pool)
    assert (kept.interrupted, kept.replications) == (True, CHUNK)
    assert (pool.begun, pool.ended) == (2, 2)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_pressed_twice_is_heard_at_once(monkeypatch, capsys):
    monkeypatch.setattr("tideproof.lab.chunk_runner.MOST_SUBMITTED", 1)
    pool = Pressed(times=2)
    kept = tp.simulate(WORLD, "round-robin", [30], 10 * CHUNK, executor=pool)
    assert kept.replications == CHUNK
    assert (pool.begun, pool.ended) == (2, 1)


class TimingOut(Executor):
    """A task's own TimeoutError, which is not that of waiting for it."""

    def submit(self, task, /, *args):
        future = Future()
        future.set_exception(TimeoutError("the task's own"))
        return future


class PressedLate(Inline):
    """Ctrl-C is pressed while the second chunk is awaited, which is done before anybody looks."""

    def __init__(self):
        self.begun = 0

    def submit(self, task, /, *args):
        self.begun += 1
        future = super().submit(task, *args)
        if self.begun == 2:
            future.result = lambda timeout: signal.raise_signal(signal.SIGINT) or Future.result(future)
        return future


def test_ctrl_c_during_the_last_chunk_is_heard(capsys):
    kept = tp.simulate(WORLD, "round-robin", [30], 2 * CHUNK, executor=PressedLate())
    assert (kept.interrupted, kept.replications) == (True, CHUNK)


def test_a_task_that_times_out_itself():
    with pytest.raises(TimeoutError, match="the task's own"):
        tp.simulate(WORLD, "round-robin", [30], 10, executor=TimingOut())


def test_ctrl_c_before_anything_is_finished():
    with pytest.raises(KeyboardInterrupt):
        tp.simulate(WORLD, "round-robin", [30], replications=5000, executor=Interrupting(at=0))


def test_a_real_ctrl_c(capsys):
    tp.simulate(WORLD, "round-robin", [500], replications=1)  # compiled
    before = signal.getsignal(signal.SIGINT)

    def press():
        while signal.getsignal(signal.SIGINT) is before:  # before the run it would end the tests
            time.sleep(0.01)
        time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    kept = tp.simulate(WORLD, "round-robin", [500], replications=10_000_000)
    assert kept.interrupted
    assert 0 < kept.replications < 10_000_000
    assert kept.tally.samples[0, 0] == 500 * kept.replications


def test_a_run_compiles_in_the_thread_that_hears_ctrl_c(monkeypatch):
    played = []

    def noted(plan, first, count):
        played.append((threading.current_thread() is threading.main_thread(), count))
        return run_chunk(plan, first, count)

    monkeypatch.setattr(engines, "CPU", engines.CPU._replace(run_chunk=noted))
    assert tp.simulate(tp.mdm(3), "round-robin", 30, 10, seed=1, engine="cpu").replications == 10
    assert played == [(True, 1), (False, 10)]


# ---------------------------------------------------------------- bad input


TWICE = [tp.policy("linlucb", n0=3, label="x"), tp.policy("linlucb", label="x")]


BAD = [
    ({"world": 5}, tp.errors.InputError, r"world must be tp.mdm\(...\).* not 5"),
    ({"policies": []}, tp.errors.InputError, "policies must not be empty"),
    ({"policies": ["linlucb", "linlucb"]}, tp.errors.InputError, "two policies have the label 'linlucb'"),
    ({"policies": TWICE}, tp.errors.InputError, "two policies have the label 'x'"),
    ({"policies": "linluck"}, tp.errors.UnknownName, "unknown policy 'linluck'; did you mean 'linlucb'"),
    ({"policies": None}, tp.errors.InputError, "a policy must be a name, a Policy or .* not None"),
    ({"executor": 4}, tp.errors.InputError, "executor must be a concurrent.futures.Executor, not 4"),
    ({"policies": [7]}, tp.errors.InputError, "a policy must be a name, a Policy or .* not 7"),
    ({"budgets": []}, tp.errors.InputError, "budgets must not be empty"),
    ({"budgets": [200, 100]}, tp.errors.InputError, "ascending order .* 100 follows 200"),
    ({"budgets": [100, 100]}, tp.errors.InputError, "ascending order .* 100 follows 100"),
    ({"budgets": [-5, 100]}, tp.errors.InputError, "a budget must be a whole number of at least 1, not -5"),
    ({"budgets": [100.5]}, tp.errors.InputError, "a budget must be a whole number of at least 1, not 100.5"),
    (
        {"keep": 100.5},
        tp.errors.InputError,
        "a budget in keep must be a whole number of at least 1, not 100.5",
    ),
    ({"keep": [100, 100]}, tp.errors.InputError, "keep must be in ascending order .* 100 follows 100"),
    ({"keep": np.array(99)}, tp.errors.InputError, r"a budget in keep must be a whole .* not array\(99\)"),
    (
        {"budgets": [29, 100]},
        tp.errors.BudgetTooSmall,
        "a budget of 29 is too small for linlucb with 5 arms; .* 30",
    ),
    ({"replications": 0}, tp.errors.InputError, "replications must be a whole number of at least 1, not 0"),
    ({"seed": -1}, tp.errors.InputError, f"seed must be a whole number from 0 to {2**64 - 1}, not -1"),
    (
        {"seed": 2**64},
        tp.errors.InputError,
        f"seed must be a whole number from 0 to {2**64 - 1}, not {2**64}",
    ),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD)
def test_bad_input_is_refused_before_anything_runs(change, error, message):
    good = {"world": WORLD, "policies": "linlucb", "budgets": [100], "executor": Unused()}
    with pytest.raises(error, match=message):
        tp.simulate(**(good | change))


def test_a_policy_with_a_horizon_is_checked_at_every_budget():
    spec = made_up(first_half_then_other, needs_horizon=True)
    picky = replace(spec, policy=replace(spec.policy, minimum=lambda arms, params: 2 * params.half + 1))
    with pytest.raises(tp.errors.BudgetTooSmall, match="a budget of 10 is too small for made up"):
        tp.simulate(WORLD, picky, [10, 11], executor=Unused())
