"""The container image: built from the wheel where Docker answers; else its steps are done by hand.

By hand means: what the Dockerfile installs is installed into an empty environment of the Python it begins
with, its entry point is started with its settings, and its own check of health must pass.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

import environments

ROOT = Path(__file__).parent.parent.parent
RECIPE = ROOT / "Dockerfile"
PATIENCE = 60.0


def docker() -> bool:
    """Return whether Docker is here and its daemon answers."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True).returncode == 0


def build(tag: str) -> str:
    """Build the image and start it once; return what went wrong."""
    made = subprocess.run(["docker", "build", "-q", "-t", tag, ROOT], capture_output=True, text=True)
    if made.returncode:
        return made.stderr.strip().splitlines()[-1]
    run = ["docker", "run", "--rm", "--entrypoint", "tideproof", tag, "--version"]
    done = subprocess.run(run, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip()


def python() -> str:
    """Return the version of Python that the image begins with."""
    [*_, last] = re.findall(r"^FROM python:(\d+\.\d+)", RECIPE.read_text(), re.MULTILINE)
    return str(last)


def extras() -> str:
    """Return the extras that the image has."""
    [found] = re.findall(r"\*\.whl\)\[([\w,]+)\]", RECIPE.read_text())
    return str(found)


def settings(folder: Path, port: int) -> dict[str, str]:
    """Return the settings of the image, with another folder and port."""
    said = dict(re.findall(r"\b(TIDEPROOF_[A-Z]+)=(\S+)", RECIPE.read_text()))
    said["TIDEPROOF_STORE"] = said["TIDEPROOF_STORE"].replace("////data/", f"///{folder}/")
    return said | {"TIDEPROOF_PORT": str(port), "TIDEPROOF_HOST": "127.0.0.1"}


def by_hand(wheel: Path, interpreter: Path, folder: Path) -> str:
    """Do what the image does, without one; return what went wrong."""
    inside = environments.make(interpreter, folder / "image")
    wanted = f"{wheel}[{extras()}]"
    fault = environments.pip(
        inside, "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", wanted
    )
    return fault or served(inside, folder / "image")


def served(inside: Path, home: Path) -> str:
    """Start the entry point that is beside a Python, check its health, stop it; return what went wrong."""
    text = RECIPE.read_text()
    [entry] = re.findall(r"^ENTRYPOINT (\[.*\])", text, re.MULTILINE)
    [health] = re.findall(r"^ *CMD (\[.*\])", text, re.MULTILINE)
    name, *words = json.loads(entry)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    around = {"HOME": str(home), "PATH": os.defpath} | settings(home, port)
    _, *check = json.loads(health.replace(":8080", f":{port}"))
    service = subprocess.Popen(
        [inside.parent / name, *words],
        cwd=home, env=around, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    healthy, end = False, time.monotonic() + PATIENCE
    try:
        while not healthy and service.poll() is None and time.monotonic() < end:
            time.sleep(0.5)
            healthy = subprocess.run([inside, *check], capture_output=True).returncode == 0
    finally:
        service.send_signal(signal.SIGTERM)
        said, _ = service.communicate(timeout=PATIENCE)
    if not healthy:
        return f"it is not healthy: {said.strip()[-300:]}"
    return "" if service.returncode == 0 else f"it ended with {service.returncode}: {said.strip()[-300:]}"
