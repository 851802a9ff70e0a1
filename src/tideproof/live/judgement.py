"""From what a policy would select to a recommendation: what the fit says of that arm and of its rival."""

from __future__ import annotations

from dataclasses import replace

from tideproof.estimate.contrast import known
from tideproof.estimate.fitted import Fit
from tideproof.live.recommendation import Recommendation


def judge(found: Recommendation, fit: Fit) -> Recommendation:
    """Add to a recommendation what the fit says of its arm: advantages are positive, whatever the direction.

    On the scale of ratios or odds they are shares, 0.1 for 10 %.
    """
    arm, rival = found.arm, fit.rival(found.arm)
    gap = fit.contrast(arm, rival, picked=True)
    limits = gap.low, gap.high
    margin, (low, high) = gap.estimate, limits
    if found.direction == "minimize":
        margin, (high, low) = -margin, (None if x is None else -x for x in limits)
    judged = replace(found, runner_up=rival, margin=known(margin), scale=fit.scale)
    if fit.exact:
        return replace(judged, remarks=("rewards do not vary at all: no probability can be given",))
    return replace(judged, low=low, high=high, chance=lambda: fit.p_best[arm])
