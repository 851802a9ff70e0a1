"""A fit as plain values, for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tideproof.table import plain

if TYPE_CHECKING:
    from tideproof.analysis.fit_result import Fit


def in_plain(fit: Fit) -> dict[str, Any]:
    """Return what a fit found: who wins, how sure that is, and its tables as lists of rows."""
    decision, how = fit.decision, fit.tide or fit.bins
    return {
        "verdict": fit.verdict,
        "standing": decision.standing,
        "doubt": decision.doubt,
        "best": decision.best,
        "candidates": list(decision.candidates) or None,
        "level": fit.level,
        "anytime": fit.anytime,
        "direction": fit.direction,
        "variance": fit.variance,
        "prior": fit.prior,
        "interaction": plain(fit.interaction),
        "left_out": None if fit.left_out is None else fit.left_out.to_dict(),
        "sigma": fit.sigma,
        "freedom": fit.freedom,
        "groups": fit.groups,
        "bridge": fit.bridge,
        "uninformative": fit.uninformative,
        "dropped": fit.cells.dropped,
        "tide": "labels" if how is None else how.to_dict(),
        "arms": plain(fit.arms),
        "comparisons": plain(fit.comparisons),
        "averages": plain(fit.averages),
        "shifts": plain(fit.shifts),
    }
