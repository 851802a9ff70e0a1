"""How numba compiles a kernel that only other kernels call: as a draft, to be inlined, and no further.

numba would optimise every function on its own and turn it into machine code, although all but the entry
point are inlined and optimised again there: a quarter of the time to compile (docs/decisions/0001).
Import this module only where numba is there.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _Draft(JITCodeLibrary):
    """Code as it was written down, ready to be linked into its callers."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class Inlined(Compiler):
    """numba's compiler, stopped before the machine code."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:
        super().__init__(typing, target, _Draft(target.codegen(), "tideproof"), *rest)
        # nobody calls it, but numba finds the draft by this object, so every kernel needs its own
        self.state.targetctx.get_executable = lambda *_: [].append
