"""What the pictures of a report show: numbers of the fit and of its table, chosen and named. No drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis import Fit
from tideproof.analysis.number_formats import of_gaps, of_means
from tideproof.draw.arm_graph import MeetingsInfo
from tideproof.draw.arm_intervals import ArmInfo
from tideproof.draw.environment_gaps import GapInfo, GapsInfo
from tideproof.draw.shift_chart import ChangeInfo, ShiftInfo
from tideproof.draw.svg_axes import Axis
from tideproof.draw.svg_elements import Limits, short
from tideproof.report.analysis_report import Analysis
from tideproof.stats.solve.laplacian import links

MOST = 30  # arms in a picture
POINTS = 240  # environments, or neighbours taken together


def arms_info(analysis: Analysis) -> list[ArmInfo]:
    """Return the first arms of the analysis that were seen, with the numbers of its table."""
    return [
        ArmInfo(str(row["arm"]), row["mean"], _limits(row), row["raw_mean"], _can_be_best(row))
        for row in analysis.arms.to_dicts()[:MOST]
        if _finite(row["mean"]) is not None
    ]


def means_axis(fit: Fit) -> Axis:
    """Return the axis of adjusted means: rates have ends."""
    if fit.cells.binary:
        return Axis("share of rewards that are 1", of_means(fit), 0.0, 1.0)
    return Axis("mean reward", of_means(fit), 0.0 if fit.cells.mean.min() >= 0.0 else -math.inf)


def gaps_axis(fit: Fit, info: GapsInfo) -> Axis:
    """Return the axis of one arm against another."""
    names = {
        "difference": f"{short(info.a, 16)} minus {short(info.b, 16)}{_unit(fit)}",
        "ratio": f"lift of {short(info.a, 16)} over {short(info.b, 16)}",
        "odds": f"lift of the odds of {short(info.a, 16)} over {short(info.b, 16)}",
        "log": f"lift of {short(info.a, 16)} over {short(info.b, 16)}",
    }
    return Axis(names[fit.scale], of_gaps(fit), lifts=fit.lifts)


def shifts_axis(fit: Fit) -> Axis:
    """Return the axis of the tide."""
    if not fit.lifts:
        return Axis(f"shift of all arms{_unit(fit)}", of_gaps(fit))
    what = "the odds of all arms" if fit.scale == "odds" else "all arms"
    return Axis(f"lift of {what} over their average", of_gaps(fit), lifts=True)


def _unit(fit: Fit) -> str:
    return ", percentage points" if fit.cells.binary else ""


class ShiftChart(NamedTuple):
    """Shifts to draw; if `each` is more than 1 a shift is the mean of as many neighbours, or one less.

    Its interval is then from the lowest to the highest of them.
    """

    shifts: list[ShiftInfo]
    each: int


def tide_info(fit: Fit) -> ShiftChart | None:
    """Return the shifts of environments that were seen, with the limits of the fit; factors as lifts.

    None where each group of arms has a single environment: its shift is 0, but for rounding.
    """
    one = 1.0 if fit.lifts else 0.0  # the shift of an average environment
    table = fit.shifts
    columns = (table[name] for name in ("environment", "n", "shift", "low", "high"))
    shifts = [
        ShiftInfo(str(environment), n, above, _between(low, high, one))
        for environment, n, shift, low, high in zip(*columns, strict=True)  # there may be many
        if (above := _finite(shift, one)) is not None
    ]
    pulls = dict(zip(fit.arms["arm"], fit.arms["n"], strict=True))
    groups = sum(pulls[group[0]] > 0 for group in fit.groups)  # an arm nobody saw is a group of its own
    if len(shifts) <= groups:
        return None
    each = -(-len(shifts) // POINTS)
    parts = [shifts[i : i + each] for i in range(0, len(shifts), each)]
    return ShiftChart(shifts if each == 1 else [_together(part) for part in parts], each)


def _together(part: list[ShiftInfo]) -> ShiftInfo:
    """Return neighbours as one: the mean over their rewards, from the lowest to the highest."""
    n = sum(each.n for each in part)
    mean = sum(each.n * each.shift for each in part) / n
    ends = min(each.shift for each in part), max(each.shift for each in part)
    name = part[0].environment if len(part) == 1 else f"{part[0].environment} to {part[-1].environment}"
    return ShiftInfo(name, n, mean, ends)


class HiddenTideChart(NamedTuple):
    """A hidden tide to draw: its curve, and where it jumped."""

    shifts: list[ShiftInfo]
    changes: list[ChangeInfo]


def followed_info(fit: Fit) -> HiddenTideChart | None:
    """Return the curve of a tide that was followed by time; None where labels told."""
    if fit.tide is None:
        return None
    rows = fit.tide.points(fit.level).to_dicts()
    shifts = [ShiftInfo(str(row["time"]), row["n"], row["shift"], _limits(row)) for row in rows]
    changes = [ChangeInfo(*each) for each in zip(fit.tide.places, fit.tide.said_of_changes(), strict=True)]
    return HiddenTideChart(shifts, changes)


class GapChart(NamedTuple):
    """Gaps to draw, and in how many environments the two arms met."""

    info: GapsInfo
    met: int


def gaps_info(fit: Fit) -> GapChart | None:
    """Return the best arm against its runner-up in the environments that say most of them.

    None where no interval is known.
    """
    a, b = fit.decision.best, fit.decision.runner_up
    if fit.decision.standing == "not_comparable":
        return None
    rows = [row for row in fit.gaps(a, b) if _finite(row["estimate"]) is not None]
    said = sorted(range(len(rows)), key=lambda i: math.inf if rows[i]["se"] is None else rows[i]["se"])
    gaps = [
        GapInfo(str(rows[i]["environment"]), rows[i]["estimate"], _limits(rows[i]))
        for i in sorted(said[:POINTS])
    ]
    overall = fit.contrast(a, b, picked=True)
    if not any(gap.limits for gap in gaps) or _finite(overall.estimate) is None:
        return None
    line = GapInfo(
        "all rewards" if fit.tide else "all environments", overall.estimate, _limits(asdict(overall))
    )
    return GapChart(GapsInfo(str(a), str(b), gaps, line), len(rows))


def meetings_info(analysis: Analysis) -> MeetingsInfo | None:
    """Return who met whom; the evidence of a pair is the sum over environments of n_i n_k/m_j.

    None where that tells nothing, because all arms met each other or the tide was followed by time, or too
    much, because they are many.
    """
    rows, c = analysis.arms.to_dicts(), analysis.fit.cells
    if len(rows) > MOST or analysis.fit.tide is not None:
        return None
    order = [c.arms.index(row["arm"]) for row in rows]
    known = links(c)[np.ix_(order, order)]
    pairs = list(combinations(range(len(order)), 2))
    evidence = {(i, k): float(known[i, k]) for i, k in pairs if known[i, k] > 0.0}
    if len(evidence) == len(pairs):
        return None
    return MeetingsInfo([str(row["arm"]) for row in rows], [_can_be_best(row) for row in rows], evidence)


def _limits(row: Mapping[str, Any]) -> Limits:
    return _between(row["low"], row["high"])


def _between(low: float | None, high: float | None, one: float = 0.0) -> Limits:
    low, high = _finite(low, one), _finite(high, one)
    return None if low is None or high is None else (low, high)


def _finite(x: float | None, one: float = 0.0) -> float | None:
    """Return how far a number is above `one`; None if it is unknown or infinite."""
    return None if x is None or not math.isfinite(x) else x - one


def _can_be_best(row: dict[str, Any]) -> bool:
    return row.get("can be best") == "yes"
