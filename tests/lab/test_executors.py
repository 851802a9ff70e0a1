"""Processes beside this one and Dask: errors arrive, what was not begun is left out, nothing is half-done."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import tideproof as tp
from simulations import BUDGETS, WORLD, same
from tideproof.cli import app
from tideproof.lab.executors import dask, processes

SLOW = """
import time
from tideproof.files import replace_atomically

def write(path):
    with replace_atomically(path) as half:
        half.write_text("half")
        time.sleep(60.0)
"""
INTERRUPTED = """
from pathlib import Path
from slow import write
from tideproof.lab.executors import processes

with processes() as pool:
    pool.submit(write, Path("made") / "whole.txt").result()
"""


def test_an_error_of_another_process_arrives(tmp_path):
    with processes() as pool, pytest.raises(FileExistsError):
        pool.submit(os.mkdir, tmp_path).result()


def test_what_was_not_begun_is_left_out():
    with processes() as pool:
        jobs = [pool.submit(time.sleep, 0.2) for _ in range(60)]
    assert any(job.cancelled() for job in jobs)
    assert all(job.done() for job in jobs)  # nobody works on


def test_ctrl_c_leaves_nothing_half_done(tmp_path):
    folder = tmp_path / "made"
    folder.mkdir()
    (tmp_path / "slow.py").write_text(SLOW)
    run = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    deadline = time.monotonic() + 60
    while not list(folder.iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert err.count("Traceback") <= 1, err  # that of the script itself
    assert not list(folder.iterdir())


@pytest.mark.filterwarnings("ignore")  # distributed's own
def test_a_dask_cluster_of_two_processes_gives_the_same_bits(tmp_path):
    pytest.importorskip("numba")
    distributed = pytest.importorskip("distributed")
    policies = [
        "round-robin+ols",
        tp.policy("round-robin+ols", n0=6, label="longer start"),
    ]  # one compilation
    sizes = {"replications": 4200, "seed": 7}
    local = tp.simulate(WORLD, policies, BUDGETS, **sizes)
    options = {"n_workers": 2, "processes": True, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster:
        with dask(cluster.scheduler_address) as executor:
            spread = tp.simulate(WORLD, policies, BUDGETS, executor=executor, **sizes)
        assert same(local, spread)

        command = "simulate --no-progress --policies round-robin+ols --budgets 30,60,100 --replications 4200"
        command += f" --seed 7 --scheduler {cluster.scheduler_address}"
        saved = tmp_path / "study.json"
        assert CliRunner().invoke(app, [*command.split(), "--save", str(saved)]).exit_code == 0
    assert np.array_equal(tp.Study.load(saved).pics("round-robin+ols"), local.pics("round-robin+ols"))


@pytest.mark.filterwarnings("ignore")  # distributed's own
def test_a_dask_scheduler_that_is_not_there():
    pytest.importorskip("distributed")
    nobody = "tcp://127.0.0.1:1"
    with (
        pytest.raises(tp.errors.InputError, match=f"no Dask scheduler answers at '{nobody}'"),
        dask(nobody, patience=0.5),
    ):
        pass


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = r"a Dask cluster needs distributed: .*tideproof\[dask\]"
    with pytest.raises(tp.errors.MissingExtra, match=message), dask("tcp://anywhere:1"):
        pass
