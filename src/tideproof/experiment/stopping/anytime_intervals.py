"""Confidence intervals that stay valid however often a running experiment is inspected.

With 95 % probability, the intervals of all pairs of arms at all inspections hold at once. With a stopping
rule, the data determine when the experiment ends, and so they do if a person inspects them before the end.
Intervals for the end of a fixed budget are not valid then, not even if the rule never stops the experiment.
For normal rewards the intervals come from a theorem (`kernels/fit/e_process.py`), for others from
`Fit(..., anytime=True)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tideproof.experiment.state.policy_state import PolicyState
from tideproof.kernels.fit.e_process import contrast_bounds

ERROR = 0.05

BoundsFunction = Callable[[int, int], tuple[float, float]]


def anytime_bounds(numbers: PolicyState) -> BoundsFunction | None:
    """Return a function that computes confidence bounds of the difference of two arms.

    The result is None if there is no e-process. An e-process needs a confidence level and normal rewards. The
    function takes two arm numbers and returns the lower and the upper bound of the advantage of the first
    arm. It uses copied data. Before the first checkpoint the bounds are infinite.
    """
    checkpoints = numbers.checkpoints
    if checkpoints is None:
        return None
    position = {arm: i for i, arm in enumerate(checkpoints.arms)}
    proof, fit = checkpoints.current_proof(numbers.rewards.laplacian_of(checkpoints.arms))

    def limits(arm: int, rival: int) -> tuple[float, float]:
        if arm not in position or rival not in position:
            return -math.inf, math.inf
        low, high = contrast_bounds(proof, fit, position[arm], position[rival], ERROR)
        return float(low), float(high)

    return limits
