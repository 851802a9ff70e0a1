"""Build and test a release: `python tools/release [--build] [--pythons 3.12 ...] [--extras none lab ...]`.

The script builds the sdist and, from it, the wheel into dist/, and checks the content of both. It installs
them into empty environments of every available Python, each extra in its own, and uses what was installed.
It lists licences and tests the image. `--build` stops after the packages are built. The results go into
dist/release.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import built
import environments
import image
import licences
import pythons

DIST = built.ROOT / "dist"
NO_IMAGE = "image: not tested, because Docker does not answer and its Python is not available or not selected"
WORK = built.ROOT / "build" / "release"


def main() -> None:
    """Build and test a release; exit with an error if anything fails."""
    every = ["sdist", "none", *built.PROJECT["optional-dependencies"]]
    read = argparse.ArgumentParser(prog="tools/release", description="Build and test a release.")
    read.add_argument("--build", action="store_true", help="build and check the packages, then stop")
    read.add_argument(
        "--pythons",
        nargs="*",
        default=[],
        choices=pythons.WANTED,
        metavar="VERSION",
        help="Python versions to test; by default all supported ones",
    )
    read.add_argument(
        "--extras",
        nargs="*",
        default=[],
        choices=every,
        metavar="EXTRA",
        help="extras to test (default: all)",
    )
    asked = read.parse_args()
    sdist, wheel = packages()
    if asked.build:
        return
    wanted = asked.pythons or pythons.WANTED
    here = pythons.find(wanted)
    missing = [version for version in wanted if version not in here]
    if not here:
        sys.exit(f"found none of the Pythons {', '.join(wanted)}")
    which = asked.extras or every
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # one thread for each Python
        columns = pool.map(lambda version: try_python(version, here[version], sdist, wheel, which), here)
        tried = [each for column in columns for each in column]
    bad = [f"{each.what} on Python {each.python}: {each.fault}" for each in tried if each.fault]
    said = environments.table(tried, missing)
    newest = list(here)[-1]
    if not asked.extras:
        write_licences(newest)
    how, fault = try_image(wheel, here)
    bad += [f"image: {fault}"] if fault else []
    lines = [
        f"tideproof {built.version()}",
        "",
        said,
        "",
        f"image, {how}: {fault or 'green'}" if how else NO_IMAGE,
    ]
    (DIST / "release.md").write_text("\n".join(lines) + "\n")
    print("\n".join(["", *lines]))
    for version in missing:
        print(f"Python {version} was not found and not tested")
    sys.exit("failed: " + "; ".join(bad) if bad else 0)


def packages() -> tuple[Path, Path]:
    """Build the sdist and the wheel and check their content; return their paths."""
    sdist, wheel = built.build(DIST)
    if faults := built.faults(sdist, wheel):
        sys.exit("\n".join(faults))
    for path in (sdist, wheel):
        print(f"{path.relative_to(built.ROOT)}, {path.stat().st_size:,} bytes")
    changed = subprocess.run(
        ["git", "status", "--porcelain"], cwd=built.ROOT, capture_output=True, text=True
    ).stdout
    if changed:
        print(f"not releasable yet: {len(changed.splitlines())} files are not committed")
    return sdist, wheel


def try_python(
    version: str, python: Path, sdist: Path, wheel: Path, which: list[str]
) -> list[environments.EnvironmentResult]:
    """Test the packages with one Python, in one environment for each extra."""
    wheels = WORK / "wheels" / version
    extras = [each for each in which if each not in ("sdist", "none")]
    print(f"Python {version}: downloading what the extras need", flush=True)
    if fault := environments.gather(python, wheel, extras, wheels):
        return [environments.EnvironmentResult(version, what, 0.0, fault) for what in which]
    tried = []
    for what in which:
        package = sdist if what == "sdist" else wheel
        tried.append(environments.try_one(version, python, what, package, wheels, WORK))
        print(f"Python {version}, {what}: {tried[-1].fault or 'green'}", flush=True)
    return tried


def write_licences(version: str) -> None:
    """Write docs/licences.md from the wheels that were downloaded for one Python."""
    wheels = [*(WORK / "wheels" / version).glob("*.whl")]
    text = licences.page(licences.found(wheels), version)
    (built.ROOT / "docs" / "licences.md").write_text(text)
    print(f"docs/licences.md, {text.count(chr(10) + '| ') - 1} packages")


def try_image(wheel: Path, here: dict[str, Path]) -> tuple[str, str]:
    """Return how the image was tested, empty if it could not be, and the error, empty if there was none."""
    if image.docker():
        return "built by Docker", image.build(f"tideproof:{built.version()}")
    if image.python() not in here:
        return "", ""
    return "its steps by hand, without Docker", image.by_hand(wheel, here[image.python()], WORK)


if __name__ == "__main__":
    main()
