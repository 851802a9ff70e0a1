"""Compiling for a GPU on all cores at once, before anything runs.

numba compiles one program after the other, some seconds each. Programs are kept on disk, so other
processes can compile them for this one: `python -m tideproof.lab.ahead` reads from its input which.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Iterable, Sequence

from tideproof.lab.blocks import Plan
from tideproof.lab.gpu import run_chunk, to_compile


def compile_ahead(plans: Iterable[Plan]) -> None:
    """Compile what these plans need and no disk holds; what fails here fails, or not, when it is needed."""
    missing = sorted(to_compile(plans), key=lambda plan: -plan.world.arms)
    if len(missing) < 2:
        return
    cores = os.cpu_count() or 1
    workers = min(len(missing), cores + cores // 2)  # a second round of a few would take as long as the first
    started = [_start(missing[i::workers]) for i in range(workers)]
    try:
        for process in started:
            process.wait()
    finally:
        for process in started:
            process.kill()


def _start(plans: Sequence[Plan]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tideproof.lab.ahead"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin
    process.stdin.write(pickle.dumps(plans))
    process.stdin.close()
    return process


def _main() -> None:
    warnings.simplefilter("ignore")
    for plan in pickle.load(sys.stdin.buffer):
        run_chunk(plan, 0, 1)


if __name__ == "__main__":
    _main()
