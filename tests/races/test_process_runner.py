"""Processes that are measured: their times, their failures, and that none of them stays behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

import tideproof as tp
from tideproof.races import process_runner
from tideproof.races.process_runner import ProcessRunner, interrupt_on_termination

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="no POSIX processes")


def shell(text):
    return ["/bin/sh", "-c", text]


@pytest.fixture
def runner():
    with ProcessRunner(timeout=20.0) as made:
        yield made


def is_running(marker):
    """Return whether a process whose command line contains a text is running."""
    return subprocess.run(["pgrep", "-f", marker], capture_output=True).returncode == 0


def test_computing_takes_cpu_time_and_waiting_does_not(runner):
    waited = runner.run(["sleep", "0.1"], "sleep")
    computed = runner.run([sys.executable, "-S", "-c", "for i in range(2_000_000): pass"], "loop")
    assert waited.wall >= 0.1 > 10 * waited.cpu
    assert computed.cpu > 0.02
    assert computed.wall > 0.5 * computed.cpu
    assert waited.switches > 0


def test_memory_above_that_of_this_process_is_measured(runner):
    size = process_runner.memory_floor() + 100_000_000
    large = runner.run([sys.executable, "-S", "-c", f"x = b'1' * {size}"], "large")
    assert size < large.memory < size + 100_000_000


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (shell("exit 3"), "it: exit code 3; --ignore-failure"),
        (shell("kill -9 $$"), "it: killed by SIGKILL"),
        (["/no/such/program"], "it: cannot run '/no/such/program': No such file"),
        (["/etc/passwd"], "it: cannot run '/etc/passwd': Permission denied"),
    ],
)
def test_a_command_that_fails(runner, command, message):
    with pytest.raises(tp.errors.CommandFailed, match=message):
        runner.run(command, "it")


def test_the_end_of_its_errors_is_shown(runner):
    with pytest.raises(tp.errors.CommandFailed, match="exit code 2; stderr: two; --ignore"):
        runner.run_and_explain(shell("echo >&2; echo two >&2; exit 2"), "it")
    assert runner.run_and_explain(["true"], "it").exit_code == 0


def test_failures_may_be_accepted():
    with ProcessRunner(accept_failures=True) as runner:
        assert runner.run(shell("exit 3"), "it").exit_code == 3


def test_megabytes_of_output_go_nowhere(runner, capfd):
    runner.run(shell("head -c 20000000 /dev/zero; head -c 20000000 /dev/zero >&2"), "it")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("wait", ["_wait_by_descriptor", "_wait_with_timer"])
def test_a_command_that_hangs_is_killed_with_its_children(monkeypatch, wait):
    with ProcessRunner(timeout=0.3) as runner:
        monkeypatch.setattr(runner, "_wait", getattr(process_runner, wait))
        begin = time.monotonic()
        with pytest.raises(
            tp.errors.CommandFailed, match=r"killed because it was still running after 0\.3 s"
        ):
            runner.run(shell("sleep 987.1 & sleep 987.2"), "it")
        assert time.monotonic() - begin < 5.0
    assert not is_running("sleep 987")


def test_processes_in_the_background_do_not_stay(runner):
    runner.run(shell("sleep 986.5 &"), "it")
    time.sleep(0.1)
    assert not is_running("sleep 986.5")


def test_a_signal_ends_the_command_and_is_passed_on(runner):
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    with interrupt_on_termination(), pytest.raises(KeyboardInterrupt):
        runner.run(shell("sleep 985.5"), "it")
    assert not is_running("sleep 985.5")
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
