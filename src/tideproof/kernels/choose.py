"""Choosing an arm: ties fall uniformly at random."""

from __future__ import annotations

from tideproof.kernels._link import kernel
from tideproof.kernels.random import below

LOWEST = -1.7976931348623157e308  # below any value, and finite: states are saved as JSON


@kernel
def contend(best, top, ties, i, value, draw):
    """Return the best arm (-1 before the first), its value and how many share it, now with arm i.

    For loops in which not every arm may win; `argmax` does it for a whole array.
    """
    if best < 0 or value > top:
        return i, value, 1
    if value == top:
        ties += 1
        if below(draw, i, ties) == 0:
            best = i
    return best, top, ties


@kernel
def argmax(values, draw):
    """Return the index of the largest value."""
    best, top, ties = -1, 0.0, 0
    for i in range(values.size):
        best, top, ties = contend(best, top, ties, i, float(values[i]), draw)
    return best


@kernel
def least_pulled(pulls, draw):
    """Return one of the least pulled arms: step by step, this is randomised round robin."""
    least, ties = 0, 1
    for i in range(1, pulls.size):
        if pulls[i] < pulls[least]:
            least, ties = i, 1
        elif pulls[i] == pulls[least]:
            ties += 1
    if ties == 1:
        return least
    skip = below(draw, 0, ties)
    for i in range(least, pulls.size):
        if pulls[i] == pulls[least]:
            if skip == 0:
                return i
            skip -= 1
    return least
