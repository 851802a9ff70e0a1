"""The GPU engine: in numba's CUDA simulator here, on a real GPU with `make test-gpu`.

The simulator runs the very functions that a GPU would, in Python, so what can be tested here is that
memory, loop, counts and pairs are right; that they compile for a GPU is for `make test-gpu`.
"""

import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest

import tideproof as tp
from tideproof.core.kernel_array_access_gpu import REGISTER_REPLACEMENTS
from tideproof.core.kernel_linker import kernel, link, use_interpreter
from tideproof.kernels.fit.fixed_effects import anchor
from tideproof.lab.engines import compile_pool
from tideproof.lab.engines.cpu_engine import run_chunk
from tideproof.lab.simulation_plan import SimulationPlan
from tideproof.policies.policy_registry import policy_names
from tideproof.research.paper.panels import panels

pytest.importorskip("numba")

SPECS = [*policy_names(), "round-robin+ols", "p1+ips", "reduce:lucb", "reduce:successive-rejects"]
SPECS += ["hidden:contrast", "hidden:reduce:lucb"]
UNEVEN = ["by-arm:auto:contrast", "robust:contrast"]
HALVES = [SPECS[::2], [*SPECS[1::2], *UNEVEN]]
SPECS += UNEVEN
SIMULATED = """
import sys
import numpy as np
import tideproof as tp
from tideproof.lab.engines import cuda_engine as gpu
from tideproof.lab.engines.cpu_engine import run_chunk
from tideproof.lab.simulation_plan import SimulationPlan

gpu.THREADS, gpu.BLOCKS, gpu.COUNTS = 2, 2, 40  # fewer than replications
worlds = {
    "contrast": tp.World(means=[0, 1, 2, 2.5], lengths=tp.worlds.Geometric(4.0), shifts=tp.worlds.NoShift()),
    "linlucb": tp.mdm(2),
    "top-two-thompson": tp.mdm(12),
    "round-robin+ols": tp.mdm(13),  # too many for registers
    "p1": tp.World([0.2, 0.4], shifts=tp.worlds.Normal(0, 0.3), rewards="conversions", tide="multiplies"),
    "lucb": tp.World([0.5, 0.4], shifts=tp.worlds.Uniform(0, 9), rewards="counts"),
    "ocba": tp.World([0.5, 0.4], shifts=tp.worlds.Weekly([1, 2]), rewards=tp.worlds.Money(2, zeros=0.5), tide="multiplies"),
}
for name in sys.argv[1:]:
    world = worlds.get(name, tp.mdm(3))
    plan = SimulationPlan(world, (tp.policy(name), tp.policy("linlucb", label="other", n0=2)), (27, 30), 5, (30,))
    for field, here, there in zip(gpu.ReplicationSums._fields, gpu.run_chunk(plan, 2, 5), run_chunk(plan, 2, 5)):
        if not np.array_equal(here, there):
            print(name, field, here.tolist(), there.tolist())
"""


@pytest.mark.parametrize("names", [HALVES[0], pytest.param(HALVES[1], marks=pytest.mark.long)])
def test_simulated_threads_play_what_the_cpu_plays(names):
    done = _simulated(SIMULATED, *names)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_many_budgets_make_chunks_small():
    from tideproof.lab.engines import cuda_engine as gpu

    policies = tuple(tp.policy(name) for name in ("linlucb", "lucb"))
    few, many = (
        SimulationPlan(tp.mdm(5), policies, budgets, 1) for budgets in ((40,), tuple(range(40, 1040)))
    )
    assert gpu.chunk_size(few) == 10_000_000
    assert gpu.chunk_size(many) * len(many.budgets) * 2 == gpu.SELECTIONS


