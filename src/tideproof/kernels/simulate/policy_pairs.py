"""Two policies that met the same worlds, beside each other."""

from __future__ import annotations

from tideproof.core.kernel_linker import hole, kernel

place = hole("place")  # () -> which thread of how many, and which budget


@kernel
def compare_selections(mine, theirs, gaps, both, cost_gap_squares):
    """Sum over replications at one budget: both selections wrong; squared difference of what they cost.

    Each thread writes sums of its own, over every so-manieth replication, so that no result depends on who
    came first.

    Parameters
    ----------
    mine, theirs : (B, R) the arms selected.
    gaps : (K,) what selecting each arm costs.
    both, cost_gap_squares : (B, threads) the sums.
    """
    thread, b = place()
    wrong, squares = 0, 0.0
    for r in range(thread, mine.shape[1], both.shape[1]):
        one, other = gaps[mine[b, r]], gaps[theirs[b, r]]
        if one > 0.0 and other > 0.0:
            wrong += 1
        squares += (one - other) * (one - other)
    both[b, thread] = wrong
    cost_gap_squares[b, thread] = squares
