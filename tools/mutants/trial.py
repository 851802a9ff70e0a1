"""Test runs in forked processes, to measure which lines each test runs, or to test a mutant.

The parent process has imported all heavy libraries and nothing of the package. A run therefore costs its
tests and no start-up. Files are never changed: an import hook in the child compiles the changed syntax tree
instead.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.util
import io
import json
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import mutations

SLOW = 15.0  # seconds; slower tests are not used
KILLED_BY_CLOCK = 77
MEMORY = 12 << 30


def prepare(root: Path, heavy: list[str]) -> None:
    """Import what every run needs, before the first fork."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    os.environ["PYTHONPATH"] = str(root / "src")
    sys.path.insert(0, str(root / "src"))
    sys.dont_write_bytecode = False
    for name in heavy:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main(["--version"])  # imports the plug-ins of pytest


def fork(work: Callable[[Path], Any]) -> tuple[int, Path]:
    """Run `work` in a forked process; `answer` reads its result after it has ended."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child, folder
    try:
        os.setpgid(0, 0)  # a process group of its own, so that its children can be killed with it
        with open(folder / "log", "w") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        (folder / "answer").write_text(json.dumps(work(folder)))
    except BaseException:
        (folder / "error").write_text(traceback.format_exc())
    finally:
        sys.stdout.flush()
        os._exit(0)


def answer(folder: Path) -> Any:
    """Return the result of a forked process, or None if it crashed or was killed."""
    if (folder / "error").exists():  # an error of this tool, not of a test
        raise RuntimeError((folder / "error").read_text())
    with contextlib.suppress(OSError, ValueError):
        return json.loads((folder / "answer").read_text())
    return None


def reach(root: Path, tests: str, folder: Path) -> dict[str, Any]:
    """Run the tests of one file or folder unchanged and return their times, failures and covered lines."""
    import coverage

    cover = coverage.Coverage(data_file=str(folder / "data"), include=[f"{root}/src/*"], config_file=False)
    watch = _CoverageRecorder(cover)
    _leave_out_compiling(watch)
    cover.start()
    pytest.main(_options(root, folder, [tests]), plugins=[watch])
    cover.stop()
    lines: dict[str, dict[int, list[str]]] = {}
    data = cover.get_data()
    for file in data.measured_files():
        covered = {
            line: [w for w in contexts if w] for line, contexts in data.contexts_by_lineno(file).items()
        }
        lines[str(Path(file).relative_to(root))] = covered
    return {"seconds": watch.seconds, "failed": watch.failed, "lines": lines}


def trial(
    root: Path, mutant: mutations.Mutant, stages: list[dict[str, float]], patience: float, folder: Path
) -> dict[str, Any]:
    """Run tests against one mutant until one fails.

    Parameters
    ----------
    stages : for each stage, the tests to run (by node id) and their seconds without the mutant.
    patience : a test may take ten times as long, and this many seconds more.

    Returns
    -------
    dict
        The test that failed, or None, as `by`, and the number of tests that were run, as `played`.
    """
    source = (root / mutant.file).read_text()
    code = compile(mutations.apply_mutant(source, mutant.number), str(root / mutant.file), "exec")
    name = ".".join(Path(mutant.file).relative_to("src").with_suffix("").parts).removesuffix(".__init__")
    changed = _MutantImporter(name, code)
    sys.meta_path.insert(0, changed)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    _skip_what_would_compile()
    played = 0
    for number, tests in enumerate(stages):
        if not tests:
            continue
        chosen = _SelectedTests(tests, patience, folder, changed)
        files = sorted({test.split("::")[0] for test in tests})
        inner = folder / str(number)
        inner.mkdir()
        result = pytest.main([*_options(root, inner, files), "-x", "-p", "no:logging"], plugins=[chosen])
        played += chosen.played
        if result not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            return {"by": chosen.failed or "(cannot be imported)", "played": played}
    return {"by": None, "played": played}


def _options(root: Path, folder: Path, files: list[str]) -> list[str]:
    import hypothesis

    os.chdir(root)
    hypothesis.settings.register_profile("trial", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("trial")
    plain = ["-q", "-p", "no:cacheprovider", "-p", "no:cov", "-p", "no:xdist", "--no-header", "--tb=no"]
    plain += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # because plug-ins are imported already
    return [*plain, f"--basetemp={folder / 'tmp'}", *files]


class _MutantImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Import hook that executes one module from compiled code of a changed syntax tree."""

    def __init__(self, name: str, code: CodeType) -> None:
        self._name, self._code = name, code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self._name:
            return None
        file = self._code.co_filename
        inner = [str(Path(file).parent)] if Path(file).name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, file, loader=self, submodule_search_locations=inner
        )

    def exec_module(self, module: Any) -> None:
        exec(self._code, module.__dict__)


