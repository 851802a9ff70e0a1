"""Empty environments: install a built package with one extra, run a smoke test, and report the results."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SMOKE = Path(__file__).parent / "smoke.py"
SECONDS = 300.0  # time limit of a smoke test


class EnvironmentResult(NamedTuple):
    """Result of the smoke test in one environment.

    Attributes
    ----------
    python : version of Python.
    what : the extra, `none`, or `sdist`, which is installed without extras and built during the installation.
    seconds : duration of the smoke test.
    fault : the error; empty if there was none.
    """

    python: str
    what: str
    seconds: float
    fault: str


def pip(python: Path, *words: str | Path) -> str:
    """Run this environment's pip for another Python; return the last line of its error, empty on success."""
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    said = (done.stderr or done.stdout).strip().splitlines()
    return (said[-1] if said else "pip failed") if done.returncode else ""


def gather(python: Path, wheel: Path, extras: Sequence[str], folder: Path) -> str:
    """Download the newest versions of all packages that the extras and the sdist need, into a folder.

    Environments are then installed from this folder, so that nothing is downloaded twice.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    return pip(python, "download", "--quiet", "--find-links", folder, "--dest", folder, wanted, "hatchling")


def make(python: Path, folder: Path) -> Path:
    """Make an empty environment, without pip, and return its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


def install(python: Path, wanted: str, wheels: Path) -> str:
    """Install a package from a folder of wheels only; return the error, empty on success."""
    return pip(python, "install", "--quiet", "--no-compile", "--no-index", "--find-links", wheels, wanted)


def smoke(python: Path, extras: Sequence[str]) -> str:
    """Run the smoke test without this process's environment variables; return the error, empty on success."""
    home = python.parent.parent
    around = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8", "NUMBA_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [python, "-I", SMOKE, *extras],
            cwd=home, env=around, capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS:.0f} s"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it crashed"])[-1]


def try_one(
    version: str, python: Path, what: str, package: Path, wheels: Path, folder: Path
) -> EnvironmentResult:
    """Install a package with one extra, or none, into an empty environment and run the smoke test there."""
    extras = [] if what in ("none", "sdist") else [what]
    inside = make(python, folder / f"{version}-{what}")
    fault = install(inside, f"{package}[{what}]" if extras else str(package), wheels)
    start = time.perf_counter()
    fault = fault or smoke(inside, extras)
    tried = EnvironmentResult(version, what, time.perf_counter() - start, fault)
    shutil.rmtree(inside.parent.parent)
    return tried


def table(tried: Sequence[EnvironmentResult], missing: Sequence[str]) -> str:
    """Return the results as a Markdown table with a row for each extra and a column for each Python.

    >>> results = [("3.11", "none", 1.25, ""), ("3.11", "lab", 0.0, "no numba")]
    >>> print(table([EnvironmentResult(*result) for result in results], ["3.14"]))
    | | 3.11 | 3.14 |
    |---|---|---|
    | none | passed, 1.2 s | not found |
    | lab | failed: no numba | not found |
    """
    versions = list(dict.fromkeys(each.python for each in tried))
    cells = {
        (each.what, each.python): f"failed: {each.fault}" if each.fault else f"passed, {each.seconds:.1f} s"
        for each in tried
    }
    lines = [["", *versions, *missing], ["---"] * (1 + len(versions) + len(missing))]
    for what in dict.fromkeys(each.what for each in tried):
        row = [cells.get((what, version), "not tested") for version in versions]
        lines.append([what, *row, *["not found"] * len(missing)])
    head, rule, *rows = lines
    return "\n".join(
        [
            "| " + " | ".join(head).lstrip() + " |",
            f"|{'|'.join(rule)}|",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    )
