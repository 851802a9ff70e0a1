"""Compiled programs that choose the arms of many pulls at once.

Interpreted code chooses the same arms. Compiling needs the `lab` extra. Importing the compiler takes half a
second, and the first batch of a policy takes some seconds, after which its program is stored on disk.
Therefore small batches and single asks are interpreted.
"""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from tideproof.core.cpu_target import compile_for_cpu
from tideproof.core.kernel_linker import Kernel, link
from tideproof.core.program_cache import attach_disk_cache
from tideproof.kernels.choose.batch_asks import ask_many
from tideproof.policies.final_selection_rules import Selection
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec

WORTH_A_CALL = 5  # pulls from which a compiled program in memory is faster
WORTH_THE_COMPILER = 10_000  # pulls from which compiling a program is worth its time

_compiling = Lock()
_programs: dict[Any, Kernel | None] = {}


def compiled_asks(spec: PolicySpec, n: int, *arguments: Any) -> Kernel | None:
    """Return a compiled function that chooses the arms of many pulls at once, if compiling is worthwhile.

    The result is None if compiling fails or is not worthwhile. Interpreting is faster for few pulls.
    Compiling is impossible without the `lab` extra, or for a kernel that the compiler does not support.
    `arguments` are those of `ask_many` without the array of arms.
    """
    if n < WORTH_A_CALL:
        return None
    key = spec.policy, spec.selection, type(arguments[0]), tuple(map(type, arguments[0]))
    if key not in _programs and n >= WORTH_THE_COMPILER:
        with _compiling:
            _programs[key] = _programs.get(key) or _compile(spec, arguments)
    return _programs.get(key)


def _compile(spec: PolicySpec, arguments: tuple[Any, ...]) -> Kernel | None:
    try:
        program = _link(spec.policy, spec.selection)
        program(
            *arguments, np.zeros(0, np.int64)
        )  # an ask of no pulls compiles the program, or reads it from disk
    except Exception:  # if compiling fails, the interpreter chooses the same arms
        return None
    return program


@cache
def _link(policy: Policy, selection: Selection) -> Kernel:
    fill = PolicySpec(policy, selection).fill()
    return attach_disk_cache(link(ask_many, compile_for_cpu, fill), ask_many, compile_for_cpu, fill)
