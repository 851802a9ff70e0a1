"""Which holes are ours: a plug-in neither fills them nor leaves them to us."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from tideproof.core.function_references import locate
from tideproof.core.kernel_linker import Hole, Kernel, walk_references
from tideproof.errors import KernelError
from tideproof.text import join_names

# What the loop, the statistics and a GPU leave open.
OUR_HOLES = {"ask", "tell", "select", "identified", "weigh", "add_to_count", "rsqrt"}
OUR_HOLES |= {"MOMENTS", "FIT", "SUMS", "PERIOD", "CONTROL", "CELLS", "LABELS", "TRACE"}
OUR_HOLES |= {"BY_ARM", "FITS", "CALM", "noise_before", "ratio_of"}


def check_holes(who: str, holes: Mapping[str, Any]) -> None:
    """Raise if somebody would fill a hole that is ours, or fill one with nothing."""
    for name, value in holes.items():
        if name in OUR_HOLES:
            raise KernelError(
                f"{who} fills the hole {name!r}, which is one of tideproof's own: give its hole another name "
                f"(taken: {_all(OUR_HOLES)})"
            )
        if value is None:
            raise KernelError(f"{who} fills the hole {name!r} with None: give a kernel or a number")


def refuse_use_of_holes(ours: Collection[str], kernels: Iterable[Kernel], holes: Mapping[str, Any]) -> None:
    """Raise if a kernel that is not of this package uses a hole by the name of one of `ours`."""
    for f in kernels:
        for g, reference, value in walk_references(f, holes):
            stranger = g.__module__.partition(".")[0] != __package__.partition(".")[0]
            if stranger and isinstance(value, Hole) and value.name in ours:
                raise KernelError(
                    f"kernel {locate(g, reference.line)} uses the hole {value.name!r}, a name that tideproof "
                    f"fills itself: give it another name (taken: {_all(ours)})"
                )


def _all(names: Collection[str]) -> str:
    return join_names(sorted(names), most=len(names))
