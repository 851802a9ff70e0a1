"""Compile programs for a GPU in parallel processes, while finished programs already run.

numba compiles one program after the other and needs some seconds for each. Compiled programs are cached on
disk, so other processes can compile them for this one. `python -m tideproof.lab.engines.compile_pool` is such
a process: it reads a pickled plan from its standard input and compiles its program.
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
from tideproof.lab.executors import worker_count
from tideproof.lab.simulation_plan import SimulationPlan

_COMMAND = (sys.executable, "-m", "tideproof.lab.engines.compile_pool")

pending_programs: dict[Any, Event] = {}
_interrupted = Event()
_running: set[subprocess.Popen[bytes]] = set()


class _Task(NamedTuple):
    """Task of compiling the GPU program of a simulation plan, with a flag that is set when it has ended."""

    plan: bytes
    finished: Event


def compile_ahead(missing: Mapping[Any, SimulationPlan]) -> None:
    """Begin to compile GPU programs in other processes, in the given order.

    `missing` maps each program to a plan that needs it. Errors are ignored: if compilation fails here, this
    process compiles the program again when it needs it, and reports the error.
    """
    _interrupted.clear()  # an earlier run may have set it
    fresh = {program: plan for program, plan in missing.items() if not _is_pending(program)}
    if len(fresh) < 2:  # this process compiles a single program as fast
        return
    tasks: SimpleQueue[_Task] = SimpleQueue()
    made: dict[Any, _Task] = {}
    for program, plan in fresh.items():
        with suppress(InputError):  # other processes cannot find every policy
            made[program] = _Task(pickle.dumps(plan), Event())
    for task in made.values():
        tasks.put(task)
    for _ in range(min(len(made), worker_count())):
        Thread(target=_work, args=(tasks,), daemon=True).start()
    pending_programs.update({program: task.finished for program, task in made.items()})


def wait_for(program: Any) -> None:
    """Wait until another process has compiled a GPU program, if one is compiling it."""
    if program in pending_programs:
        pending_programs[program].wait()
        if _interrupted.is_set():
            raise KeyboardInterrupt


def _is_pending(program: Any) -> bool:
    """Return whether another process is compiling a GPU program or will do so."""
    return program in pending_programs and not pending_programs[program].is_set()


def _work(tasks: SimpleQueue[_Task]) -> None:
    """Compile the GPU programs in a queue one after the other; this function runs in a thread."""
    while True:
        try:
            task = tasks.get_nowait()
        except Empty:
            return
        try:
            if not _interrupted.is_set():
                _compile(task.plan)
        finally:
            task.finished.set()


def _compile(plan: bytes) -> None:
    """Compile the GPU program of a pickled simulation plan in a new process."""
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with suppress(OSError), subprocess.Popen(_COMMAND, stdin=pipe, stdout=nowhere, stderr=nowhere) as process:
        _running.add(process)
        process.communicate(plan)
        _running.discard(process)
        if process.returncode == -signal.SIGINT:  # the terminal sends Ctrl-C to all processes
            _interrupted.set()


@atexit.register
def _stop() -> None:
    """Kill the compiling processes when this process ends."""
    _interrupted.set()
    for process in tuple(_running):
        process.kill()


def _main() -> None:
    """Read a simulation plan from standard input, and compile its GPU program by running one replication."""
    from tideproof.lab.engines.cuda_engine import run_chunk

    warnings.simplefilter("ignore")
    run_chunk(pickle.load(sys.stdin.buffer), 0, 1)


if __name__ == "__main__":
    _main()
