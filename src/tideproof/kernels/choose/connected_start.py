"""Initial pulls of all arms in a randomised round robin that makes all arms comparable.

This is Algorithm 1 of the paper.

While the arms are not connected, a new environment starts with the arm played last, which links its arms to
all earlier ones. After two such repetitions in a row that linked nothing (environments of length 1), the
next arm is played instead.

Srisawad, Branke, Tran-Thanh (2024), Identifying the best arm in the presence of global environment
shifts, ECAI, Algorithm 1.
"""

from __future__ import annotations

from typing import NamedTuple

from tideproof.core.kernel_linker import kernel
from tideproof.core.kernel_state_arrays import Int1, IntK
from tideproof.kernels.fit.statistics_interface import connected
from tideproof.kernels.simulate.threefry import below

_NO_LIMIT = 2**62


class Start(NamedTuple):
    """State of the initial round robin of pulls, which makes all arms comparable.

    The round robin is Algorithm 1 of the paper.

    Attributes
    ----------
    turns : (K,) number of turns of each arm in the round robin; a repetition is not a turn.
    last : (1,) index of the arm played last, plus one; 0 before the first pull.
    futile : (1,) number of consecutive repetitions that linked nothing.
    """

    turns: IntK
    last: Int1
    futile: Int1


@kernel
def started(data, n0):
    """Return whether the initial pulls are complete: n0 pulls of every arm, and all arms comparable."""
    if not connected(data.fit):
        return False
    for i in range(data.pulls.size):  # noqa: SIM110
        if data.pulls[i] < n0:
            return False
    return True


@kernel
def _replays(start, data, slot):
    """Return whether the arm that was pulled last must also be the first arm of a new environment."""
    return slot.size[0] == 0.0 and start.last[0] > 0 and start.futile[0] < 2 and not connected(data.fit)


@kernel
def start_arm(start, data, slot, n0, avoid, draw):
    """Return the next arm of the initial round robin of pulls.

    It is not the arm `avoid` (-1 for none).

    Arms leave the round robin with their n0-th pull. If all arms have left before they are connected, the
    round robin continues with all of them.
    """
    if _replays(start, data, slot):
        return start.last[0] - 1
    turns, pulls = start.turns, data.pulls
    K = pulls.size
    limit = _NO_LIMIT
    for i in range(K):
        if pulls[i] < n0 and i != avoid:
            limit = n0
    least, ties = _NO_LIMIT, 0
    for i in range(K):
        if pulls[i] < limit and i != avoid:
            if turns[i] < least:
                least, ties = turns[i], 1
            elif turns[i] == least:
                ties += 1
    skip = below(draw, 0, ties)
    for i in range(K):
        if pulls[i] < limit and i != avoid and turns[i] == least:
            if skip == 0:
                return i
            skip -= 1
    return -1  # unreachable, because some arm has the fewest turns


@kernel
def start_tell(start, data, slot, arm, n):
    """Record `n` pulls of `arm` in the initial round robin.

    This must be called before the statistics of the environment change.
    """
    if arm == start.last[0] - 1 and _replays(start, data, slot):
        start.futile[0] += 1
    else:
        start.turns[arm] += n
        start.futile[0] = 0
    start.last[0] = arm + 1
