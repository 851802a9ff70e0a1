"""Processes beside this one: errors arrive, what was not begun is left out, Ctrl-C leaves nothing half-done."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tideproof.lab.executors import processes

SLOW = """
import time
from tideproof.files import replacing

def write(path):
    with replacing(path) as half:
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
