"""Build of the sdist and of the wheel made from it, without a network, and checks of their content."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from pathlib import Path

from packaging.metadata import ExceptionGroup, Metadata

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INDEX = re.compile(r"https?://[\w.-]*(?:pypi|pythonhosted)|/simple\b")
BESIDE = {"CHANGELOG.md", "CITATION.cff", "LICENSE", "README.md", "constraints.txt", "pyproject.toml"}
MADE = {"PKG-INFO", ".gitignore"}  # files that hatchling adds


def version() -> str:
    """Return the version of the package from its source."""
    found = re.search(r'__version__ = "(.+)"', (ROOT / "src" / "tideproof" / "_version.py").read_text())
    assert found is not None
    return found[1]


def one(kind: str, source: Path, folder: Path) -> Path:
    """Build a wheel or an sdist of a source tree into a folder and return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    [made] = folder.glob("tideproof-*.whl" if kind == "wheel" else "tideproof-*.tar.gz")
    return made


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from it, into a folder without older packages; return both paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("tideproof-*.whl"), *folder.glob("tideproof-*.tar.gz")]:
        old.unlink()
    sdist = one("sdist", ROOT, folder.resolve())
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(sdist) as archive:
            archive.extractall(name, filter="data")
        return sdist, one("wheel", Path(name) / sdist.name.removesuffix(".tar.gz"), folder.resolve())


def sources() -> dict[str, bytes]:
    """Return the content of the package's files by their names in a wheel."""
    package = ROOT / "src" / "tideproof"
    files = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(package.parent).as_posix(): path.read_bytes() for path in files}


def files_of(path: Path) -> dict[str, bytes]:
    """Return the content of the files in a wheel or an sdist; names in an sdist are without its folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}
    with tarfile.open(path) as sdist:
        members = [each for each in sdist if each.isfile()]
        return {each.name.partition("/")[2]: sdist.extractfile(each).read() for each in members}  # type: ignore[union-attr]


def faults(sdist: Path, wheel: Path) -> list[str]:
    """Return a line for everything that is wrong with an sdist and a wheel."""
    found: list[str] = []
    packed, spread = files_of(sdist), files_of(wheel)
    about = f"tideproof-{version()}.dist-info/"
    inner = {name: data for name, data in spread.items() if not name.startswith(about)}
    wanted = sources()
    found += _differ("wheel", inner, wanted)
    beside = {name: (ROOT / name).read_bytes() for name in BESIDE}
    ours = {name: data for name, data in packed.items() if name not in MADE}
    found += _differ("sdist", ours, {f"src/{name}": data for name, data in wanted.items()} | beside)
    said = spread.get(f"{about}METADATA", b"").decode()
    if said != packed.get("PKG-INFO", b"").decode():
        found.append("the sdist and the wheel have different metadata")
    if b"tideproof = tideproof.cli:main" not in spread.get(f"{about}entry_points.txt", b""):
        found.append("the wheel has no command")
    if spread.get(f"{about}licenses/LICENSE") != (ROOT / "LICENSE").read_bytes():
        found.append("the wheel has no licence")
    return found + metadata_faults(said)


def metadata_faults(said: str) -> list[str]:
    """Return the errors in the metadata of a package, by the standard and by pyproject.toml."""
    try:
        Metadata.from_email(said, validate=True)
    except ExceptionGroup as group:
        return [f"metadata: {error}" for error in group.exceptions]
    fields = email.message_from_string(said)
    found = []
    for name, wanted in {
        "Name": "tideproof",
        "Version": version(),
        "Requires-Python": PROJECT["requires-python"],
        "License-Expression": PROJECT["license"],
        "Description-Content-Type": "text/markdown",
    }.items():
        if fields[name] != wanted:
            found.append(f"metadata: {name} is {fields[name]!r}, not {wanted!r}")
    if set(fields.get_all("Provides-Extra", [])) != set(PROJECT["optional-dependencies"]):
        found.append("metadata: the extras differ from those in pyproject.toml")
    if INDEX.search(said):
        found.append(f"metadata: contains the address of an index, {INDEX.search(said)[0]!r}")  # type: ignore[index]
    found += [
        f"metadata: {line} is an address" for line in fields.get_all("Requires-Dist", []) if " @ " in line
    ]
    return found


def _differ(what: str, held: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    found = []
    for name in sorted(held.keys() | wanted.keys()):
        if name not in held:
            found.append(f"the {what} has no {name}")
        elif name not in wanted:
            found.append(f"the {what} has {name}, which does not belong to it")
        elif held[name] != wanted[name]:
            found.append(f"the {what} has different content in {name}")
    return found
