"""List the licences of all packages that come with tideproof: `python tools/release/licences.py [WHEEL ...]`.

Licences are read from the metadata of the named wheels or, without names, of the installed packages. A
package that comes with several extras is listed at the first of them.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NONE = "none"
HEAD = """# Licences

The packages that `pip install` adds to tideproof, which is under the MIT licence, and the licence that each
package states. Extras add packages to those of no extra. A package of several extras is listed at the first
of them. Made by `make release` from the metadata of the packages, for the newest Python it found. Check a
package itself before you rely on its licence.
"""


def found(paths: Iterable[str | Path] | None = None) -> dict[str, Distribution]:
    """Return the packages of wheels, or the installed ones, by name."""
    given = distributions() if paths is None else distributions(path=[str(path) for path in paths])
    return {canonicalize_name(each.name): each for each in given}


def groups() -> dict[str, list[str]]:
    """Return the requirements in pyproject.toml: those without an extra, and those of each extra."""
    return {NONE: PROJECT["dependencies"], **PROJECT["optional-dependencies"]}


def closure(wanted: Iterable[str], known: Mapping[str, Distribution], python: str) -> set[str]:
    """Return the names of all packages that requirements bring, without tideproof itself."""
    names: set[str] = set()
    seen: set[tuple[str, str]] = set()
    todo = [Requirement(each) for each in wanted]
    while todo:
        each = todo.pop()
        name = canonicalize_name(each.name)
        if name == "tideproof":
            continue
        names.add(name)
        for extra in ("", *each.extras):
            if (name, extra) in seen or name not in known:
                continue
            seen.add((name, extra))
            about = {"extra": extra, "python_version": python, "python_full_version": f"{python}.0"}
            lines = map(Requirement, known[name].requires or [])
            todo += [line for line in lines if line.marker is None or line.marker.evaluate(about)]
    return names


def licence(package: Distribution) -> str:
    """Return the licence that a package states, in a few words; empty if it states none."""
    about = package.metadata
    said, text = ((about.get_all(field) or [""])[0].strip() for field in ("License-Expression", "License"))
    named = [
        line.rsplit(" :: ", 1)[-1]
        for line in about.get_all("Classifier") or []
        if line.startswith("License :: ") and not line.endswith("OSI Approved")
    ]
    short = text if len(text) <= 60 and "\n" not in text and text != "UNKNOWN" else ""
    return said or short or ", ".join(named) or _first(package)


def _first(package: Distribution) -> str:
    """Return the first line of a package's licence file, which usually names the licence."""
    files = [
        each for each in package.files or [] if re.search(r"licen[cs]e|copying", each.name, re.IGNORECASE)
    ]
    for each in files:
        lines = (package.read_text(each.name) or each.read_text() or "").split("\n")
        said = next((line.strip() for line in lines if line.strip()), "")
        if said:
            return said
    return ""


def page(known: Mapping[str, Distribution], python: str) -> str:
    """Return the page of all packages with their licences, in Markdown."""
    lines = [HEAD, "| with | package | version | licence |", "|---|---|---|---|"]
    listed: set[str] = set()
    for group, wanted in groups().items():
        for name in sorted(closure(wanted, known, python) - listed):
            listed.add(name)
            package = known.get(name)
            said = licence(package) if package else ""
            version = package.version if package else "not found"
            lines.append(f"| {group} | {name} | {version} | {said or 'not stated'} |")
    return "\n".join(lines) + "\n"


def main(paths: list[str]) -> None:
    """Print the page of licences."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    print(page(found(paths or None), python), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
