"""Worker processes, and Ctrl-C while results of simulations are awaited."""

import os
import signal
import threading
from concurrent.futures import Future, TimeoutError

import pytest

from tideproof.lab import executors
from tideproof.lab.keyboard_interrupts import delay_ctrl_c, wait_for_result


@pytest.mark.parametrize(
    ("cores", "workers"), [(1, 2), (2, 2), (5, 2), (6, 3), (15, 7), (16, 8), (17, 8), (64, 8)]
)
def test_half_the_cores_but_two_to_eight_processes_compile(monkeypatch, cores, workers):
    monkeypatch.setattr(executors, "cores", lambda: cores)
    assert executors.worker_count() == workers


def test_there_is_a_thread_for_each_core_of_the_process():
    assert executors.cores() == len(os.sched_getaffinity(0))
    together = threading.Barrier(executors.cores(), timeout=60.0)

    def thread(_):
        together.wait()  # until as many tasks run at once
        return threading.get_ident()

    with executors.threads() as pool:
        assert len(set(pool.map(thread, range(4 * executors.cores())))) == executors.cores()


def test_ctrl_c_waits_for_the_next_check():
    with delay_ctrl_c() as check:
        check()
        signal.raise_signal(signal.SIGINT)  # not yet
        with pytest.raises(KeyboardInterrupt):
            check()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_pressed_twice_takes_effect_at_once():
    with delay_ctrl_c():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_the_program_stays():
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(1))
    try:
        with delay_ctrl_c() as check:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            check()
    finally:
        signal.signal(signal.SIGINT, before)
    assert pressed == [1, 1]


def test_ctrl_c_is_left_alone_outside_the_main_thread():
    found = []

    def work():
        with delay_ctrl_c() as check:
            check()
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]


def test_a_result_that_takes_long_is_awaited_with_checks():
    future, checks = Future(), []

    def check():
        checks.append(1)
        if len(checks) == 3:
            future.set_result("done")

    assert wait_for_result(future, check) == "done"
    assert len(checks) == 4  # one more after the result


def test_a_timeout_of_the_task_itself_is_raised():
    future = Future()
    future.set_exception(TimeoutError("too slow"))
    with pytest.raises(TimeoutError, match="too slow"):
        wait_for_result(future, lambda: None)
