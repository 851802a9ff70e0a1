"""Completion of a recommendation with the margin, interval and probability from a fit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tideproof.analysis.arm_contrast import finite_or_none
from tideproof.analysis.fit_result import Fit
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.text import join_groups


def add_evidence(
    found: Recommendation,
    fit: Fit | TideFit,
    anytime_bounds: Callable[[str, str], tuple[float, float]] | None = None,
) -> Recommendation:
    """Return a recommendation completed with margin, interval and probability from a fit.

    Advantages are positive for a better arm in both directions. On the ratio and odds scales they are
    relative: 0.1 means 10 %. `anytime_bounds` returns the lower and upper bound of the advantage of one arm
    over another, valid at all inspections, where they do not come from the fit.
    """
    if isinstance(fit, Fit):
        found = replace(found, left_out=_left_out(fit))
        if len(fit.groups) > 1:  # the fit excluded cells that the policy used
            remark = f"without outlying cells, {join_groups(fit.groups)} cannot be compared: no margin yet"
            return replace(found, remarks=(remark,))
    arm, rival = found.arm, fit.rival(found.arm)
    gap = fit.contrast(arm, rival, picked=True)
    limits = gap.low, gap.high
    margin, (low, high) = gap.estimate, limits
    if found.direction == "minimize":
        margin, (high, low) = -margin, (None if x is None else -x for x in limits)
    if anytime_bounds is not None and arm is not None:
        low, high = map(finite_or_none, anytime_bounds(arm, rival))
    judged = replace(found, runner_up=rival, margin=finite_or_none(margin), scale=fit.scale)
    if fit.exact:
        return replace(judged, remarks=("rewards do not vary: no probability can be given",))
    return replace(judged, low=low, high=high, chance=lambda: fit.p_best[arm])


def _left_out(fit: Fit) -> tuple[str, ...]:
    """Return the names of the outlying cells that `robust="cells"` excluded, the most extreme first."""
    table = () if fit.left_out is None else fit.left_out.table
    return tuple(f"{row['arm']} in {row['environment']!r}" for row in table)
