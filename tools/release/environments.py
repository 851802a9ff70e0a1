"""Empty environments: what was built is installed into one for each Python and extra, and must work there."""

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
SECONDS = 300.0  # that a smoke test may take


class Tried(NamedTuple):
    """How one environment did.

    Attributes
    ----------
    python : its version.
    what : the extra, `none`, or `sdist`: that one has no extra and is built on the way.
    seconds : that the smoke test took.
    fault : what went wrong; empty if nothing did.
    """

    python: str
    what: str
    seconds: float
    fault: str


def pip(python: Path, *words: str | Path) -> str:
    """Run our pip for another Python; return its last complaint, empty if it did what it should."""
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True)
    said = (done.stderr or done.stdout).strip().splitlines()
    return (said[-1] if said else "pip failed") if done.returncode else ""


def gather(python: Path, wheel: Path, extras: Sequence[str], folder: Path) -> str:
    """Download all that the extras need, the newest there is, and what builds an sdist, into a folder.

    Whatever is installed then comes from there, so that nothing is fetched twice.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
    return pip(python, "download", "--quiet", "--find-links", folder, "--dest", folder, wanted, "hatchling")


def make(python: Path, folder: Path) -> Path:
    """Make an empty environment, without even pip; return its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin" / "python"


def install(python: Path, wanted: str, wheels: Path) -> str:
    """Install from a folder of wheels and from nowhere else; return what went wrong."""
    return pip(python, "install", "--quiet", "--no-compile", "--no-index", "--find-links", wheels, wanted)


def smoke(python: Path, extras: Sequence[str]) -> str:
    """Run the smoke test with nothing of this process around it; return what went wrong."""
    home = python.parent.parent
    around = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8", "NUMBA_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            [python, "-I", SMOKE, *extras],
            cwd=home, env=around, capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"took more than {SECONDS:.0f} s"
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it died"])[-1]


def try_one(version: str, python: Path, what: str, package: Path, wheels: Path, folder: Path) -> Tried:
    """Install a package with one extra, or none, into an empty environment and use it there."""
    extras = [] if what in ("none", "sdist") else [what]
    inside = make(python, folder / f"{version}-{what}")
    fault = install(inside, f"{package}[{what}]" if extras else str(package), wheels)
    start = time.perf_counter()
    fault = fault or smoke(inside, extras)
    tried = Tried(version, what, time.perf_counter() - start, fault)
    shutil.rmtree(inside.parent.parent)
    return tried


def table(tried: Sequence[Tried], missing: Sequence[str]) -> str:
    """Return who was green, in Markdown: a row for each extra, a column for each Python.

    >>> print(table([Tried("3.11", "none", 1.25, ""), Tried("3.11", "lab", 0.0, "no numba")], ["3.14"]))
    | | 3.11 | 3.14 |
    |---|---|---|
    | none | green, 1.2 s | not here |
    | lab | red: no numba | not here |
    """
    versions = list(dict.fromkeys(each.python for each in tried))
    cells = {
        (each.what, each.python): f"red: {each.fault}" if each.fault else f"green, {each.seconds:.1f} s"
        for each in tried
    }
    lines = [["", *versions, *missing], ["---"] * (1 + len(versions) + len(missing))]
    for what in dict.fromkeys(each.what for each in tried):
        row = [cells.get((what, version), "not tried") for version in versions]
        lines.append([what, *row, *["not here"] * len(missing)])
    head, rule, *rows = lines
    return "\n".join(
        [
            "| " + " | ".join(head).lstrip() + " |",
            f"|{'|'.join(rule)}|",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    )
