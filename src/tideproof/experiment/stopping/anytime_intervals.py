"""Limits of an experiment that hold at all looks, in 95 % of runs for all pairs of arms at once.

A rule that stops a run chooses the moment, and whoever looks before does, too: limits for the end of a budget
that was fixed beforehand are not for them, nor are they for runs that came to the end of their cap because
they did not stop. Normal rewards have those of `kernels/fit/e_process.py`, a theorem; others those of
`Fit(..., anytime=True)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tideproof.experiment.state.policy_state import PolicyState
from tideproof.kernels.fit.e_process import contrast_bounds

ERROR = 0.05

Limits = Callable[[int, int], tuple[float, float]]


def always_apart(numbers: PolicyState) -> Limits | None:
    """Return limits of the advantage of one arm over another, by their numbers; None if nothing is proven.

    What they need is copied. Without a moment from which to predict, they are infinite.
    """
    then = numbers.then
    if then is None:
        return None
    place = {arm: i for i, arm in enumerate(then.arms)}
    proof, fit = then.now(numbers.sums_of(then.arms))

    def limits(arm: int, rival: int) -> tuple[float, float]:
        if arm not in place or rival not in place:
            return -math.inf, math.inf
        low, high = contrast_bounds(proof, fit, place[arm], place[rival], ERROR)
        return float(low), float(high)

    return limits
