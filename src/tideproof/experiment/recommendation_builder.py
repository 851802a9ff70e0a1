"""From what a policy would select to a recommendation: what the fit says of that arm and of its rival."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tideproof.analysis.arm_contrast import known
from tideproof.analysis.fit_result import Fit
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.text import join_groups


def judge(
    found: Recommendation, fit: Fit | TideFit, always: Callable[[str, str], tuple[float, float]] | None = None
) -> Recommendation:
    """Add to a recommendation what the fit says of its arm: advantages are positive, whatever the direction.

    On the scale of ratios or odds they are shares, 0.1 for 10 %. `always` has limits of the advantage of one
    arm over another that hold at all looks, where the fit does not know them.
    """
    if isinstance(fit, Fit):
        found = replace(found, left_out=_left_out(fit))
        if len(fit.groups) > 1:  # the policy saw more than the fit believes
            apart = f"of what is believed, {join_groups(fit.groups)} cannot be compared: no margin yet"
            return replace(found, remarks=(apart,))
    arm, rival = found.arm, fit.rival(found.arm)
    gap = fit.contrast(arm, rival, picked=True)
    limits = gap.low, gap.high
    margin, (low, high) = gap.estimate, limits
    if found.direction == "minimize":
        margin, (high, low) = -margin, (None if x is None else -x for x in limits)
    if always is not None and arm is not None:
        low, high = map(known, always(arm, rival))
    judged = replace(found, runner_up=rival, margin=known(margin), scale=fit.scale)
    if fit.exact:
        return replace(judged, remarks=("rewards do not vary at all: no probability can be given",))
    return replace(judged, low=low, high=high, chance=lambda: fit.p_best[arm])


def _left_out(fit: Fit) -> tuple[str, ...]:
    """Name the cells that `robust="cells"` did not believe, the furthest first."""
    table = () if fit.left_out is None else fit.left_out.table
    return tuple(f"{row['arm']} in {row['environment']!r}" for row in table)
