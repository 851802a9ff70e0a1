"""Conversion of the results of an analysis to a dictionary of plain values, for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideproof.table import to_json_values

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit


def fit_to_dict(fit: Fit) -> dict[str, Any]:
    """Return the results of an analysis as plain values: decision on the best arm, and tables of results."""
    decision, how = fit.decision, fit.tide or fit.bins
    return {
        "verdict": fit.verdict,
        "standing": decision.standing,
        "about": fit.about,
        "doubt": decision.doubt,
        "best": decision.best,
        "candidates": list(decision.candidates) or None,
        "confidence": fit.confidence,
        "anytime": fit.anytime,
        **({} if fit.looks is None else {"looks": fit.looks.to_dict(1.0 - fit.confidence)}),
        "direction": fit.direction,
        "variance": fit.variance,
        "prior": fit.prior,
        "interaction": to_json_values(fit.interaction),
        "left_out": None if fit.left_out is None else fit.left_out.to_dict(),
        "sigma": fit.sigma,
        "degrees_of_freedom": fit.degrees_of_freedom,
        "groups": fit.groups,
        "bridge": fit.bridge,
        "uninformative": fit.uninformative,
        "dropped": fit.cells.dropped,
        "tide": "labels" if how is None else how.to_dict(),
        "arms": to_json_values(fit.arms),
        "comparisons": to_json_values(fit.comparisons),
        "leads": to_json_values(fit.leads) if len(fit.groups) == 1 else None,
        "averages": to_json_values(fit.averages),
        "shifts": to_json_values(fit.shifts),
    }
