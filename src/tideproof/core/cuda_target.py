"""Run kernels on a GPU: compilation, memory, and a generated program in which each thread has its own state.

A GPU has no memory for passing a separate state to each of a million threads. So the program of a thread
is generated as text that contains the sizes of all arrays: the number of arms is then a constant for the
compiler. Importing this module imports numba's CUDA target, which may be numba's simulator.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from itertools import count as numbers
from typing import Any

import numpy as np
from numba import config, cuda

from tideproof.core.kernel_array_access_gpu import REGISTER_REPLACEMENTS
from tideproof.core.kernel_linker import Kernel, kernel, link
from tideproof.core.kernel_state_arrays import list_arrays, list_inner_states
from tideproof.core.program_cache import ProgramPacking, attach_disk_cache


def explain_missing_gpu() -> str | None:
    """Return the reason why no GPU can be used, or None if a GPU can be used."""
    if cuda.is_available():
        return None
    return " ".join(str(cuda.cuda_error() or "no CUDA driver responds").split())


def copy_to_gpu(array: Any) -> Any:
    """Copy an array to the GPU.

    An empty array becomes one unused zero, because CUDA has no empty arrays.
    """
    return cuda.to_device(array if array.size else np.zeros(1, array.dtype))


def copy_tuple_to_gpu(values: Any) -> Any:
    """Return a NamedTuple with its arrays copied to the GPU."""
    return type(values)(*(copy_to_gpu(v) if isinstance(v, np.ndarray) else v for v in values))


def allocate_on_gpu(shape: tuple[int, ...], dtype: Any) -> Any:
    """Allocate an array on the GPU, without initialising it."""
    return cuda.device_array(shape, dtype)


def compile_for_gpu(f: Kernel, entry: bool) -> Kernel:
    """Compile a linked kernel for a GPU.

    An entry point is returned as it is, for `compile_gpu_program`.
    """
    compiled: Kernel = f if entry else cuda.jit(device=True, **_supported_options(forceinline=True))(f)
    return compiled


def compile_gpu_program(
    f: Kernel, registers: int | None = None, fill: Mapping[Any, Any] | None = None
) -> Any:
    """Compile the kernel `f` as a GPU program, with at most `registers` registers for each thread."""
    program: Any = cuda.jit(**_supported_options(max_registers=registers))(link(f, compile_for_gpu, fill))
    if not config.ENABLE_CUDASIM:
        about = f"{sorted(program.targetoptions.items())} {version('numba-cuda')}"
        attach_disk_cache(program, f, compile_for_gpu, fill or {}, ProgramPacking(_pack, _unpack, about))
    return program


def launch(program: Any, blocks: Any, threads: Any, arguments: tuple[Any, ...]) -> None:
    """Run a GPU program with a number of blocks and of threads per block."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*under-utilization")  # small simulations are valid
        program[blocks, threads](*arguments)


def _supported_options(**options: Any) -> dict[str, Any]:
    """Return the given compiler options, or none for numba's GPU simulator, which does not support them."""
    return {} if config.ENABLE_CUDASIM else options


def _reciprocal_root() -> Any:
    """Return the GPU's function 1/sqrt(x), or a replacement for numba's simulator, which has none."""
    return kernel(lambda x: 1.0 / math.sqrt(x)) if config.ENABLE_CUDASIM else cuda.libdevice.rsqrt


def _pack(compiled: Any) -> Any:
    """Return a compiled GPU program as data that can be pickled."""
    return compiled._reduce_states()  # noqa: SLF001  numba offers nothing public


def _unpack(target: Any, arguments: Any, packed: Any) -> Any:
    """Restore a compiled GPU program from unpickled data."""
    from numba.cuda.dispatcher import _Kernel

    return _Kernel._rebuild(**packed)  # noqa: SLF001  numba offers nothing public


@kernel
def add_shared(counts, b, column, n):
    """Add to a count atomically on the GPU.

    The count is in one of several tables that thread blocks share.

    The caller adds up the tables.
    """
    cuda.atomic.add(counts, (cuda.blockIdx.x % counts.shape[0], b, column), n)


@kernel
def thread_and_row():
    """Return the index of this GPU thread within its row of blocks, and the index of the row."""
    return cuda.grid(2)


MOST_ARMS_IN_128_REGISTERS = (
    6  # up to this many arms, a state fits into 128 registers, and twice as many threads can run
)
MOST_ARMS_IN_REGISTERS = 12  # up to this many arms, a state fits into the registers of a thread, or nearly

# The integers of a state are counts, arms and flags: 32 bits are enough, and registers are scarce.
_GPU_TYPES = {np.float64: "float64", np.int64: "int32"}


def build_thread_program(play_one: Kernel, kind: Any, arms: int, fill: Mapping[str, Any]) -> Any:
    """Return a GPU program that runs the replications of a simulation, each thread with its own state.

    The program takes (params, world, seed, first, budgets, score), with the arrays on the GPU, and calls
    `play_one` for each replication that `score` has space for.
    """
    scope: dict[str, Any] = {"cuda": cuda, "np": np, "play_one": play_one}
    text = "\n".join(thread_source_lines(kind, arms, scope))
    exec(compile(text, f"<a thread's program for {arms} arms>", "exec"), scope)
    access: Mapping[Any, Any] = REGISTER_REPLACEMENTS if arms <= MOST_ARMS_IN_REGISTERS else {}
    filled = {**fill, **access, "rsqrt": _reciprocal_root(), "add_to_count": add_shared, "TRACE": False}
    return compile_gpu_program(
        kernel(scope["thread"]), 128 if arms <= MOST_ARMS_IN_128_REGISTERS else None, filled
    )


def thread_source_lines(kind: Any, arms: int, scope: dict[str, Any]) -> Iterator[str]:
    """Yield the source code, line by line, of the program that each GPU thread runs.

    The state types that the code refers to are added to `scope`.
    """
    leaves = enumerate(list_arrays(kind, arms))  # an empty array gets one unused element: CUDA has none
    arrays = [(f"a{i}", _GPU_TYPES[dtype], tuple(max(n, 1) for n in shape)) for i, (dtype, shape) in leaves]
    yield "def thread(params, world, seed, first, budgets, score):"
    for name, dtype, shape in arrays:
        yield f"    {name} = cuda.local.array({shape}, np.{dtype})"
    yield f"    run = {_constructor(kind, iter([name for name, _, _ in arrays]), numbers(), scope)}"
    yield "    for r in range(cuda.grid(1), score.selected.shape[1], cuda.gridsize(1)):"
    for name, _, shape in arrays:
        index = [f"i{axis}" for axis in range(len(shape))]
        for axis, side in enumerate(shape):
            yield f"        {'    ' * axis}for {index[axis]} in range({side}):"
        yield f"        {'    ' * len(shape)}{name}[{', '.join(index)}] = 0"
    yield "        play_one(params, run, world, seed, first, budgets, score, r, 0)"


def _constructor(kind: Any, names: Iterator[str], counter: Iterator[int], scope: dict[str, Any]) -> str:
    """Return source code of an expression that constructs a state from arrays with the given names.

    The state types that the code refers to are added to `scope`.
    """
    class_name = f"C{next(counter)}"
    scope[class_name] = kind
    arguments = [
        _constructor(inner, names, counter, scope) if inner else next(names)
        for inner in list_inner_states(kind)
    ]
    return f"{class_name}({', '.join(arguments)})"
