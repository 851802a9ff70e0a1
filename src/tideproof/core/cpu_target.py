"""Compile kernels, linked with the kernels that they call, for one CPU core with numba."""

from __future__ import annotations

from typing import Any

from tideproof.core.kernel_linker import Kernel
from tideproof.errors import MissingExtra


def compile_for_cpu(f: Kernel, entry: bool) -> Kernel:
    """Compile a kernel for one CPU core, together with the kernels it was linked with.

    The result releases the GIL.

    All kernels but the entry point are only inlined (`core.inline_compiler`). Reference counting is off:
    kernels allocate nothing, and counting references to the arrays of their states would cost twenty times
    the arithmetic. Without fastmath, results stay bitwise equal to those of the interpreter. numba's own
    disk cache does not notice a changed callee; `core.program_cache` stores programs instead.
    """
    try:
        import numba
    except ImportError:
        raise MissingExtra.for_module("numba", "lab", "compiled simulation") from None
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    if not entry:
        from tideproof.core.inline_compiler import InlineCompiler

        options |= {"forceinline": True, "no_cpython_wrapper": True, "pipeline_class": InlineCompiler}
    compiled: Kernel = numba.njit(**options)(f)
    return compiled


def compile_with_arrays(f: Kernel, entry: bool) -> Kernel:
    """Compile a kernel that creates arrays for one CPU core; the result releases the GIL.

    Simulations of the usual policies use `compile_for_cpu`, whose kernels must not create arrays.
    """
    try:
        import numba
    except ImportError:
        raise MissingExtra.for_module("numba", "lab", "compiled simulation") from None
    compiled: Kernel = numba.njit(nogil=True, error_model="numpy")(f)
    return compiled
