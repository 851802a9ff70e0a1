"""Tests played in a forked process: as they are, to see which lines each runs, or against a changed module.

The parent has imported everything heavy and nothing of the package, so a trial costs its tests and no
start-up. The files are never touched: the child's importer compiles the changed tree instead.
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

SLOW = 15.0  # seconds; a test that takes longer is not used
KILLED_BY_CLOCK = 77
MEMORY = 12 << 30


def prepare(root: Path, heavy: list[str]) -> None:
    """Import what every trial needs, before the first fork."""
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    os.environ["PYTHONPATH"] = str(root / "src")
    sys.path.insert(0, str(root / "src"))
    sys.dont_write_bytecode = False
    for name in heavy:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        pytest.main(["--version"])  # imports its plug-ins


def fork(work: Callable[[Path], Any]) -> tuple[int, Path]:
    """Begin `work` in a forked process; what it returns is read by `answer` after its end."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child:
        return child, folder
    try:
        os.setpgid(0, 0)  # so that what it starts can be ended with it
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
    """Return what a forked process said, or None if it crashed or was ended."""
    if (folder / "error").exists():  # ours, not a test's
        raise RuntimeError((folder / "error").read_text())
    with contextlib.suppress(OSError, ValueError):
        return json.loads((folder / "answer").read_text())
    return None


def reach(root: Path, tests: str, folder: Path) -> dict[str, Any]:
    """Play the tests of one file or folder as they are: how long each takes, and which lines it runs."""
    import coverage

    cover = coverage.Coverage(data_file=str(folder / "data"), include=[f"{root}/src/*"], config_file=False)
    watch = _Watch(cover)
    _leave_out_compiling(watch)
    cover.start()
    pytest.main(_options(root, folder, [tests]), plugins=[watch])
    cover.stop()
    lines: dict[str, dict[int, list[str]]] = {}
    data = cover.get_data()
    for file in data.measured_files():
        here = {line: [w for w in who if w] for line, who in data.contexts_by_lineno(file).items()}
        lines[str(Path(file).relative_to(root))] = here
    return {"seconds": watch.seconds, "failed": watch.failed, "lines": lines}


def trial(
    root: Path, mutant: mutations.Mutant, stages: list[dict[str, float]], patience: float, folder: Path
) -> dict[str, Any]:
    """Play tests against one mutant until one fails.

    Parameters
    ----------
    stages : for each, the tests to play (by node id) and the seconds each takes without the mutant.
    patience : a test may take ten times as long, and this many seconds more.

    Returns
    -------
    dict
        The test that failed, or None; how many were played.
    """
    source = (root / mutant.file).read_text()
    code = compile(mutations.mutated(source, mutant.number), str(root / mutant.file), "exec")
    name = ".".join(Path(mutant.file).relative_to("src").with_suffix("").parts).removesuffix(".__init__")
    changed = _Changed(name, code)
    sys.meta_path.insert(0, changed)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    _skip_what_would_compile()
    played = 0
    for number, tests in enumerate(stages):
        if not tests:
            continue
        chosen = _Chosen(tests, patience, folder, changed)
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
    plain += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # plug-ins are imported already
    return [*plain, f"--basetemp={folder / 'tmp'}", *files]


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a syntax tree that was changed."""

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
    """Let a test that needs a program that is not on disk be skipped: a compiler takes many seconds."""
    with contextlib.suppress(ImportError):
        dispatcher: Any = importlib.import_module("numba.core.dispatcher")

        def skip(*_: Any, **__: Any) -> None:
            pytest.skip("would compile")

        dispatcher._FunctionCompiler.compile = skip


def _leave_out_compiling(watch: _Watch) -> None:
    """Stop the clock while numba compiles: what is on disk the next time says nothing of a test."""
    with contextlib.suppress(ImportError):
        dispatcher: Any = importlib.import_module("numba.core.dispatcher")
        compiling = dispatcher._FunctionCompiler.compile
        depth = [0]  # a kernel is compiled while its caller is

        def unclocked(*arguments: Any) -> Any:
            if depth[0]:
                return compiling(*arguments)
            depth[0], begun = 1, time.process_time()
            left, _ = signal.setitimer(signal.ITIMER_PROF, 0.0)
            try:
                return compiling(*arguments)
            finally:
                depth[0] = 0
                watch.compiled += time.process_time() - begun
                signal.setitimer(signal.ITIMER_PROF, left)

        dispatcher._FunctionCompiler.compile = unclocked


class _Watch:
    """Notes how long a test takes, whether it fails and, through coverage, where it was."""

    def __init__(self, cover: Any) -> None:
        self._cover = cover
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.compiled = 0.0  # seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        def too_long(*_: Any) -> None:
            pytest.skip("slow")

        begun = time.process_time() - self.compiled
        signal.signal(signal.SIGPROF, too_long)
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self.seconds[item.nodeid] = round(time.process_time() - self.compiled - begun, 4)
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
        if not report.passed:  # a skipped test is of no use either
            self.failed.append(report.nodeid)


class _Chosen:
    """Keeps the chosen tests, the quickest first, and ends the process when one takes far too long."""

    def __init__(self, tests: dict[str, float], patience: float, folder: Path, changed: _Changed) -> None:
        self._tests, self._patience, self._folder, self._changed = tests, patience, folder, changed
        self.failed: str | None = None
        self.played = 0

    def pytest_sessionstart(self) -> None:
        """Put the changed module before pytest's own finder, which reads files with doctests as they are."""
        sys.meta_path.remove(self._changed)
        sys.meta_path.insert(0, self._changed)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = {item.nodeid: item for item in items if item.nodeid in self._tests}
        items[:] = sorted(kept.values(), key=lambda item: (_shares(item), self._tests[item.nodeid]))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        def too_long(*_: Any) -> None:
            (self._folder / "answer").write_text(
                json.dumps({"by": f"{item.nodeid} (time)", "played": self.played})
            )
            os._exit(KILLED_BY_CLOCK)

        self.played += 1
        signal.signal(signal.SIGPROF, too_long)  # of this process's own time, however busy the machine is
        signal.setitimer(signal.ITIMER_PROF, self._patience + 10.0 * self._tests[item.nodeid])
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid


def _shares(item: Any) -> str:
    """Return what a test shares with others of its file, so that these stay together; most share nothing."""
    for definitions in item._fixtureinfo.name2fixturedefs.values() if hasattr(item, "_fixtureinfo") else ():
        if definitions[-1].scope in ("module", "class") and not definitions[-1].argname.startswith("_"):
            return str(item.path)
    return ""