def _skip_what_would_compile() -> None:
    """Skip tests that would compile a program, because the compiler takes many seconds."""
    with contextlib.suppress(ImportError):
        dispatcher: Any = importlib.import_module("numba.core.dispatcher")

        def skip(*_: Any, **__: Any) -> None:
            pytest.skip("would compile")

        dispatcher._FunctionCompiler.compile = skip


def _leave_out_compiling(watch: _CoverageRecorder) -> None:
    """Do not count the time in which numba compiles, because the next run loads the program from disk."""
    with contextlib.suppress(ImportError):
        dispatcher: Any = importlib.import_module("numba.core.dispatcher")
        compiling = dispatcher._FunctionCompiler.compile
        depth = [0]  # compiling a kernel compiles the kernels that it calls

        def uncounted(*arguments: Any) -> Any:
            if depth[0]:
                return compiling(*arguments)
            depth[0], started = 1, time.process_time()
            left, _ = signal.setitimer(signal.ITIMER_PROF, 0.0)
            try:
                return compiling(*arguments)
            finally:
                depth[0] = 0
                watch.compiled += time.process_time() - started
                signal.setitimer(signal.ITIMER_PROF, left)

        dispatcher._FunctionCompiler.compile = uncounted


class _CoverageRecorder:
    """Pytest plug-in that records the time, failure and covered lines of each test."""

    def __init__(self, cover: Any) -> None:
        self._cover = cover
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.compiled = 0.0  # seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        def too_long(*_: Any) -> None:
            pytest.skip("slow")

        started = time.process_time() - self.compiled
        signal.signal(signal.SIGPROF, too_long)
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self.seconds[item.nodeid] = round(time.process_time() - self.compiled - started, 4)
            self._cover.switch_context("")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Iterator[None]:
        self._cover.switch_context("setup " + item.nodeid)
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        self._cover.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:  # a skipped test cannot kill a mutant
            self.failed.append(report.nodeid)


class _SelectedTests:
    """Pytest plug-in that runs the selected tests, quickest first, and exits when one takes far too long."""

    def __init__(
        self, tests: dict[str, float], patience: float, folder: Path, changed: _MutantImporter
    ) -> None:
        self._tests, self._patience, self._folder, self._changed = tests, patience, folder, changed
        self.failed: str | None = None
        self.played = 0

    def pytest_sessionstart(self) -> None:
        """Put the import hook before pytest's own, which reads files with doctests unchanged from disk."""
        sys.meta_path.remove(self._changed)
        sys.meta_path.insert(0, self._changed)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = {item.nodeid: item for item in items if item.nodeid in self._tests}
        items[:] = sorted(kept.values(), key=lambda item: (_fixture_group(item), self._tests[item.nodeid]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        def too_long(*_: Any) -> None:
            (self._folder / "answer").write_text(
                json.dumps({"by": f"{item.nodeid} (time)", "played": self.played})
            )
            os._exit(KILLED_BY_CLOCK)

        self.played += 1
        signal.signal(signal.SIGPROF, too_long)  # counts processor time, which a busy machine does not change
        signal.setitimer(signal.ITIMER_PROF, self._patience + 10.0 * self._tests[item.nodeid])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _fixture_group(item: Any) -> str:
    """Return a sort key that keeps tests with shared fixtures together: the path of their file, or empty."""
    for definitions in item._fixtureinfo.name2fixturedefs.values() if hasattr(item, "_fixtureinfo") else ():
        if definitions[-1].scope in ("module", "class") and not definitions[-1].argname.startswith("_"):
            return str(item.path)
    return ""
