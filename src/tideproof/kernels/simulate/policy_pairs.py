"""Compare two policies on the same simulated worlds."""

from __future__ import annotations

from tideproof.core.kernel_linker import hole, kernel

place = hole("place")  # kernel without arguments that returns the number of the thread, and of the budget


@kernel
def compare_selections(mine, theirs, gaps, both, cost_gap_squares):
    """Count replications in which both of two policies select a wrong arm.

    Also sum the squared differences of the policies' losses.

    Each thread writes its own sums over a fixed subset of the replications, so that the result does not
    depend on the order in which threads run.

    Parameters
    ----------
    mine, theirs : (B, R) the selected arms.
    gaps : (K,) the cost of selecting each arm.
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
