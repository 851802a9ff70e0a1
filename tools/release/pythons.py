"""Search for the supported Python versions on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

WANTED = ("3.11", "3.12", "3.13", "3.14")


def find(wanted: Iterable[str] = WANTED) -> dict[str, Path]:
    """Return the path of a working Python for each version found, on the search path or in pyenv."""
    found = {}
    for version in wanted:
        for path in _places(version):
            if _is(path, version):
                found[version] = path
                break
    return found


def _places(version: str) -> list[Path]:
    on_path = shutil.which(f"python{version}")
    kept = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    final = [path for path in kept.glob(f"{version}.*") if re.fullmatch(r"[\d.]+", path.name)]
    final.sort(key=lambda path: int(path.name.rsplit(".", 1)[1]), reverse=True)
    return [*([Path(on_path)] if on_path else []), *(path / "bin" / "python" for path in final)]


def _is(path: Path, version: str) -> bool:
    """Return whether a Python runs, has the version, and can make environments; a pyenv shim may not."""
    ask = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([path, "-I", "-c", ask], capture_output=True, text=True, timeout=60)
    except OSError:
        return False
    return done.returncode == 0 and done.stdout.strip() == version
