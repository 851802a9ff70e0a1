"""Compiling for a GPU on several cores, while what is ready runs.

numba compiles one program after the other, some seconds each. Programs are kept on disk, so other
processes can compile them for this one: `python -m tideproof.lab.engines.compile_pool` reads which from its
input.
"""

from __future__ import annotations

import atexit
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple

from tideproof.errors import InputError
from tideproof.lab.executors import side_by_side
from tideproof.lab.simulation_plan import SimulationPlan

_COMMAND = (sys.executable, "-m", "tideproof.lab.engines.compile_pool")

_underway: dict[Any, Event] = {}
_interrupted = Event()
_running: set[subprocess.Popen[bytes]] = set()


class _Task(NamedTuple):
    """A plan, pickled, whose program is to be compiled, and what is set when that is over."""

    plan: bytes
    over: Event


def compile_ahead(missing: Mapping[Any, SimulationPlan]) -> None:
    """Begin to compile programs, in this order, by a plan that needs each.

    What fails fails again, or not, when the program is needed.
    """
    _interrupted.clear()  # by whoever ran before
    fresh = {program: plan for program, plan in missing.items() if not _is_underway(program)}
    if len(fresh) < 2:  # this process does it as fast
        return
    tasks: SimpleQueue[_Task] = SimpleQueue()
    made: dict[Any, _Task] = {}
    for program, plan in fresh.items():
        with suppress(InputError):  # a policy that no other process would find
            made[program] = _Task(pickle.dumps(plan), Event())
    for task in made.values():
        tasks.put(task)
    for _ in range(min(len(made), side_by_side())):
        Thread(target=_work, args=(tasks,), daemon=True).start()
    _underway.update({program: task.over for program, task in made.items()})


def wait_for(program: Any) -> None:
    """Wait until the program is compiled, if that is underway."""
    if program in _underway:
        _underway[program].wait()
        if _interrupted.is_set():
            raise KeyboardInterrupt


def _is_underway(program: Any) -> bool:
    return program in _underway and not _underway[program].is_set()


def _work(tasks: SimpleQueue[_Task]) -> None:
    while True:
        try:
            task = tasks.get_nowait()
        except Empty:
            return
        try:
            if not _interrupted.is_set():
                _compile(task.plan)
        finally:
            task.over.set()


def _compile(plan: bytes) -> None:
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with suppress(OSError), subprocess.Popen(_COMMAND, stdin=pipe, stdout=nowhere, stderr=nowhere) as process:
        _running.add(process)
        process.communicate(plan)
        _running.discard(process)
        if process.returncode == -signal.SIGINT:  # Ctrl-C reaches them all
            _interrupted.set()


@atexit.register
def _stop() -> None:
    _interrupted.set()
    for process in tuple(_running):
        process.kill()


def _main() -> None:
    from tideproof.lab.engines.cuda_engine import run_chunk

    warnings.simplefilter("ignore")
    run_chunk(pickle.load(sys.stdin.buffer), 0, 1)


if __name__ == "__main__":
    _main()
