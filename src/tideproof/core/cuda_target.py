"""A GPU as a target: compiling for it, its memory, launching; every thread has a state of its own.

A GPU has no room to hand each of a million threads a state from outside, so the program of a thread is
written here, as text, with the sizes of all arrays in it: the number of arms is then a constant to the
compiler. Importing this module imports numba's CUDA target; without a GPU it may be numba's simulator.
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

from tideproof.core.array_access_gpu import REGISTERS
from tideproof.core.array_layout import inner_states, layout
from tideproof.core.kernel_linker import Kernel, kernel, link
from tideproof.core.program_cache import Packing, keep


def why_no_gpu() -> str | None:
    """Return why no GPU can be used, or None if one can."""
    if cuda.is_available():
        return None
    return " ".join(str(cuda.cuda_error() or "no driver answers").split())


def to_gpu(array: Any) -> Any:
    """Copy an array to the GPU, which knows no empty ones: those become one zero that nobody reads."""
    return cuda.to_device(array if array.size else np.zeros(1, array.dtype))


def tuple_to_gpu(values: Any) -> Any:
    """Return the NamedTuple with its arrays on the GPU."""
    return type(values)(*(to_gpu(v) if isinstance(v, np.ndarray) else v for v in values))


def room_on_gpu(shape: tuple[int, ...], dtype: Any) -> Any:
    """Return an array on the GPU, with whatever was there before."""
    return cuda.device_array(shape, dtype)


def gpu(f: Kernel, entry: bool) -> Kernel:
    """Compile the copy for a GPU, to be inlined; the entry is left to `launchable`."""
    compiled: Kernel = f if entry else cuda.jit(device=True, **_known(forceinline=True))(f)
    return compiled


def launchable(f: Kernel, registers: int | None = None, fill: Mapping[Any, Any] | None = None) -> Any:
    """Link the kernel `f` as one that Python launches; a thread may have that many registers."""
    program: Any = cuda.jit(**_known(max_registers=registers))(link(f, gpu, fill))
    if not config.ENABLE_CUDASIM:
        about = f"{sorted(program.targetoptions.items())} {version('numba-cuda')}"
        keep(program, f, gpu, fill or {}, Packing(_pack, _unpack, about))
    return program


def launch(program: Any, blocks: Any, threads: Any, arguments: tuple[Any, ...]) -> None:
    """Run the program in that many blocks of that many threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*under-utilization")  # a few replications are no mistake
        program[blocks, threads](*arguments)


def _known(**options: Any) -> dict[str, Any]:
    """Return the options, or none of them for numba's simulator, which does not know them."""
    return {} if config.ENABLE_CUDASIM else options


def _rsqrt() -> Any:
    """Return the GPU's 1/sqrt(x); its simulator has none."""
    return kernel(lambda x: 1.0 / math.sqrt(x)) if config.ENABLE_CUDASIM else cuda.libdevice.rsqrt


def _pack(compiled: Any) -> Any:
    return compiled._reduce_states()


def _unpack(target: Any, arguments: Any, packed: Any) -> Any:
    from numba.cuda.dispatcher import _Kernel

    return _Kernel._rebuild(**packed)


@kernel
def add_shared(counts, b, column, n):
    """Add to a count that some blocks of threads share; the caller adds the tables."""
    cuda.atomic.add(counts, (cuda.blockIdx.x % counts.shape[0], b, column), n)


@kernel
def thread_and_row():
    """Return the number of this thread in its row of blocks, and that of the row."""
    return cuda.grid(2)


VERY_FEW = 6  # arms whose state fits into 128 registers: twice the threads hide each other's waits
FEW = 12  # ... into all registers of a thread, or nearly

# integers of a state are counts, arms and flags: they need no more, and registers are few
_NARROW = {np.float64: "float64", np.int64: "int32"}


def thread_program(play_one: Kernel, kind: Any, arms: int, fill: Mapping[str, Any]) -> Any:
    """Return the program that plays all replications `score` has room for, with a state of `kind` a thread.

    It takes (params, world, seed, first, budgets, score), the arrays on the GPU, and calls `play_one` for
    each replication.
    """
    scope: dict[str, Any] = {"cuda": cuda, "np": np, "play_one": play_one}
    text = "\n".join(_lines(kind, arms, scope))
    exec(compile(text, f"<a thread's program for {arms} arms>", "exec"), scope)
    access: Mapping[Any, Any] = REGISTERS if arms <= FEW else {}
    filled = {**fill, **access, "rsqrt": _rsqrt(), "add_to_count": add_shared, "TRACE": False}
    return launchable(kernel(scope["thread"]), 128 if arms <= VERY_FEW else None, filled)


def _lines(kind: Any, arms: int, scope: dict[str, Any]) -> Iterator[str]:
    """Write the program; the classes of the state and those inside it are put into its `scope`."""
    leaves = enumerate(layout(kind, arms))  # CUDA knows no empty arrays: nobody reads them
    arrays = [(f"a{i}", _NARROW[dtype], tuple(max(n, 1) for n in shape)) for i, (dtype, shape) in leaves]
    yield "def thread(params, world, seed, first, budgets, score):"
    for name, dtype, shape in arrays:
        yield f"    {name} = cuda.local.array({shape}, np.{dtype})"
    yield f"    run = {_built(kind, iter([name for name, _, _ in arrays]), numbers(), scope)}"
    yield "    for r in range(cuda.grid(1), score.selected.shape[1], cuda.gridsize(1)):"
    for name, _, shape in arrays:
        index = [f"i{axis}" for axis in range(len(shape))]
        for axis, side in enumerate(shape):
            yield f"        {'    ' * axis}for {index[axis]} in range({side}):"
        yield f"        {'    ' * len(shape)}{name}[{', '.join(index)}] = 0"
    yield "        play_one(params, run, world, seed, first, budgets, score, r, 0)"


def _built(kind: Any, names: Iterator[str], fresh: Iterator[int], scope: dict[str, Any]) -> str:
    """Return the expression that builds a state of `kind` from arrays of these names."""
    label = f"C{next(fresh)}"
    scope[label] = kind
    inside = [_built(inner, names, fresh, scope) if inner else next(names) for inner in inner_states(kind)]
    return f"{label}({', '.join(inside)})"