@pytest.mark.parametrize("arms", [1, 2, 5])
def test_words_for_registers_mean_the_same(arms):
    rng = np.random.default_rng(arms)
    square = rng.normal(size=(arms, arms))
    P, x, n = square + square.T, rng.normal(size=arms), rng.integers(0, 9, arms)
    words = {
        word.__name__: (
            link(word, use_interpreter),
            link(twin, use_interpreter, {"rsqrt": kernel(lambda x: x**-0.5)}),
        )
        for word, twin in REGISTER_REPLACEMENTS.items()
    }
    for i, k in product(range(arms), repeat=2):
        for name, arguments in {
            "at": (x, i),
            "diagonal": (P, i),
            "entry": (P, i, k),
        }.items():
            here, there = words[name]
            assert here(*arguments) == there(*arguments), name
    for i in range(arms):
        for fetch, fetched in zip(words["fetch"], words["fetched"], strict=True):
            row = np.empty(arms)
            fetch(P, i, row)
            assert [fetched(P, i, row, k) for k in range(arms)] == P[i].tolist()
        added = [n.copy(), n.copy()]
        for add_at, counts in zip(words["add_at"], added, strict=True):
            add_at(counts, i, 3)
        assert added[0].tolist() == added[1].tolist()
    written = [np.zeros_like(P), np.zeros_like(P)]
    for put, matrix in zip(words["put"], written, strict=True):
        for i, k in product(range(arms), repeat=2):
            put(matrix, i, k, P[i, k])
    assert written[0].tolist() == written[1].tolist() == P.tolist()
    for i in range(arms):
        out = [np.empty(arms), np.empty(arms)]
        g = np.eye(arms)[i] - n / 7
        for along, filled in zip(words["along"], out, strict=True):
            np.testing.assert_allclose(
                along(P, x, i, n, 1 / 7, filled), [g @ x, g @ P @ g], rtol=1e-12, atol=1e-13
            )
            np.testing.assert_allclose(filled, P @ g, rtol=1e-12, atol=1e-13)
    n[-1] = 2  # not all are 0
    for times, filled in zip(words["times"], (np.empty(arms), np.empty(arms)), strict=True):
        assert math.isclose(times(P, n, 1 / 7, filled), n @ P @ n / 49, rel_tol=1e-12)
        np.testing.assert_allclose(filled, P @ n / 7, rtol=1e-12, atol=1e-13)
    for root_of_ratio in words["root_of_ratio"]:
        assert root_of_ratio(0.0, 3) == 0.0
        assert math.isclose(root_of_ratio(7.0, 3), math.sqrt(7 / 3), rel_tol=1e-15)
    assert len(words) == 10


def test_a_replaced_kernel_is_not_shared_with_those_who_keep_it():
    def named(f, entry):
        return f

    for fill in ({}, REGISTER_REPLACEMENTS, {}):
        linked = link(connects, named, fill)
        words = linked.__globals__["anchor"].__globals__["times"].__globals__["__name__"]
        assert words == (
            "tideproof.core.kernel_array_access_gpu" if fill else "tideproof.core.kernel_array_access"
        )


@kernel
def connects(fit):
    return anchor(fit)


@pytest.fixture
def plans():
    return {
        name: SimulationPlan(tp.mdm(3), (tp.policy(name),), (30,), 1) for name in ("linlucb", "lucb", "ocba")
    }


@pytest.fixture
def noted(monkeypatch, tmp_path):
    """Let other processes note which policy they were to compile, one after the other."""
    note = tmp_path / "noted"
    note.touch()
    program = f"""
import pickle, sys
plan = pickle.load(sys.stdin.buffer)
with open({str(note)!r}, "a") as file:
    print(plan.policies[0].policy.name, file=file)
"""
    monkeypatch.setattr(compile_pool, "_COMMAND", (sys.executable, "-c", program))
    monkeypatch.setattr(compile_pool, "worker_count", lambda: 1)
    monkeypatch.setattr(compile_pool, "pending_programs", {})
    return lambda: note.read_text().split()


def test_programs_are_compiled_by_other_processes_in_order(noted, plans):
    compile_pool.compile_ahead(plans)
    compile_pool.compile_ahead(plans)  # underway: not begun again
    for number, name in enumerate(plans, 1):
        compile_pool.wait_for(name)
        assert noted()[:number] == list(plans)[:number]
    compile_pool.wait_for("unknown")
    assert noted() == list(plans)


@pytest.mark.parametrize("command", [("no such program",), (sys.executable, "-c", "raise SystemExit(3)")])
def test_nobody_waits_for_a_process_that_fails(noted, plans, command, monkeypatch):
    monkeypatch.setattr(compile_pool, "_COMMAND", command)
    compile_pool.compile_ahead(plans)
    for name in plans:
        compile_pool.wait_for(name)


def test_ctrl_c_ends_the_others_too(noted, plans, monkeypatch):
    killed = (
        "import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGINT)"
    )
    monkeypatch.setattr(compile_pool, "_COMMAND", (sys.executable, "-c", killed))
    compile_pool.compile_ahead(plans)
    for name in plans:
        with pytest.raises(KeyboardInterrupt):
            compile_pool.wait_for(name)
    compile_pool.compile_ahead({"linlucb": plans["linlucb"]})  # the next run is not interrupted by that
    compile_pool.wait_for("linlucb")


def test_one_program_is_compiled_here(noted, plans):
    compile_pool.compile_ahead({"linlucb": plans["linlucb"]})
    compile_pool.wait_for("linlucb")
    assert noted() == []


