"""Taking turns in a fixed order: how policies that know nothing of shifts begin."""

from __future__ import annotations

from tideproof.core.kernel_linker import kernel


@kernel
def in_turn(pulls):
    """Return the first of the least pulled arms: step by step, this is round robin in fixed order."""
    first = 0
    for i in range(pulls.size):
        if pulls[i] < pulls[first]:
            first = i
    return first


@kernel
def all_pulled(pulls, n0):
    """Tell whether every arm was pulled n0 times, pulls that are out included."""
    for i in range(pulls.size):  # noqa: SIM110
        if pulls[i] < n0:
            return False
    return True


@kernel
def all_told(moments, n):
    """Tell whether n rewards of every arm are told; two are needed for a variance."""
    for i in range(moments.told.size):  # noqa: SIM110
        if moments.told[i] < n:
            return False
    return True
