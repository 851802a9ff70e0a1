"""Engines that run replications on a GPU, or on the processor cores of this machine or a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, ThreadPoolExecutor
from importlib.util import find_spec
from typing import NamedTuple

from tideproof.errors import InputError, MissingExtra, UnknownName
from tideproof.lab.engines.cpu_engine import CHUNK, run_chunk
from tideproof.lab.executors import threads
from tideproof.lab.replication_sums import ReplicationSums
from tideproof.lab.simulation_plan import SimulationPlan

ENGINES = ("auto", "cpu", "cuda")


class Engine(NamedTuple):
    """Functions that run chunks of replications on one kind of hardware, CPU or GPU.

    Attributes
    ----------
    name : "cpu" or "cuda".
    run_chunk : (plan, first, count) -> sums over these replications.
    chunk_size : (plan) -> the number of replications in a chunk.
    workers : () -> a pool that runs the chunks, if the caller gives no executor.
    prepare : (plans) -> begin to compile the programs that the plans need.
    """

    name: str
    run_chunk: Callable[[SimulationPlan, int, int], ReplicationSums]
    chunk_size: Callable[[SimulationPlan], int]
    workers: Callable[[], Executor]
    prepare: Callable[[Iterable[SimulationPlan]], None]


CPU = Engine("cpu", run_chunk, lambda plan: CHUNK, threads, lambda plans: None)


def find_engine(name: str, executor: Executor | None) -> Engine:
    """Return the engine that runs simulations, by name; "auto" is a GPU if there is one and no executor."""
    if name not in ENGINES:
        raise UnknownName.with_suggestion("engine", name, ENGINES)
    if executor is not None and name == "cuda":
        raise InputError(
            "engine='cuda' runs on the GPU of this machine: omit executor= (--scheduler), or use engine='cpu'"
        )
    if name == "cpu" or executor is not None or (name == "auto" and find_spec("numba_cuda") is None):
        return CPU
    if find_spec("numba") is None:
        raise MissingExtra.for_module("numba", "gpu", "simulation on a GPU")
    from tideproof.core.cuda_target import explain_missing_gpu

    reason = explain_missing_gpu()
    if reason is None:
        from tideproof.lab.engines import cuda_engine as gpu

        return Engine("cuda", gpu.run_chunk, gpu.chunk_size, _single_thread, gpu.prepare)
    if name == "auto":
        return CPU
    if find_spec("numba_cuda") is None:
        raise MissingExtra.for_module("numba-cuda", "gpu", "simulation on a GPU")
    raise InputError(f"engine='cuda' finds no GPU: {reason}")


def _single_thread() -> Executor:
    """Return a pool with one thread, because a GPU runs one chunk of replications at a time."""
    return ThreadPoolExecutor(1, thread_name_prefix="tideproof-gpu")
