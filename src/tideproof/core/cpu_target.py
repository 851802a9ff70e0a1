"""The CPU as a target: numba compiles a linked kernel for one core."""

from __future__ import annotations

from typing import Any

from tideproof.core.kernel_linker import Kernel
from tideproof.errors import MissingExtra


def cpu(f: Kernel, entry: bool) -> Kernel:
    """Compile the copy for one CPU core; it releases the GIL.

    Everything but the entry point is only inlined (`core.inlined`), and reference counting is off: kernels
    allocate nothing, and counting the arrays of their states would cost twenty times the arithmetic. No
    fastmath: results stay bitwise equal to the interpreter's. numba's own disk cache would not notice an
    edited callee; `core.disk` keeps programs instead.
    """
    try:
        import numba
    except ImportError:
        raise MissingExtra.for_module("numba", "lab", "compiled simulation") from None
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    if not entry:
        from tideproof.core.inline_compiler import Inlined

        options |= {"forceinline": True, "no_cpython_wrapper": True, "pipeline_class": Inlined}
    compiled: Kernel = numba.njit(**options)(f)
    return compiled
