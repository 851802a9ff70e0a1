"""Run one process and measure it: wall time, CPU time and peak memory.

Each process leads a process group of its own, which is killed when the process ends, runs too long or is
interrupted, so that none of its children stays behind. Its input and output are `/dev/null`.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Timer
from typing import IO, Any, NamedTuple

from tideproof.errors import CommandFailed, InputError

_MEMORY_UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes
_MOST_ERRORS = 4096  # bytes at the end of stderr that are read
_LINES_OF_ERRORS = 3  # last lines of stderr that the error of a failed command shows


class RunMeasurement(NamedTuple):
    """Wall time, CPU time and peak memory of one run of a command.

    Attributes
    ----------
    wall : seconds from before its start until after its end.
    user, system : seconds of CPU time of the process and of those of its children that it waited for.
    memory : peak resident memory of its largest process in bytes; 0 if it is unknown.
    switches : how often the process gave up its CPU by itself, mostly to wait.
    exit_code : 0 after success; negative numbers are signals.
    """

    wall: float
    user: float
    system: float
    memory: int = 0
    switches: int = 0
    exit_code: int = 0

    @property
    def cpu(self) -> float:
        """Seconds of CPU time that a process used, in user and system mode together."""
        return self.user + self.system


def require_processes() -> None:
    """Raise an error on operating systems that cannot start and measure processes as needed."""
    if not hasattr(os, "posix_spawn") or not hasattr(os, "wait4"):
        raise InputError("commands can be raced on Linux and macOS only; tp.bench races Python functions")


def memory_floor() -> int:
    """Return the peak memory below which a child process cannot be measured: that of this process.

    A new process begins with the memory of its parent, before it loads its own program.
    """
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _MEMORY_UNIT


class ProcessRunner:
    """Runs the processes of a race, one at a time; use it as a context manager.

    Parameters
    ----------
    environment
        The environment variables of the processes.
    timeout
        Seconds after which a process is killed.
    accept_failures
        Whether processes may end with an exit code other than 0.
    """

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        timeout: float = 300.0,
        accept_failures: bool = False,
    ) -> None:
        require_processes()
        self._environment = dict(os.environ if environment is None else environment)
        self._timeout = timeout
        self._accept_failures = accept_failures
        self._wait = _wait_by_descriptor if hasattr(os, "pidfd_open") else _wait_with_timer
        self._null = -1

    def __enter__(self) -> ProcessRunner:
        self._null = os.open(os.devnull, os.O_RDWR)
        self._silent = [(os.POSIX_SPAWN_DUP2, self._null, descriptor) for descriptor in (0, 1, 2)]
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self._null)

    def run(self, arguments: list[str], name: str) -> RunMeasurement:
        """Run a process to its end, and return its time and memory; `name` names it in error messages."""
        measured = self._measure(arguments, name, self._silent)
        if measured.exit_code and not self._accept_failures:
            raise CommandFailed(f"{name}: {describe_exit(measured.exit_code)}; {_ADVICE}")
        return measured

    def run_and_explain(self, arguments: list[str], name: str) -> RunMeasurement:
        """Run a process; if it fails, raise an error that shows the end of its stderr."""
        with tempfile.TemporaryFile() as errors:
            actions = [*self._silent[:2], (os.POSIX_SPAWN_DUP2, errors.fileno(), 2)]
            measured = self._measure(arguments, name, actions)
            if measured.exit_code and not self._accept_failures:
                shown = last_lines(errors)
                text = f"; stderr: {shown}" if shown else ""
                raise CommandFailed(f"{name}: {describe_exit(measured.exit_code)}{text}; {_ADVICE}")
        return measured

    def _measure(
        self, arguments: list[str], name: str, actions: list[tuple[int, int, int]]
    ) -> RunMeasurement:
        """Start a process and measure it to its end, then kill processes that it left in its group."""
        clock = time.perf_counter
        begin = clock()
        try:
            process = os.posix_spawnp(
                arguments[0], arguments, self._environment, file_actions=actions, setpgroup=0
            )
        except (OSError, ValueError) as error:
            raise CommandFailed(_start_failure(name, arguments[0], error)) from None
        try:
            found = self._wait(process, self._timeout)
            wall = clock() - begin
            if found is None:
                raise CommandFailed(
                    f"{name}: killed because it was still running after {self._timeout:g} s, the --timeout"
                )
        except BaseException:
            _kill_group(process)
            with suppress(ChildProcessError):  # it was waited for
                os.waitpid(process, 0)
            raise
        status, used = found
        _kill_group(process)
        return RunMeasurement(
            wall,
            used.ru_utime,
            used.ru_stime,
            used.ru_maxrss * _MEMORY_UNIT,
            used.ru_nvcsw,
            os.waitstatus_to_exitcode(status),
        )


_ADVICE = "--ignore-failure accepts exit codes other than 0"


@contextmanager
def interrupt_on_termination() -> Iterator[None]:
    """Context manager in which SIGTERM acts like Ctrl-C, so that it ends a running command, too."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def describe_exit(code: int) -> str:
    """Describe in words how a process ended, such as its exit code or signal.

    >>> describe_exit(3), describe_exit(-9)
    ('exit code 3', 'killed by SIGKILL')
    """
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"killed by signal {-code}"


def _start_failure(name: str, program: str, error: OSError | ValueError) -> str:
    """Return an error message for a process that could not be started."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    label = "" if name == program else f"{name}: "
    return f"{label}cannot run {program!r}: {reason}"


def _wait_by_descriptor(process: int, timeout: float) -> tuple[int, Any] | None:
    """Wait for a process; return its exit status and resource usage, or None after a timeout."""
    descriptor = os.pidfd_open(process)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if not poll.poll(1000.0 * timeout):
            return None
    finally:
        os.close(descriptor)
    return os.wait4(process, 0)[1:]


def _wait_with_timer(process: int, timeout: float) -> tuple[int, Any] | None:
    """Wait for a process until a timeout, on systems without file descriptors of processes."""
    late: list[bool] = []

    def stop() -> None:
        late.append(True)
        _kill_group(process)

    timer = Timer(timeout, stop)
    timer.daemon = True
    timer.start()
    try:
        _, status, used = os.wait4(process, 0)
    finally:
        timer.cancel()
    return None if late else (status, used)


def _kill_group(process: int) -> None:
    """Kill all processes in the process group of a process, if there are any."""
    with suppress(ProcessLookupError, PermissionError):  # macOS refuses to signal a group of zombies
        os.killpg(process, signal.SIGKILL)


def last_lines(file: IO[bytes]) -> str:
    r"""Return the last lines of a file that a process has written, joined on one line.

    >>> import io
    >>> last_lines(io.BytesIO(b"one\ntwo\n\nthree\nfour"))
    'two | three | four'
    """
    file.seek(max(0, file.seek(0, os.SEEK_END) - _MOST_ERRORS))
    lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    return " | ".join([line for line in lines if line][-_LINES_OF_ERRORS:])
