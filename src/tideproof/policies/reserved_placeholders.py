"""Reserved names of constants that are inserted into compiled functions, which plug-ins must not use.

A hole is a name in a kernel that is replaced by another kernel or by a number when the kernel is linked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tideproof.core.function_references import locate
from tideproof.core.kernel_linker import Hole, Kernel, walk_references
from tideproof.errors import KernelError
from tideproof.text import join_names

# The holes of the replication loop, of the statistics and of the kernels for a GPU.
RESERVED_HOLES = {"ask", "tell", "select", "identified", "weigh", "add_to_count", "rsqrt"}
RESERVED_HOLES |= {"MOMENTS", "FIT", "SUMS", "PERIOD", "CONTROL", "CELLS", "LABELS", "TRACE"}
RESERVED_HOLES |= {"BY_ARM", "FITS", "CALM", "noise_before", "ratio_of"}


def check_holes(owner: str, holes: Mapping[str, Any]) -> None:
    """Raise `KernelError` if a placeholder in a policy's functions has a reserved name or no value."""
    for name, value in holes.items():
        if name in RESERVED_HOLES:
            raise KernelError(
                f"{owner} defines the placeholder (hole) {name!r}, which is reserved for tideproof. "
                f"Rename the placeholder (reserved names: {_all_names(RESERVED_HOLES)})"
            )
        if value is None:
            raise KernelError(
                f"the value of the placeholder (hole) {name!r} of {owner} must be a kernel or a number, not "
                "None"
            )


def refuse_reserved_holes(
    reserved: Collection[str], kernels: Iterable[Kernel], holes: Mapping[str, Any]
) -> None:
    """Raise `KernelError` if a function of a plug-in uses a reserved name for a constant inserted later."""
    for f in kernels:
        for g, reference, value in walk_references(f, holes):
            of_plugin = g.__module__.partition(".")[0] != __package__.partition(".")[0]
            if of_plugin and isinstance(value, Hole) and value.name in reserved:
                raise KernelError(
                    f"kernel {locate(g, reference.line)} uses the reserved placeholder (hole) "
                    f"{value.name!r}. Rename the placeholder (reserved names: {_all_names(reserved)})"
                )


def _all_names(names: Collection[str]) -> str:
    """Return all of the given names, sorted, as text for an error message."""
    return join_names(sorted(names), most=len(names))
