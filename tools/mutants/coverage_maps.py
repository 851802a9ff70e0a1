"""Which test runs which line of the package, measured once per test file and kept in `.mutants/`.

A kept map stays in use while its test file and the helpers that it imports are unchanged. When a source file
has changed since, the tests of an unchanged line follow it to its new number, and new lines get the tests of
the lines that they replace or follow. Such a guess may miss a test that reaches a line in a new way, so that
a mutant may seem to survive, but it never makes a surviving mutant look killed.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import trial

Runner = Callable[..., None]  # `_run_in_parallel` of the tool
Lines = dict[str, list[str]]  # tests of each line number


class CoverageMaps(NamedTuple):
    """Coverage maps of test files below `root`, kept in a folder; `run` starts forked processes."""

    root: Path
    kept: Path
    run: Runner

    def measure(self, tests: Iterable[str], jobs: int) -> dict[str, Any]:
        """Return, for each test file, the lines and times of its tests, as `trial.reach` returns them."""
        self.kept.mkdir(exist_ok=True)
        maps: dict[str, Any] = {}
        missing: list[tuple[str, Path]] = []
        for file in test_files(self.root, tests):
            path = self.kept / f"{file.replace('/', '.').removesuffix('.py')}.json"
            stored = json.loads(path.read_text()) if path.exists() else {}
            if stored.get("tests") == self._digest(file):
                maps[file] = stored | {"lines": self._present_lines(stored)}
            else:
                missing.append((file, path))
        if missing:
            print(f"Running {len(missing)} test files once to see which lines they run ...", flush=True)

        def ended(item: tuple[str, Path], found: Any, _: float, folder: Path) -> None:
            file, path = item
            if found is None:
                print(f"  {file} could not be run:\n{(folder / 'log').read_text()[-2000:]}")
                found = {"seconds": {}, "failed": [], "lines": {}}
            else:
                found["tests"] = self._digest(file)
                found["sources"] = {source: self._keep(source) for source in found["lines"]}
                path.write_text(json.dumps(found))
            if found["failed"]:
                print(f"  not used, because they fail or are skipped here: {' '.join(found['failed'])}")
            maps[file] = found

        self.run(
            missing, lambda item: lambda folder: trial.reach(self.root, item[0], folder), ended, jobs, 1800.0
        )
        return maps

    def _digest(self, unit: str) -> str:
        """Return a checksum of a test file or folder of doctests, and of the helpers that it imports."""
        own = [self.root / unit] if unit.endswith(".py") else sorted((self.root / unit).glob("**/*.py"))
        helpers = {path.stem: path for path in sorted(self.root.glob("tests/**/*.py")) if _is_helper(path)}
        files, waiting = set(self.root.glob("tests/**/conftest.py")), own
        while waiting:
            path = waiting.pop()
            files.add(path)
            imported = _imported_names(path) if path.is_relative_to(self.root / "tests") else set()
            waiting += [helpers[name] for name in imported & set(helpers) if helpers[name] not in files]
        digest = hashlib.sha256((self.root / "pyproject.toml").read_bytes())
        for path in sorted(files):
            digest.update(f"{path.relative_to(self.root)}\n{path.read_text()}\n".encode())
        return digest.hexdigest()

    def _keep(self, source: str) -> str:
        """Keep the present text of a source file and return the name under which it is kept."""
        text = (self.root / source).read_bytes()
        name = hashlib.sha256(text).hexdigest()
        copy = self.kept / "sources" / name
        if not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(text)
        return name

    def _present_lines(self, stored: dict[str, Any]) -> dict[str, Lines]:
        """Return the lines of a stored map with the line numbers of the sources as they are now."""
        found = {}
        for source, lines in stored["lines"].items():
            path, name = self.root / source, stored["sources"][source]
            if not path.exists():
                continue
            new = path.read_bytes()
            if hashlib.sha256(new).hexdigest() != name:
                old = (self.kept / "sources" / name).read_text()
                lines = _moved_lines(lines, old.splitlines(), new.decode().splitlines())
            found[source] = lines
        return found


def test_files(root: Path, tests: Iterable[str]) -> list[str]:
    """Return the units of test runs: test files, and folders of sources with doctests."""
    found = set()
    for test in tests:
        if test.startswith("tests") and (root / test).is_dir():
            found |= {str(path.relative_to(root)) for path in (root / test).glob("test_*.py")}
        elif (root / test).exists():
            found.add(test)
    return sorted(found)


def _is_helper(path: Path) -> bool:
    return not path.name.startswith("test_") and path.name != "conftest.py"


def _imported_names(path: Path) -> set[str]:
    """Return the last parts of the names of modules that a file imports anywhere."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.rpartition(".")[2] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {(node.module or "").rpartition(".")[2], *(alias.name for alias in node.names)}
    return names


def _moved_lines(lines: Lines, old: list[str], new: list[str]) -> Lines:
    """Return the tests of the lines of a new text, given the tests of the lines of the old text."""
    found: dict[str, list[str]] = {}
    for kind, first, end, new_first, new_end in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            pairs = zip(range(first + 1, end + 1), range(new_first + 1, new_end + 1), strict=True)
            found |= {str(b): lines[str(a)] for a, b in pairs if str(a) in lines}
        else:
            near = range(first, max(end, first + 1) + 1)  # with the line before, which inserted lines follow
            tests = sorted({test for number in near for test in lines.get(str(number), [])})
            if tests or any(str(number) in lines for number in near):
                found |= {str(number): tests for number in range(new_first + 1, new_end + 1)}
    return found
