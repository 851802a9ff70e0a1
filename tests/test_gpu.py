"""The GPU engine: in numba's CUDA simulator here, on a real GPU with `make test-gpu`.

The simulator runs the very functions that a GPU would, in Python, so what can be tested here is that
memory, loop, counts and pairs are right; that they compile for a GPU is for `make test-gpu`.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec

import numpy as np
import pytest

import tideproof as tp
from tideproof.lab.blocks import Plan, run_block
from tideproof.policies.registry import policy_names

pytest.importorskip("numba")

SPECS = [*policy_names(), "round-robin+ols", "p1+ips", "reduce:lucb", "reduce:successive-rejects"]
HALVES = [SPECS[::2], SPECS[1::2]]
SIMULATED = """
import sys
import numpy as np
import tideproof as tp
from tideproof.lab import gpu
from tideproof.lab.blocks import Plan, run_block

gpu.THREADS, gpu.BLOCKS = 3, 2
plain = tp.mdm(3)
other = tp.World(means=[0, 1, 2, 2.5], lengths=tp.Geometric(4.0), shifts=tp.NoShift())
for name in sys.argv[1:]:
    plan = Plan(other if name == "contrast" else plain, (tp.policy(name), tp.policy("linlucb", label="other")), (30,), 5)
    for field, here, there in zip(gpu.Tally._fields, gpu.run_chunk(plan, 2, 7), run_block(plan, 2, 7)):
        if not np.array_equal(here, there):
            print(name, field, here.tolist(), there.tolist())
"""


@pytest.mark.parametrize("names", HALVES)
def test_simulated_threads_play_what_the_cpu_plays(names):
    done = _simulated(SIMULATED, *names)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""


def test_a_policy_that_cannot_run_there_says_so_and_runs_on_the_cpu():
    program = """
import warnings
import numpy as np
import tideproof as tp
from tideproof.lab import gpu
from tideproof.lab.blocks import BLOCK, Plan, run_block

class Refused:
    def __getitem__(self, launch):
        raise ValueError("several lines\\nno room for 900 arms")

real = gpu.loop
def loop(layout, arms, fill):
    return Refused() if "round_robin" in fill["ask"].__module__ else real(layout, arms, fill)
gpu.loop = loop
plan = Plan(tp.mdm(3), (tp.policy("round-robin"), tp.policy("linlucb")), (20,), 1)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always", UserWarning)
    for _ in range(2):
        same = [np.array_equal(a, b) for a, b in zip(gpu.run_chunk(plan, 0, 5), run_block(plan, 0, 5))]
print(all(same), [str(w.message) for w in caught if w.category is UserWarning])
"""
    done = _simulated(program)
    assert done.returncode == 0, done.stderr
    said = "round-robin with 3 arms cannot run on the GPU, so it runs on the CPU: no room for 900 arms"
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
    with pytest.raises(tp.UnknownName, match=r"unknown engine 'gpu'.*known: 'auto', 'cpu', 'cuda'"):
        tp.simulate(tp.mdm(3), "linlucb", 30, 1, engine="gpu")
    with ThreadPoolExecutor(1) as pool, pytest.raises(tp.InputError, match="no executor or scheduler"):
        tp.simulate(tp.mdm(3), "linlucb", 30, 1, executor=pool, engine="cuda")
    if find_spec("numba_cuda") is None:
        with pytest.raises(tp.InputError, match=r"finds no GPU: .*tideproof\[gpu\]"):
            tp.simulate(tp.mdm(3), "linlucb", 30, 1, engine="cuda")
        assert tp.simulate(tp.mdm(3), "linlucb", 30, 1).made["engine"] == "cpu"


def _simulated(program, *arguments):
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    command = [sys.executable, "-W", "ignore::RuntimeWarning", "-c", program, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.gpu
@pytest.mark.parametrize("name", SPECS)
def test_a_real_gpu_plays_what_the_cpu_plays(name):
    """Rounding may differ by a bit, and then a choice: 0 in 1e6 were seen (docs/performance.md)."""
    from tideproof.lab import gpu

    plan = Plan(tp.mdm(5), (tp.policy(name), tp.policy("linlucb")), (60, 120), 11)
    here, there = gpu.run_chunk(plan, 0, 20_000), run_block(plan, 0, 20_000)
    assert np.abs(here.chosen - there.chosen).sum() <= 4
    assert here.samples.tolist() == pytest.approx(there.samples.tolist(), rel=1e-4)
