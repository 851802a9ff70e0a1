"""Round robin in a fixed order: the initial pulls of policies that ignore shifts."""

from __future__ import annotations

from tideproof.core.kernel_linker import kernel


@kernel
def in_turn(pulls):
    """Return the first arm with the fewest pulls; repeated calls give a round robin in fixed order."""
    first = 0
    for i in range(pulls.size):
        if pulls[i] < pulls[first]:
            first = i
    return first


@kernel
def all_pulled(pulls, n0):
    """Return whether every arm was pulled n0 times, pending pulls included."""
    for i in range(pulls.size):  # noqa: SIM110
        if pulls[i] < n0:
            return False
    return True


@kernel
def all_told(moments, n):
    """Return whether every arm has at least n rewards.

    A variance estimate needs two.
    """
    for i in range(moments.told.size):  # noqa: SIM110
        if moments.told[i] < n:
            return False
    return True
