"""Mutation tester: change the code at one place at a time and run the tests: `python tools/mutants`.

For each mutant, the tests that run the changed line are executed, the quickest first. A test that fails or
runs too long kills the mutant. Mutants first face the nearest tests of their package, and only those that
survive face the others, so that the others are often not needed. Exit code: 0 if at most 5 % of the mutants
survive and each survivor has an entry in `equivalent.toml`, otherwise 1.
"""

from __future__ import annotations

import argparse
import fnmatch
import itertools
import os
import shutil
import signal
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import mutations
import trial
from coverage_maps import CoverageMaps, test_files
from mutations import Mutant

ALLOWED = 0.05
LEAST = 8  # smallest number of mutants of a package

Results = dict[Mutant, dict[str, Any]]  # the test that killed each mutant, or None, as `by`; its `tests`


def main() -> int:
    """Parse the options, sample mutants, run the tests against them, and print a report."""
    options = _options()
    root: Path = options.root.resolve()
    packages = tomllib.loads(options.targets.read_text())
    heavy = packages.pop("heavy", [])
    mutants_by_package = {
        package: _mutants(root, table["files"], options.seed) for package, table in packages.items()
    }
    if gone := [test for table in packages.values() for test in table["tests"] if not (root / test).exists()]:
        sys.exit(f"{options.targets.name} names tests that do not exist: {', '.join(gone)}")
    if empty := [package for package, found in mutants_by_package.items() if not found]:
        sys.exit(f"{options.targets.name} names files that do not exist: {', '.join(empty)}")
    chosen = list(_sample(mutants_by_package, options))
    if options.list:
        for mutant in chosen:
            print(_line(mutant))
        print(f"{len(chosen)} of {sum(map(len, mutants_by_package.values()))} mutants")
        return 0
    with _copy_of_repository(root) as copy:
        return _test_mutants(root, copy, heavy, packages, mutants_by_package, chosen, options)


def _test_mutants(
    root: Path,
    copy: Path,
    heavy: list[str],
    packages: dict[str, Any],
    mutants_by_package: dict[str, list[Mutant]],
    chosen: list[Mutant],
    options: argparse.Namespace,
) -> int:
    started = time.monotonic()
    trial.prepare(copy, heavy)
    package_of_file = {m.file: package for package, found in mutants_by_package.items() for m in found}
    tests = {package: table["tests"] for package, table in packages.items()}
    maps = CoverageMaps(copy, root / ".mutants", _run_in_parallel)
    results: Results = {}
    for deeper in (False, True):
        left = [m for m in chosen if m not in results or results[m]["by"] is None]
        if left and not (deeper and options.near):
            if deeper:
                print(f"The other tests of {len(left)} mutants:", flush=True)
                units = {package: tests[package] for package in {package_of_file[m.file] for m in left}}
            else:
                units = {package: tests[package][:2] for package in {package_of_file[m.file] for m in left}}
            found = maps.measure({unit for some in units.values() for unit in some}, options.jobs)
            _run_mutants(copy, left, units, package_of_file, found, options, results)
    known = [
        e for e in _equivalents(options.equivalent) if not options.files or _matches(e["file"], options.files)
    ]
    return _report(
        mutants_by_package, results, package_of_file, known, time.monotonic() - started, bool(options.only)
    )


def _options() -> argparse.Namespace:
    here = Path(__file__).parent
    parser = argparse.ArgumentParser(prog="python tools/mutants", description=__doc__.split("\n")[0])
    parser.add_argument("--files", nargs="+", default=[], help="only files such as stats/* solve.py")
    parser.add_argument("--count", type=int, default=600, help="number of mutants (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="ID", help="test only these mutants, as --list names them"
    )
    parser.add_argument("--list", action="store_true", help="list the mutants without testing them")
    parser.add_argument(
        "--near",
        action="store_true",
        help="run only the first two entries of the tests of each package: more survive",
    )
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument(
        "--timeout", type=float, default=300.0, help="seconds after which a mutant that hangs is killed"
    )
    parser.add_argument("--patience", type=float, default=10.0, help="extra seconds for each test")
    parser.add_argument(
        "--limit", type=float, default=40.0, help="seconds of tests to run against a mutant at most"
    )
    parser.add_argument("--root", type=Path, default=here.parent.parent)
    parser.add_argument("--targets", type=Path, default=here / "targets.toml")
    parser.add_argument("--equivalent", type=Path, default=here / "equivalent.toml")
    return parser.parse_args()


