"""The licences of all that comes with tideproof: `python tools/release/licences.py [WHEEL ...]`.

They are asked themselves, by their metadata: those of the wheels named, or else what is installed here. What
comes with several extras stands where it comes first.
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

What `pip install` brings besides tideproof, which is under the MIT licence, and under which licence each
package says it is. Extras add to what comes with none; what several bring stands at the first of them. Made
by `make release` from the metadata of the packages, for the newest Python it found. Ask a package itself
before you rely on it.
"""


def found(paths: Iterable[str | Path] | None = None) -> dict[str, Distribution]:
    """Return the packages of wheels, or those installed here, by their names."""
    given = distributions() if paths is None else distributions(path=[str(path) for path in paths])
    return {canonicalize_name(each.name): each for each in given}


def groups() -> dict[str, list[str]]:
    """Return what pyproject.toml asks for: with no extra, and with each."""
    return {NONE: PROJECT["dependencies"], **PROJECT["optional-dependencies"]}


def closure(wanted: Iterable[str], known: Mapping[str, Distribution], python: str) -> set[str]:
    """Return the names of all packages that requirements bring, tideproof's own extras left to themselves."""
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
    """Return what a package says of its licence, in a few words; empty if nothing."""
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
    """Return the first line of the file of its licence, which mostly names it."""
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
    """Return all packages with their licences, in Markdown."""
    lines = [HEAD, "| with | package | version | licence |", "|---|---|---|---|"]
    listed: set[str] = set()
    for group, wanted in groups().items():
        for name in sorted(closure(wanted, known, python) - listed):
            listed.add(name)
            package = known.get(name)
            said = licence(package) if package else ""
            lines.append(
                f"| {group} | {name} | {package.version if package else 'not here'} | {said or 'not said'} |"
            )
    return "\n".join(lines) + "\n"


def main(paths: list[str]) -> None:
    """Print the page."""
    python = f"{sys.version_info[0]}.{sys.version_info[1]}"
    print(page(found(paths or None), python), end="")


if __name__ == "__main__":
    main(sys.argv[1:])
