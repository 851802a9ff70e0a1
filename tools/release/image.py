"""Test of the container image: built with Docker, or its steps by hand where Docker is missing.

By hand means: the packages of the Dockerfile are installed into an empty environment of its Python, its
entry point is started with its settings, and its health check must pass.
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
    """Return whether Docker is installed and its daemon answers."""
    if shutil.which("docker") is None:
        return False
    return subprocess.run(["docker", "info"], capture_output=True).returncode == 0


def build(tag: str) -> str:
    """Build the image and start it once; return the error, empty on success."""
    made = subprocess.run(["docker", "build", "-q", "-t", tag, ROOT], capture_output=True, text=True)
    if made.returncode:
        return made.stderr.strip().splitlines()[-1]
    run = ["docker", "run", "--rm", "--entrypoint", "tideproof", tag, "--version"]
    done = subprocess.run(run, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip()


def python() -> str:
    """Return the Python version of the image's base."""
    [*_, last] = re.findall(r"^FROM python:(\d+\.\d+)", RECIPE.read_text(), re.MULTILINE)
    return str(last)


def extras() -> str:
    """Return the extras that the image installs."""
    [found] = re.findall(r"\*\.whl\)\[([\w,]+)\]", RECIPE.read_text())
    return str(found)


def settings(folder: Path, port: int) -> dict[str, str]:
    """Return the environment variables of the image, with another folder and port."""
    said = dict(re.findall(r"\b(TIDEPROOF_[A-Z]+)=(\S+)", RECIPE.read_text()))
    said["TIDEPROOF_STORE"] = said["TIDEPROOF_STORE"].replace("////data/", f"///{folder}/")
    return said | {"TIDEPROOF_PORT": str(port), "TIDEPROOF_HOST": "127.0.0.1"}


def by_hand(wheel: Path, interpreter: Path, folder: Path) -> str:
    """Follow the steps of the Dockerfile in an environment; return the error, empty on success."""
    inside = environments.make(interpreter, folder / "image")
    wanted = f"{wheel}[{extras()}]"
    fault = environments.pip(
        inside, "install", "--quiet", "--no-compile", "-c", ROOT / "constraints.txt", wanted
    )
    return fault or served(inside, folder / "image")


def served(inside: Path, home: Path) -> str:
    """Start the entry point, check its health, stop it; return the error, empty on success."""
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
        return f"the service is not healthy: {said.strip()[-300:]}"
    return "" if service.returncode == 0 else f"exit code {service.returncode}: {said.strip()[-300:]}"
