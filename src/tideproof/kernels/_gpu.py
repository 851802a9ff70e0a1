"""The same kernels on a GPU: every thread plays replications, its state in local arrays of its own.

A GPU has no room to hand each of a million threads a state from outside, so the loop around `play` is
written here, as text, with the sizes of all arrays in it: the number of arms is then a constant to the
compiler. Importing this module imports numba's CUDA target; without a GPU it may be numba's simulator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count as numbers
from typing import Any

import numpy as np
from numba import config, cuda

from tideproof.kernels._arrays import layout, parts
from tideproof.kernels._at import at, at_of_all, diagonal, diagonal_of_all, row, row_of_all
from tideproof.kernels._link import Kernel, kernel, link
from tideproof.kernels.replicate import play


def gpu(f: Kernel, entry: bool) -> Kernel:
    """Compile the copy for a GPU: the entry is launched, everything else inlined into it."""
    inline = {} if config.ENABLE_CUDASIM else {"forceinline": True}  # the simulator does not know it
    compiled: Kernel = cuda.jit(f) if entry else cuda.jit(device=True, **inline)(f)
    return compiled


@kernel
def counted_apart(counts, b, column, n):
    """Add to a count of this block of threads; the caller adds the blocks."""
    cuda.atomic.add(counts, (cuda.blockIdx.x, b, column), n)


REGISTERS = {at: at_of_all, row: row_of_all, diagonal: diagonal_of_all}


def loop(kind: Any, arms: int, fill: Mapping[str, Any]) -> Any:
    """Return the program that plays all replications `score` has room for, with state `kind`.

    It takes (params, world, seed, first, budgets, score), the arrays on the GPU, and is launched with
    as many blocks as `score.counts` has tables.
    """
    scope: dict[str, Any] = {"cuda": cuda, "np": np, "play": play}
    text = "\n".join(_lines(kind, arms, scope))
    exec(compile(text, f"<the loop of {arms} arms>", "exec"), scope)
    return link(kernel(scope["loop"]), gpu, {**fill, **REGISTERS, "count": counted_apart, "TRACE": False})


def _lines(kind: Any, arms: int, scope: dict[str, Any]) -> Iterator[str]:
    """Write the loop; the classes of the state's parts are put into its `scope`."""
    leaves = enumerate(layout(kind, arms))  # CUDA knows no empty arrays: nobody reads them
    arrays = [(f"a{i}", dtype.__name__, tuple(max(n, 1) for n in shape)) for i, (dtype, shape) in leaves]
    yield "def loop(params, world, seed, first, budgets, score):"
    for name, dtype, shape in arrays:
        yield f"    {name} = cuda.local.array({shape}, np.{dtype})"
    yield f"    run = {_built(kind, iter([name for name, _, _ in arrays]), numbers(), scope)}"
    yield "    for r in range(cuda.grid(1), score.selected.shape[0], cuda.gridsize(1)):"
    for name, _, shape in arrays:
        index = [f"i{axis}" for axis in range(len(shape))]
        for axis, side in enumerate(shape):
            yield f"        {'    ' * axis}for {index[axis]} in range({side}):"
        yield f"        {'    ' * len(shape)}{name}[{', '.join(index)}] = 0"
    yield "        play(params, run, world, seed, first, budgets, score, r, 0)"


def _built(kind: Any, names: Iterator[str], fresh: Iterator[int], scope: dict[str, Any]) -> str:
    """Return the expression that builds a state of `kind` from arrays of these names."""
    label = f"C{next(fresh)}"
    scope[label] = kind
    inside = [_built(part, names, fresh, scope) if part else next(names) for part in parts(kind)]
    return f"{label}({', '.join(inside)})"


