"""Choosing an arm: ties fall uniformly at random."""

from __future__ import annotations

from tideproof.kernels._link import kernel
from tideproof.kernels.random import below

LOWEST = -1.7976931348623157e308  # below any value, and finite: states are saved as JSON


@kernel
def argmax(values, draw):
    """Return the index of the largest value."""
    best, ties = 0, 1
    for i in range(1, values.size):
        if values[i] > values[best]:
            best, ties = i, 1
        elif values[i] == values[best]:
            ties += 1
            if below(draw, i, ties) == 0:
                best = i
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
