"""numba compiler for kernels that are called only by other kernels: it stops before optimisation.

By default numba optimises every function and generates machine code for it, although all kernels but the
entry point are inlined and optimised again there. Skipping this saves a quarter of the compilation time
(docs/decisions/0001). Import this module only if numba is installed.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _UnoptimisedLibrary(JITCodeLibrary):
    """numba library with the code of one kernel, which is not optimised before it is linked into callers."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class InlineCompiler(Compiler):
    """numba's compiler, stopped before it optimises and generates machine code."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, _UnoptimisedLibrary(target.codegen(), "tideproof"), *rest)
        # numba finds the library by this object although it is never called, so every kernel needs its own
        self.state.targetctx.get_executable = lambda *_: [].append
