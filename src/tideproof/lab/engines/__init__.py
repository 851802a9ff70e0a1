"""What plays the replications: the cores of this machine, those of an executor, or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib.util import find_spec
from typing import NamedTuple

from tideproof.errors import InputError, MissingExtra, UnknownName
from tideproof.lab.engines.cpu import BLOCK, run_block
from tideproof.lab.executors import threads
from tideproof.lab.plan import Plan
from tideproof.lab.tally import Tally

ENGINES = ("auto", "cpu", "cuda")


class Engine(NamedTuple):
    """How to play.

    Attributes
    ----------
    name : cpu or cuda.
    play : (plan, first, count) -> sums over these replications.
    size : (plan) -> how many replications to play at a time.
    workers : () -> a pool for them, where the caller brings none.
    prepare : (plans) -> begin to compile what they need.
    """

    name: str
    play: Callable[[Plan, int, int], Tally]
    size: Callable[[Plan], int]
    workers: Callable[[], Executor]
    prepare: Callable[[Iterable[Plan]], None]


CPU = Engine("cpu", run_block, lambda plan: BLOCK, threads, lambda plans: None)


def find_engine(name: str, executor: Executor | None) -> Engine:
    """Return the engine of that name; `auto` is a GPU if there is one and no executor is given."""
    if name not in ENGINES:
        raise UnknownName.among("engine", name, ENGINES)
    if executor is not None and name == "cuda":
        raise InputError("engine='cuda' plays on the GPU of this machine: give it no executor or scheduler")
    if name == "cpu" or executor is not None or (name == "auto" and find_spec("numba_cuda") is None):
        return CPU
    try:
        from numba import cuda

        ready = cuda.is_available()
    except ImportError:
        raise MissingExtra.of("numba", "gpu", "simulation on a GPU") from None
    if ready:
        from tideproof.lab.engines import cuda as gpu

        return Engine("cuda", gpu.run_chunk, gpu.chunk, _one_at_a_time, gpu.prepare)
    if name == "auto":
        return CPU
    if find_spec("numba_cuda") is None:
        raise MissingExtra.of("numba-cuda", "gpu", "simulation on a GPU")
    reason = " ".join(str(cuda.cuda_error() or "no driver answers").split())
    raise InputError(f"engine='cuda' finds no GPU: {reason}")


def _one_at_a_time() -> Executor:
    return ThreadPoolExecutor(1, thread_name_prefix="tideproof-gpu")
