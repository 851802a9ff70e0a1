"""Compiled asks, for large batches: the same arms and the same bits, where `lab` is installed.

To import the compiler takes half a second, and the first batch ever of a policy some seconds, after which
its program is on disk. So small batches, and single asks always, are interpreted.
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
from tideproof.policies.policy_definition import Policy
from tideproof.policies.policy_spec import PolicySpec
from tideproof.policies.selection_rules import Selection

WORTH_A_CALL = 5  # pulls, where the program is in memory
WORTH_THE_COMPILER = 10_000  # pulls, where it is not

_compiling = Lock()
_ready: dict[Any, Kernel | None] = {}


def compiled_asks(spec: PolicySpec, n: int, *arguments: Any) -> Kernel | None:
    """Return a compiled `ask_many` for these arguments, less the arms; None if it is not worth it for n.

    None too where nothing can be compiled: without `lab`, or with a kernel that no compiler knows.
    """
    if n < WORTH_A_CALL:
        return None
    key = spec.policy, spec.selection, type(arguments[0]), tuple(map(type, arguments[0]))
    if key not in _ready and n >= WORTH_THE_COMPILER:
        with _compiling:
            _ready[key] = _ready.get(key) or _made(spec, arguments)
    return _ready.get(key)


def _made(spec: PolicySpec, arguments: tuple[Any, ...]) -> Kernel | None:
    try:
        program = _linked(spec.policy, spec.selection)
        program(*arguments, np.zeros(0, np.int64))  # no pulls: it is compiled, or read from disk
    except Exception:  # whatever the compiler has against it: the interpreter gives the same arms
        return None
    return program


@cache
def _linked(policy: Policy, selection: Selection) -> Kernel:
    fill = PolicySpec(policy, selection).fill()
    return attach_disk_cache(link(ask_many, compile_for_cpu, fill), ask_many, compile_for_cpu, fill)
