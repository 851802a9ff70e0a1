"""Confidence intervals of a running experiment that are valid at all inspections and for all pairs.

With 95 % probability, all of them hold at once. A stopping rule chooses the time at which the data are read,
and so does a person who inspects them before. Intervals for the end of a fixed budget are not valid then, nor
if the rule could have stopped the experiment but did not. For normal rewards the intervals come from a
theorem (`kernels/fit/e_process.py`), for others from `Fit(..., anytime=True)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tideproof.experiment.state.policy_state import PolicyState
from tideproof.kernels.fit.e_process import contrast_bounds

ERROR = 0.05

BoundsFunction = Callable[[int, int], tuple[float, float]]


def anytime_bounds(numbers: PolicyState) -> BoundsFunction | None:
    """Return a function with the bounds of the advantage of one arm over another, or None if unproven.

    The function takes two arm numbers. It uses copied data. Before the first checkpoint the bounds are
    infinite.
    """
    checkpoints = numbers.checkpoints
    if checkpoints is None:
        return None
    place = {arm: i for i, arm in enumerate(checkpoints.arms)}
    proof, fit = checkpoints.current_proof(numbers.laplacian_of(checkpoints.arms))

    def limits(arm: int, rival: int) -> tuple[float, float]:
        if arm not in place or rival not in place:
            return -math.inf, math.inf
        low, high = contrast_bounds(proof, fit, place[arm], place[rival], ERROR)
        return float(low), float(high)

    return limits