def _mutants(root: Path, files: list[str], seed: int) -> list[Mutant]:
    paths = sorted(path for pattern in files for path in root.glob(pattern))
    return [
        m for path in paths for m in mutations.mutants(path.read_text(), str(path.relative_to(root)), seed)
    ]


def _sample(mutants_by_package: dict[str, list[Mutant]], options: argparse.Namespace) -> Iterator[Mutant]:
    """Yield a sample of every package, proportional to its number of mutants and at least `LEAST` each."""
    if options.only:
        yield from (m for found in mutants_by_package.values() for m in found if m.id in options.only)
        return
    if options.files:
        mutants_by_package = {
            name: [m for m in found if _matches(m.file, options.files)]
            for name, found in mutants_by_package.items()
        }
    total = sum(map(len, mutants_by_package.values()))
    share = min(1.0, options.count / max(1, total)) if options.count else 1.0
    for found in mutants_by_package.values():
        sample = sorted(found, key=lambda m: m.rank)[: max(LEAST, round(share * len(found)))]
        yield from sorted(sample, key=lambda m: (m.file, m.number))


def _matches(file: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatch(file, p) or fnmatch.fnmatch(file, f"*/{p}") for p in patterns)


@contextmanager
def _copy_of_repository(root: Path) -> Iterator[Path]:
    """Copy the repository, so that it may be edited while the tests run; yield the copy."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "reproduction", "scratch")
        shutil.copytree(root, Path(folder) / "copy", ignore=ignored)
        yield Path(folder) / "copy"


def _stages(
    root: Path, mutant: Mutant, tests: list[str], maps: dict[str, Any], limit: float
) -> list[dict[str, float]]:
    """Return the tests to run in stages: tests of the line by closeness, then other tests of the file.

    A line that runs only on import belongs to no test. Tests that import the file are then the last stage.
    """
    stages: list[dict[str, float]] = []
    touching: dict[str, float] = {}
    importing: dict[str, float] = {}
    for unit in tests:
        stage: dict[str, float] = {}
        for file in test_files(root, [unit]):
            found = maps[file]
            lines = found["lines"].get(mutant.file, {})
            usable = {t: s for t, s in found["seconds"].items() if t not in found["failed"]}
            contexts = {w for n in range(mutant.line, mutant.last + 1) for w in lines.get(str(n), [])}
            if any(
                w.startswith("setup ") for w in contexts
            ):  # a fixture that other tests of the file may share
                stage |= usable
            stage |= {t: usable[t] for t in contexts if t in usable}
            anywhere = {w.removeprefix("setup ") for ws in lines.values() for w in ws}
            touching |= {t: usable[t] for t in anywhere if t in usable}
            if mutant.file in found["lines"] and not contexts:
                importing |= usable
        stages.append(stage)
    done = {t for stage in stages for t in stage}
    stages.append({t: s for t, s in touching.items() if t not in done})
    if not done:
        stages.append({t: s for t, s in importing.items() if t not in touching})
    return list(_within_limit(stages, limit))


def _within_limit(stages: list[dict[str, float]], limit: float) -> Iterator[dict[str, float]]:
    spent = 0.0
    for stage in stages:
        kept = {}
        for test, seconds in sorted(stage.items(), key=lambda pair: pair[1]):
            if spent + seconds > limit:
                break
            spent += seconds
            kept[test] = seconds
        yield kept


def _run_mutants(
    root: Path,
    chosen: list[Mutant],
    tests: dict[str, list[str]],
    package_of_file: dict[str, str],
    maps: dict[str, Any],
    options: argparse.Namespace,
    results: Results,
) -> None:
    """Run the tests of the lines of mutants and store in `results` which test killed each of them.

    Tests that an earlier call has run against a mutant are not run again.
    """
    number = itertools.count(1)
    planned: dict[Mutant, set[str]] = {}

    def begin(mutant: Mutant) -> Callable[[Path], Any]:
        done = results[mutant]["tests"] if mutant in results else set()
        stages = _stages(root, mutant, tests[package_of_file[mutant.file]], maps, options.limit)
        planned[mutant] = done.union(*stages)
        stages = [{t: s for t, s in stage.items() if t not in done} for stage in stages]
        return lambda folder: trial.trial(root, mutant, stages, options.patience, folder)

    def ended(mutant: Mutant, found: Any, seconds: float, _: Path) -> None:
        results[mutant] = (found or {"by": "(crash or time)", "played": 0}) | {"tests": planned[mutant]}
        by = results[mutant]["by"]
        after = f"survived {len(planned[mutant])} tests" if by is None else f"killed by {by}"
        print(f"{next(number):4}/{len(chosen)} {seconds:5.1f} s  {_line(mutant)}\n{'':16}{after}", flush=True)

    _run_in_parallel(chosen, begin, ended, options.jobs, options.timeout)


def _run_in_parallel(
    items: Iterable[Any],
    begin: Callable[[Any], Callable[[Path], Any]],
    ended: Callable[[Any, Any, float, Path], None],
    jobs: int,
    timeout: float,
) -> None:
    """Fork a process for each item, `jobs` at a time; pass on the answers, and kill late processes."""
    waiting, running = list(items)[::-1], {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                item = waiting.pop()
                child, folder = trial.fork(begin(item))
                running[child] = item, folder, time.monotonic()
            exited = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            child = exited.si_pid if exited else 0
            late = [c for c, (_, _, started) in running.items() if time.monotonic() - started > timeout]
            if child:
                _end_group(child)  # before the process number can be reused
                os.waitpid(child, 0)
            if child in running:
                item, folder, started = running.pop(child)
                ended(item, trial.answer(folder), time.monotonic() - started, folder)
                shutil.rmtree(folder, ignore_errors=True)
            elif late:
                for one in late:
                    _end_group(one)
                time.sleep(0.2)
            else:
                time.sleep(0.02)
    finally:
        for child in running:
            _end_group(child)


def _end_group(child: int) -> None:
    """Kill a child process and all processes it started."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _equivalents(path: Path) -> list[dict[str, str]]:
    return tomllib.loads(path.read_text()).get("mutant", []) if path.exists() else []


