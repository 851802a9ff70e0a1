"""Choose the arm with the largest value or the fewest pulls; ties are broken uniformly at random."""

from __future__ import annotations

from tideproof.core.kernel_linker import kernel
from tideproof.kernels.simulate.threefry import below

LOWEST = -1.7976931348623157e308  # the smallest finite float, because states are saved as JSON


@kernel
def contend(best, top, ties, i, value, draw):
    """Compare arm i with the best arm so far, and return the better of the two.

    The other results are the best arm's value and the number of ties.

    `best` is -1 before the first arm. This is for loops that skip some arms; `argmax` handles a whole array.
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
    """Return the index of the largest value; ties are broken at random."""
    return argmax_in_lane(values, draw, 0)


@kernel
def argmax_in_lane(values, draw, lane):
    """Return the index of the largest value; ties are broken by the random number with index `lane`.

    It is one of the random numbers of the step. With different lanes, two asks with the same draw break
    ties independently.
    """
    best, top, ties = 0, values[0], 1
    for i in range(1, values.size):
        if values[i] > top:
            best, top, ties = i, values[i], 1
        elif values[i] == top:
            ties += 1
    return best if ties == 1 else _one_of(values, top, ties, draw, lane)


@kernel
def least_pulled(pulls, draw):
    """Return an arm with the fewest pulls; repeated calls give a randomised round robin."""
    least, fewest, ties = 0, pulls[0], 1
    for i in range(1, pulls.size):
        if pulls[i] < fewest:
            least, fewest, ties = i, pulls[i], 1
        elif pulls[i] == fewest:
            ties += 1
    return least if ties == 1 else _one_of(pulls, fewest, ties, draw, 0)


@kernel
def _one_of(values, value, ties, draw, lane):
    """Return a random index among the `ties` array elements that equal `value`."""
    skip = below(draw, lane, ties)
    for i in range(values.size):
        if values[i] == value:
            if skip == 0:
                return i
            skip -= 1
    return -1  # unreachable, because some element has the value
