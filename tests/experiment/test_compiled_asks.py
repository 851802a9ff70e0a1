"""Programs that run on arrays, on plain numbers or compiled: they choose the same arms and give the same bytes."""

from __future__ import annotations

import random
from types import SimpleNamespace

import numpy as np
import pytest

import tideproof as tp
from experiments import saved_numbers
from tideproof.core import kernel_array_access
from tideproof.core.kernel_array_access import PLAIN_REPLACEMENTS, Matrix, wrap_state
from tideproof.core.kernel_linker import link, use_interpreter
from tideproof.experiment import compiled_asks
from tideproof.experiment.state.environment_rows import EnvironmentTable
from tideproof.kernels.choose import batch_asks
from tideproof.policies.policy_spec import PolicySpec

POLICIES = (
    "contrast",
    "linlucb",
    "top-two-thompson",
    "round-robin+ols",
    "round-robin+control",
    "lucb",
    "ocba",
    "reduce:lucb",
    "reduce:ucb1-normal",
    "reduce:linlucb",
)


def played(policy, arms, seed, batch=7):
    """Return pulls and bytes of a run with late rewards, summaries, lost pulls and batches."""
    rng = random.Random(seed)
    run = tp.Experiment([str(i) for i in range(arms)], budget=5000, policy=policy, seed=seed)
    out, found = [], []
    for step in range(60):
        pulls = run.ask(environment=step // 4 % 9, n=rng.choice([1, 1, 1, batch]))
        found += [(pull.arm, pull.environment) for pull in pulls]
        out += pulls
        rng.shuffle(out)
        told, out = out[: rng.randint(0, 6)], out[6:]
        run.tell_many(told, [rng.gauss(0.1 * int(pull.arm), 1.0) for pull in told])
        if step % 9 == 8:
            run.tell_summary(arm="1", environment=step // 4 % 9, n=3, mean=rng.gauss(0, 1), variance=1.0)
        if step % 11 == 10 and out:
            run.cancel(out.pop())
    return found, saved_numbers(run)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("arms", [2, 5, 11, 20])
def test_programs_on_plain_numbers_and_on_arrays_agree_bit_by_bit(monkeypatch, policy, arms):
    assert PolicySpec.plain_program(tp.policy(policy)) is not None
    fast = played(policy, arms, seed=arms)
    monkeypatch.setattr(PolicySpec, "plain_program", lambda self: None)
    slow = played(policy, arms, seed=arms)
    assert fast[0] == slow[0]
    assert fast[1] == slow[1]


@pytest.mark.parametrize(
    "policy", ["contrast", "linlucb", "top-two-thompson", "reduce:lucb", "round-robin+ols"]
)
def test_compiled_and_interpreted_asks_agree_bit_by_bit(monkeypatch, policy):
    pytest.importorskip("numba")
    slow = played(policy, 4, seed=3)
    used = []

    def small_batches_too(spec, n, *arguments):
        found = made(spec, 10**9, *arguments)
        used.append(found is not None)
        return found

    made = compiled_asks.compiled_asks
    monkeypatch.setattr("tideproof.experiment.state.next_arms.compiled_asks", small_batches_too)
    fast = played(policy, 4, seed=3)
    assert used
    assert all(used)
    assert fast[0] == slow[0]
    assert fast[1] == slow[1]


def test_single_asks_and_small_batches_are_never_compiled(monkeypatch):
    monkeypatch.setattr(compiled_asks, "_compile", lambda *_: pytest.fail("it was compiled"))
    run = tp.Experiment(["A", "B", "C"], budget=10_000, seed=1)
    run.ask()
    run.ask(n=compiled_asks.WORTH_A_CALL)
    run.ask(n=1000)


def test_a_batch_is_interpreted_where_nothing_can_be_compiled(monkeypatch):
    monkeypatch.setattr(compiled_asks, "_programs", {})

    def no_compiler(*_):
        raise tp.errors.MissingExtra.for_module("numba", "lab", "compiled simulation")

    monkeypatch.setattr(compiled_asks, "_link", no_compiler)
    monkeypatch.setattr(compiled_asks, "WORTH_THE_COMPILER", 300)
    run = tp.Experiment(["A", "B", "C"], budget=10_000, seed=1)
    assert len(run.ask(n=300)) == 300


@pytest.mark.parametrize("arms", [2, 3, 8, 9, 17, 40])
def test_numpy_and_loops_agree_on_matrices_bit_by_bit(arms):
    rng = np.random.default_rng(arms)
    for _ in range(20):
        half = rng.standard_normal((arms, arms))
        P, x = half + half.T, rng.standard_normal(arms)
        counts = rng.integers(0, 3, arms) * 1.0
        counts[int(rng.integers(arms))] = 2.0
        arm, each, f = int(rng.integers(arms)), 1.0 / counts.sum(), float(rng.random())
        both = []
        for fill, shown in (({}, lambda a: a), (PLAIN_REPLACEMENTS, wrap_state)):
            own, out, again = P.copy(), np.zeros(arms), np.zeros(arms)
            seen = shown(own)

            def called(kernel, *arguments, fill=fill):
                return link(fill.get(kernel, kernel), use_interpreter, fill)(*arguments)

            found = called(kernel_array_access.along, seen, shown(x), arm, shown(counts), each, shown(out))
            total = called(kernel_array_access.times, seen, shown(counts), each, shown(again))
            rows = called(kernel_array_access.square_rows, seen, arm, shown(x), shown(counts))
            squares = [
                called(
                    kernel_array_access.weighted_squares,
                    rows,
                    seen,
                    a,
                    shown(x),
                    P[arm, a] - x[arm],
                    shown(counts),
                )
                for a in range(arms)
            ]
            called(kernel_array_access.less_outer, seen, shown(x), f)
            corner = (
                called(kernel_array_access.entry, seen, 1, 0),
                called(kernel_array_access.diagonal, seen, 1),
            )
            called(kernel_array_access.put, seen, 0, 1, 7.0)
            both.append([np.array([*found, total, *squares, *corner]).tobytes()])
            both[-1] += [array.tobytes() for array in (own, out, again)]
        assert both[0] == both[1]


def test_a_matrix_can_be_indexed_by_row_and_column():
    array = np.arange(6.0).reshape(2, 3)
    matrix = Matrix(array)
    matrix[1, 2] = 9.0
    assert (array[1, 2], matrix[1, 2], matrix.shape) == (9.0, 9.0, (2, 3))


@pytest.mark.parametrize("policy", ["contrast", "round-robin+period", "ucb1-normal"])
@pytest.mark.parametrize("retired", [False, True])
def test_slots_updated_together_or_one_by_one_agree_bit_by_bit(policy, retired, monkeypatch):
    """Twenty environments change between two asks, some of them with pending pulls; a mean may be -0."""

    def bytes_of():
        run = tp.Experiment(["A", "B", "C"], budget=500, policy=policy, seed=2, direction="minimize")
        for day in range(20):
            run.tell_summary(arm="ABC"[day % 3], environment=day, n=2, mean=day / 7, variance=1.0)
            if day % 4 == 0:
                run.ask(environment=day, n=4)
            run.tell_summary(arm="ABC"[day % 2], environment=day, n=2, mean=day / 9, variance=1.0)
        run.tell_summary(arm="A", environment="tiny", n=1, mean=5e-324)  # the mean of all is -0
        run.tell_summary(arm="C", environment="tiny", n=3, mean=0.0, variance=0.0)
        run.ask(environment="tiny", n=4)
        if retired:
            run.retire_arm("B")
        return saved_numbers(run)

    at_once = bytes_of()
    monkeypatch.setattr("tideproof.experiment.state.pending_pulls.FEW_SLOTS", 1000)
    assert bytes_of() == at_once


def test_the_slots_used_last_stay_in_memory():
    places = EnvironmentTable(3, 3, lambda view: view)
    rows = [places.row(label) for label in range(300)]
    slots = [places.slot(row) for row in rows]
    assert places.slot(299) is slots[299]
    assert places.slot(44) is slots[44]
    again = places.slot(43)
    assert again is not slots[43]
    again.memory.view.counts[1] = 5.0
    assert slots[43].memory.view.counts[1] == 5.0
    assert places.slot(44) is not slots[44]  # it made room


def test_statistics_of_several_environments_are_computed_at_once():
    """Rows 4, 0 and 2 of five are filled; row 4 has no rewards, so row 0 is the first with rewards."""
    places = EnvironmentTable(3, 3, lambda view: view)
    for label in "abcde":
        places.row(label)
    n = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    mean = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 6.0], [0.0, -4.0, 0.0]])
    assert places.fill(np.array([4, 0, 2]), n, mean) == 1
    slots = [places.slot(row).memory.view for row in range(5)]
    assert [slot.counts.tolist() for slot in slots] == [[1, 0, 3], [0] * 3, [0, 2, 0], [0] * 3, [0] * 3]
    assert [float(slot.size[0]) for slot in slots] == [4.0, 0.0, 2.0, 0.0, 0.0]
    assert [float(slot.each[0]) for slot in slots] == [0.25, 0.0, 0.5, 0.0, 0.0]
    assert [float(slot.mean[0]) for slot in slots] == [5.0, 0.0, -4.0, 0.0, 0.0]
    assert [int(slots[row].arm[0]) for row in (0, 2)] == [2, 1]  # the arm with most rewards
    assert [int(slot.first[0]) for slot in slots] == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("answer", [-1, 3, 7])
def test_a_batch_ends_where_the_policy_names_no_arm(monkeypatch, answer):
    """A policy that stops answers -1; an index of no arm is as invalid. Arms so far count, the rest do not."""
    expected = []
    monkeypatch.setattr(
        batch_asks, "ask", lambda params, state, data, slot, draw: 1 if int(draw.step) < 2 else answer
    )
    monkeypatch.setattr(batch_asks, "expect", lambda *arguments: expected.append(arguments[4]))
    arms, zero = np.full(5, -9), np.uint64(0)
    pulls = SimpleNamespace(pulls=np.zeros(3))
    assert batch_asks.ask_many(None, None, pulls, None, zero, zero, zero, arms) == 2
    assert arms.tolist() == [1, 1, -9, -9, -9]
    assert expected == [1, 1]