def _report(
    mutants_by_package: dict[str, list[Mutant]],
    results: Results,
    package_of_file: dict[str, str],
    known: list[dict[str, str]],
    seconds: float,
    partial: bool,
) -> int:
    explained = {(e["file"], e["line"], e["change"]): e["why"] for e in known}
    alive = [m for m in results if results[m]["by"] is None]
    unexplained = [m for m in alive if _key(m) not in explained]
    print("\nSurvived:" if alive else "\nNone survived.")
    for m in alive:
        print(
            f"  {_line(m)}" + (f"\n{'':11}equivalent: {explained[_key(m)]}" if _key(m) in explained else "")
        )
    there = {_key(m) for found in mutants_by_package.values() for m in found}
    killed = {_key(m) for m in results if results[m]["by"] is not None}
    wrong = 0
    for key in explained:
        if key not in there and not partial:
            wrong += 1
            print(f"  listed as equivalent, but no longer in the code: {' | '.join(key)}")
        elif key in killed and key not in {_key(m) for m in alive}:
            wrong += 1
            print(f"  listed as equivalent, but killed: {' | '.join(key)}")
    print(f"\n{'package':12}{'mutants':>8}{'survived':>9}{'explained':>10}")
    for package in mutants_by_package:
        sampled = [m for m in results if package_of_file[m.file] == package]
        left = [m for m in sampled if m in alive]
        explained_count = sum(m not in unexplained for m in left)
        if sampled:
            print(f"{package:12}{len(sampled):8}{len(left):9}{explained_count:10}")
    rate = len(unexplained) / max(1, len(results))
    print(
        f"\n{len(results)} mutants, {len(results) - len(alive)} killed, {len(alive)} survived "
        f"({len(alive) / max(1, len(results)):.1%}), {len(unexplained)} of them unexplained ({rate:.1%}), "
        f"in {seconds:.0f} s"
    )
    too_many = len(alive) > ALLOWED * len(results) and not partial
    return int(too_many or bool(unexplained) or wrong > 0)


def _key(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.file, mutant.text, f"{mutant.before} -> {mutant.after}"


def _line(m: Mutant) -> str:
    return f"{m.id} {m.file}:{m.line}  {m.before}  ->  {m.after}"


if __name__ == "__main__":
    sys.exit(main())
