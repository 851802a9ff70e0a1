"""A small disk that fills up and grows, and one that is read-only for a while.

    unshare -rm python small_disk.py full FOLDER
    unshare -rm python small_disk.py read-only FOLDER

mounts a file system of its own, which nobody else sees, and prints what clients were told.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import tideproof as tp
from store.stores import url_of
from torture.checks import check
from torture.clients import Herd, open_run


def mount(*options: str) -> None:
    subprocess.run(["mount", *options], check=True)


def acknowledged(herd: Herd) -> int:
    return sum(call.acknowledged and call.kind not in ("look", "has") for call in herd.calls())


def until(what, patience: float = 60.0) -> None:
    end = time.monotonic() + patience
    while not what():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.2)


def full(disk: Path, folder: Path) -> None:
    mount("-t", "tmpfs", "-o", "size=256k", "none", str(disk))
    herd = Herd(url_of(disk), folder, 3, fewest=100)
    try:
        until(lambda: any(call.error for call in herd.calls()))
        time.sleep(1.0)
        stuck = acknowledged(herd)
        errors = {call.error for call in herd.calls() if call.error}
        herd.kill(0)  # who comes anew finds a full disk
        time.sleep(0.5)
        mount("-o", "remount,size=64m", str(disk))
        until(lambda: acknowledged(herd) > stuck + 100)
        calls = herd.end()
    finally:
        herd.close()
    check(herd.url, calls)
    print(*sorted(errors), *herd.bad, f"{stuck} then {acknowledged(herd)}", sep="\n")


def read_only(disk: Path) -> None:
    mount("-t", "tmpfs", "none", str(disk))
    run = open_run(url_of(disk))
    run.ask(environment="x", n=50)
    before = run.events()
    run.close()
    mount("-o", "remount,ro", str(disk))
    for ask in (lambda: run.ask(environment="x"), lambda: open_run(url_of(disk)).ask(environment="x")):
        try:
            ask()
            print("asked")
        except tp.errors.TideproofError as error:
            print(f"{type(error).__name__}: {error}")
    mount("-o", "remount,rw", str(disk))
    assert run.events() == before
    run.ask(environment="x")
    check(url_of(disk), [])


if __name__ == "__main__":
    disk, calls = Path(sys.argv[2]) / "disk", Path(sys.argv[2]) / "calls"
    disk.mkdir()
    if sys.argv[1] == "full":
        full(disk, calls)
    else:
        read_only(disk)
