"""Data of the charts in a report: numbers of the fit, selected and labelled for drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis import Fit
from tideproof.analysis.words.fit_report import FitReport
from tideproof.analysis.words.fit_text import contrast_format, mean_format
from tideproof.draw.fit_charts import ArmInfo, ChangeInfo, GapInfo, GapsInfo, MeetingsInfo, ShiftInfo
from tideproof.draw.svg_elements import Axis, Limits, shorten
from tideproof.stats.solve.laplacian import link_weights

MOST = 30  # largest number of arms in a chart
POINTS = 240  # largest number of environments in a chart, or of groups of consecutive environments


def arms_info(analysis: FitReport) -> list[ArmInfo]:
    """Return the data of the chart of arms: means and intervals of the first arms that were observed."""
    return [
        ArmInfo(str(row["arm"]), row["mean"], _row_bounds(row), row["raw_mean"], _can_be_best(row))
        for row in analysis.arms.to_dicts()[:MOST]
        if _finite(row["mean"]) is not None
    ]


def means_axis(fit: Fit) -> Axis:
    """Return the axis of adjusted means; rates end at 0 and 1."""
    if fit.cells.binary:
        return Axis("share of rewards that are 1", mean_format(fit), 0.0, 1.0)
    return Axis("mean reward", mean_format(fit), 0.0 if fit.cells.mean.min() >= 0.0 else -math.inf)


def gaps_axis(fit: Fit, info: GapsInfo) -> Axis:
    """Return the axis for the difference or lift of one arm over another."""
    names = {
        "difference": f"{shorten(info.a, 16)} minus {shorten(info.b, 16)}{_unit(fit)}",
        "ratio": f"lift of {shorten(info.a, 16)} over {shorten(info.b, 16)}",
        "odds": f"lift of the odds of {shorten(info.a, 16)} over {shorten(info.b, 16)}",
        "log": f"lift of {shorten(info.a, 16)} over {shorten(info.b, 16)}",
    }
    return Axis(names[fit.scale], contrast_format(fit), lifts=fit.lifts)


def shifts_axis(fit: Fit) -> Axis:
    """Return the axis of the shifts."""
    if not fit.lifts:
        return Axis(f"shift of all arms{_unit(fit)}", contrast_format(fit))
    what = "the odds of all arms" if fit.scale == "odds" else "all arms"
    return Axis(f"lift of {what} over their average", contrast_format(fit), lifts=True)


def _unit(fit: Fit) -> str:
    """Return the unit after an axis label: percentage points for 0/1 rewards."""
    return ", percentage points" if fit.cells.binary else ""


class ShiftChart(NamedTuple):
    """Data of the chart of shifts: one point per environment, or per group of environments if they are many.

    `each` is the number of environments of a group. The point of a group is the mean of its shifts, and the
    interval spans their range.
    """

    shifts: list[ShiftInfo]
    each: int


def tide_info(fit: Fit) -> ShiftChart | None:
    """Return the shifts of the observed environments with their intervals; on ratio scales, as lifts.

    Return None if each group of arms has a single environment, whose shift is 0 by definition.
    """
    one = 1.0 if fit.lifts else 0.0  # the shift of an average environment
    table = fit.shifts
    columns = (table[name] for name in ("environment", "n", "shift", "low", "high"))
    shifts = [
        ShiftInfo(str(environment), n, above, _bounds(low, high, one))
        for environment, n, shift, low, high in zip(
            *columns, strict=True
        )  # by column, which is fast for many environments
        if (above := _finite(shift, one)) is not None
    ]
    pulls = dict(zip(fit.arms["arm"], fit.arms["n"], strict=True))
    groups = sum(pulls[group[0]] > 0 for group in fit.groups)  # an arm without rewards is a group by itself
    if len(shifts) <= groups:
        return None
    each = -(-len(shifts) // POINTS)
    parts = [shifts[i : i + each] for i in range(0, len(shifts), each)]
    return ShiftChart(shifts if each == 1 else [_merge_points(part) for part in parts], each)


def _merge_points(part: list[ShiftInfo]) -> ShiftInfo:
    """Return neighbouring shifts as one point: their mean, with their range as interval."""
    n = sum(each.n for each in part)
    mean = sum(each.n * each.shift for each in part) / n
    ends = min(each.shift for each in part), max(each.shift for each in part)
    name = part[0].environment if len(part) == 1 else f"{part[0].environment} to {part[-1].environment}"
    return ShiftInfo(name, n, mean, ends)


class HiddenTideChart(NamedTuple):
    """Data of the chart of a hidden tide (one estimated without environments): its curve and its jumps."""

    shifts: list[ShiftInfo]
    changes: list[ChangeInfo]


def hidden_tide_info(fit: Fit) -> HiddenTideChart | None:
    """Return the data of the chart of a hidden tide; None for a log with environment labels."""
    if fit.tide is None:
        return None
    rows = fit.tide.points(fit.level).to_dicts()
    shifts = [ShiftInfo(str(row["time"]), row["n"], row["shift"], _row_bounds(row)) for row in rows]
    changes = [ChangeInfo(*each) for each in zip(fit.tide.places, fit.tide.said_of_changes(), strict=True)]
    return HiddenTideChart(shifts, changes)


class GapChart(NamedTuple):
    """Data of the chart that compares two arms in each environment, and the number of environments."""

    info: GapsInfo
    met: int


def gaps_info(fit: Fit) -> GapChart | None:
    """Return the data of the chart that compares the best arm with its runner-up in single environments.

    If there are too many environments, those with the smallest standard errors are chosen. Return None if
    arms cannot be compared or no interval is known.
    """
    a, b = fit.decision.best, fit.decision.runner_up
    if fit.decision.standing == "not_comparable":
        return None
    rows = [row for row in fit.gaps(a, b) if _finite(row["estimate"]) is not None]
    said = sorted(range(len(rows)), key=lambda i: math.inf if rows[i]["se"] is None else rows[i]["se"])
    gaps = [
        GapInfo(str(rows[i]["environment"]), rows[i]["estimate"], _row_bounds(rows[i]))
        for i in sorted(said[:POINTS])
    ]
    overall = fit.contrast(a, b, picked=True)
    if not any(gap.limits for gap in gaps) or _finite(overall.estimate) is None:
        return None
    line = GapInfo(
        "all rewards" if fit.tide else "all environments", overall.estimate, _row_bounds(asdict(overall))
    )
    return GapChart(GapsInfo(str(a), str(b), gaps, line), len(rows))


def meetings_info(analysis: FitReport) -> MeetingsInfo | None:
    """Return the data of the chart of which arms shared environments.

    The evidence for a pair is the sum of n_i n_k/m_j over environments. Return None if all pairs shared
    environments, if there are too many arms, or if the tide is hidden.
    """
    rows, c = analysis.arms.to_dicts(), analysis.fit.cells
    if len(rows) > MOST or analysis.fit.tide is not None:
        return None
    order = [c.arms.index(row["arm"]) for row in rows]
    known = link_weights(c)[np.ix_(order, order)]
    pairs = list(combinations(range(len(order)), 2))
    evidence = {(i, k): float(known[i, k]) for i, k in pairs if known[i, k] > 0.0}
    if len(evidence) == len(pairs):
        return None
    return MeetingsInfo([str(row["arm"]) for row in rows], [_can_be_best(row) for row in rows], evidence)


def _row_bounds(row: Mapping[str, Any]) -> Limits:
    """Return the bounds of the interval in a row; None if one of them is unknown."""
    return _bounds(row["low"], row["high"])


def _bounds(low: float | None, high: float | None, one: float = 0.0) -> Limits:
    """Return the bounds of an interval minus `one`, the neutral value; None if one of them is unknown."""
    low, high = _finite(low, one), _finite(high, one)
    return None if low is None or high is None else (low, high)


def _finite(x: float | None, one: float = 0.0) -> float | None:
    """Return a number minus `one`; None if the number is unknown or infinite."""
    return None if x is None or not math.isfinite(x) else x - one


def _can_be_best(row: dict[str, Any]) -> bool:
    """Return whether the data allow the arm of a row to be the best."""
    return row.get("can be best") == "yes"