def test_a_policy_that_cannot_run_there_says_so_and_runs_on_the_cpu():
    program = """
import warnings
import numpy as np
import tideproof as tp
from tideproof.lab.engines import cuda_engine as gpu
from tideproof.lab.engines.cpu_engine import run_chunk
from tideproof.lab.simulation_plan import SimulationPlan

class Refused:
    def __getitem__(self, launch):
        raise ValueError("several lines\\nno room for 900 arms")

real = gpu.build_thread_program
def build_thread_program(play_one, layout, arms, fill):
    refused = "round_robin" in fill["ask"].__module__
    return Refused() if refused else real(play_one, layout, arms, fill)
gpu.build_thread_program = build_thread_program
plan = SimulationPlan(tp.mdm(3), (tp.policy("round-robin"), tp.policy("linlucb")), (20,), 1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    for _ in range(2):
        same = [np.array_equal(a, b) for a, b in zip(gpu.run_chunk(plan, 0, 5), run_chunk(plan, 0, 5))]
print(all(same), [str(w.message) for w in caught if w.category is UserWarning])
"""
    done = _simulated(program)
    assert done.returncode == 0, done.stderr
    said = "round-robin with 3 arms cannot run on the GPU and runs on the CPU instead: no room for 900 arms"
    assert done.stdout == f"True ['{said}']\n"


def test_simulate_takes_the_engine_it_is_given():
    program = """
import tideproof as tp
studies = [tp.simulate(tp.mdm(3), ["linlucb", "contrast"], [20, 30], 5, seed=2, engine=e) for e in ("cuda", "cpu")]
print([s.made["engine"] for s in studies], all((a == b).all() for a, b in zip(*(s.tally for s in studies))))
"""
    done = _simulated(program)
    assert done.stdout == "['cuda', 'cpu'] True\n", done.stderr


def test_engines_that_cannot_be_had_are_refused_before_anything_runs():
    with pytest.raises(tp.errors.UnknownName, match=r"unknown engine 'gpu'.*known: 'auto', 'cpu', 'cuda'"):
        tp.simulate(tp.mdm(3), "linlucb", 30, 1, engine="gpu")
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(tp.errors.InputError, match="omit executor="),
    ):
        tp.simulate(tp.mdm(3), "linlucb", 30, 1, executor=pool, engine="cuda")
    if find_spec("numba_cuda") is None:
        with pytest.raises(tp.errors.MissingExtra, match=r"a GPU needs numba-cuda: .*tideproof\[gpu\]"):
            tp.simulate(tp.mdm(3), "linlucb", 30, 1, engine="cuda")
        assert tp.simulate(tp.mdm(3), "linlucb", 30, 1).made["engine"] == "cpu"


# The simulator puts the real module back when one thread leaves a function, while others are still in it.
ONE_MODULE_FOR_ALL_THREADS = """
from contextlib import contextmanager
from numba import cuda
from numba.cuda.simulator import kernel
from numba.cuda.simulator.kernelapi import FakeCUDAModule

@contextmanager
def replaced(function, fake):
    scope = function.__globals__
    scope.update({name: fake for name, value in scope.items() if value is cuda or isinstance(value, FakeCUDAModule)})
    yield

kernel.swapped_cuda_module = replaced
"""


def _simulated(program, *arguments):
    program = ONE_MODULE_FOR_ALL_THREADS + program
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.gpu
@pytest.mark.parametrize("name", SPECS)
def test_a_real_gpu_plays_what_the_cpu_plays(name):
    """Rounding may differ by a bit, and then a choice: 0 in 1e6 were seen (docs/performance.md)."""
    from tideproof.lab.engines import cuda_engine as gpu

    plan = SimulationPlan(tp.mdm(5), (tp.policy(name), tp.policy("linlucb")), (60, 120), 11)
    here, there = gpu.run_chunk(plan, 0, 20_000), run_chunk(plan, 0, 20_000)
    assert np.abs(here.chosen - there.chosen).sum() <= 4
    assert np.abs(here.pulls - there.pulls).sum() <= 4 * 120


@pytest.mark.gpu
@pytest.mark.parametrize("name", [name for name in panels() if name.count("-") > 1 and "ser3" not in name])
def test_both_engines_agree_on_every_panel(name):
    """They play the same replications, so not only within bounds; rounding may turn one choice in 4,000."""
    world = panels()[name].world
    study = [tp.simulate(world, SPECS, 40 * world.arms, 4000, seed=3, engine=e) for e in ("cuda", "cpu")]
    for label in study[0].policies:
        here, there = (each.pics(label)[0] for each in study)
        assert abs(here - there) <= 1 / 4000, label
