"""What the pictures of a report show: numbers of the fit and of its table, chosen and named. No drawing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from tideproof.draw.arms import ArmInfo
from tideproof.draw.gaps import GapInfo, GapsInfo
from tideproof.draw.meetings import MeetingsInfo
from tideproof.draw.svg import Limits
from tideproof.draw.tide import ShiftInfo
from tideproof.estimate import Fit
from tideproof.report.analysis import Analysis
from tideproof.stats.graph import links

MOST = 30  # arms in a picture


def arms_info(analysis: Analysis) -> list[ArmInfo]:
    """Return the first arms of the analysis that were seen, with the numbers of its table."""
    return [
        ArmInfo(str(row["arm"]), row["mean"], _limits(row), row["raw_mean"], _can_be_best(row))
        for row in analysis.arms.to_dicts()[:MOST]
        if row["mean"] is not None
    ]


def tide_info(fit: Fit) -> list[ShiftInfo]:
    """Return the shifts of environments that were seen, with the limits of the fit.

    None at all where each group of arms has a single environment: its shift is 0, but for rounding.
    """
    shifts = [
        ShiftInfo(str(row["environment"]), row["n"], row["shift"], _limits(row))
        for row in fit.shifts
        if row["shift"] is not None
    ]
    pulls = dict(zip(fit.arms["arm"], fit.arms["n"], strict=True))
    groups = sum(pulls[group[0]] > 0 for group in fit.groups)  # an arm nobody saw is a group of its own
    return shifts if len(shifts) > groups else []


def gaps_info(fit: Fit) -> GapsInfo | None:
    """Return the best arm against its runner-up by environment; None where no interval is known."""
    a, b = fit.decision.best, fit.decision.runner_up
    if fit.decision.standing == "not_comparable":
        return None
    gaps = [GapInfo(str(row["environment"]), row["estimate"], _limits(row)) for row in fit.gaps(a, b)]
    if not any(gap.limits for gap in gaps):
        return None
    overall = fit.contrast(a, b)
    return GapsInfo(
        str(a), str(b), gaps, GapInfo("all environments", overall.estimate, _limits(asdict(overall)))
    )


def meetings_info(analysis: Analysis) -> MeetingsInfo:
    """Return who met whom; the evidence of a pair is the sum over environments of n_i n_k/m_j."""
    rows, c = analysis.arms.to_dicts()[:MOST], analysis.fit.cells
    order = [c.arms.index(row["arm"]) for row in rows]
    known = links(c)[np.ix_(order, order)]
    evidence = {
        (i, k): float(known[i, k]) for i, k in combinations(range(len(order)), 2) if known[i, k] > 0.0
    }
    return MeetingsInfo([str(row["arm"]) for row in rows], [_can_be_best(row) for row in rows], evidence)


def _limits(row: Mapping[str, Any]) -> Limits:
    return None if row["low"] is None else (row["low"], row["high"])


def _can_be_best(row: dict[str, Any]) -> bool:
    return row.get("can be best") == "yes"
