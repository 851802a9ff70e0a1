"""Charts of estimates: means of arms, shifts, differences of two arms, and which arms shared environments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_elements import (
    BELOW,
    BOTTOM,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Interval,
    drawing,
    element,
    format_points,
    grid_below,
    line,
    name_width,
    over_environments,
    shorten,
    text,
    tooltip,
)
from tideproof.text import format_count

_TOP, _LINE = 10.0, 26.0  # top of the first arm, and height of each arm
_MAXIMUM_DOTS = 120
_MANY = 120  # with more environments, dots are small
_CENTRE, _HALF_WIDTH, _HALF_HEIGHT = WIDTH / 2.0, 122.0, 98.0  # of the ellipse of arms
_FEW = 8  # up to this many arms are placed at equal angles
_NAME_HEIGHT = 17.0


class ArmInfo(NamedTuple):
    """Data of one arm in a chart: adjusted mean with interval, raw mean, and whether it may be the best."""

    name: str
    mean: float
    interval: Interval
    raw_mean: float
    candidate: bool


def draw_arms(arms: Sequence[ArmInfo], axis: Axis) -> str:
    """Draw an SVG chart of the adjusted mean of each arm with its interval, and of its raw mean."""
    names = [shorten(arm.name, 16) for arm in arms]
    ends = [x for arm in arms for x in (arm.mean, arm.raw_mean, *(arm.interval or ()))]
    left, bottom = name_width(names), _TOP + _LINE * len(arms)
    axis_ends = axis.ends(ends)
    x = axis.place(axis_ends, left, WIDTH - 14.0)
    elements = grid_below(axis, x, axis_ends, 6.0, bottom)
    for i, (name, arm) in enumerate(zip(names, arms, strict=True)):
        y = _TOP + _LINE * (i + 0.5)
        kind = "candidate" if arm.candidate else "arm"
        elements.append(text(name, left - 10.0, y + 4.5, "end", "name"))
        if arm.interval:
            elements.append(line(x(arm.interval[0]), y, x(arm.interval[1]), y, f"bar {kind}"))
        dot = element(
            "circle", tooltip(_describe_arm(arm, axis)), cx=x(arm.mean), cy=y, r=5.0, class_=f"dot {kind}"
        )
        cross = f"M{x(arm.raw_mean) - 4.0:.1f} {y - 4.0:.1f}l8 8m0 -8l-8 8"
        elements += [dot, element("path", d=cross, class_="raw")]
    return drawing(elements, bottom + BELOW, "adjusted means with intervals, raw means as crosses")


def _describe_arm(arm: ArmInfo, axis: Axis) -> str:
    """Return the tooltip of an arm: its raw and adjusted mean."""
    raw = axis.figures.format_estimate(arm.raw_mean, *(arm.interval or (None, None)))
    return f"{arm.name}: raw {raw}, adjusted {axis.format_value(arm.mean, arm.interval)}"


class ShiftInfo(NamedTuple):
    """Data of one environment in a chart: number of rewards, and estimated shift with its interval."""

    environment: str
    n: int
    shift: float
    interval: Interval


class ChangeInfo(NamedTuple):
    """Data of an abrupt jump of the shifts in a chart: its position and its description."""

    position: float
    description: str


def draw_tide(
    shifts: Sequence[ShiftInfo], axis: Axis, across: str = "environment", changes: Sequence[ChangeInfo] = ()
) -> str:
    """Draw an SVG chart of the shift of each environment with a confidence band, and of abrupt jumps."""
    ends = [each.shift for each in shifts]
    if not axis.lifts:  # the band of lifts may be cut off
        ends += [x for each in shifts for x in each.interval or ()]
    x, y, _, elements = over_environments([each.environment for each in shifts], ends, axis, across)
    lower, upper = (
        [(x(i), y(each.interval[end])) for i, each in enumerate(shifts) if each.interval] for end in (0, 1)
    )
    if upper:
        elements.append(element("polygon", points=format_points(upper + lower[::-1]), class_="band"))
    for change in changes:
        at = x(change.position - 0.5)  # between two points
        elements.append(
            element("line", tooltip(change.description), x1=at, y1=TOP, x2=at, y2=BOTTOM, class_="change")
        )
    line = format_points((x(i), y(each.shift)) for i, each in enumerate(shifts))
    elements.append(element("polyline", points=line, class_="tide"))
    if len(shifts) <= _MAXIMUM_DOTS:
        for i, each in enumerate(shifts):
            dot = element(
                "circle", tooltip(_describe_shift(each, axis)), cx=x(i), cy=y(each.shift), r=3.0, class_="dot"
            )
            elements.append(dot)
    return drawing(elements, BOTTOM + BELOW, f"the shift of each {across}")


def _describe_shift(each: ShiftInfo, axis: Axis) -> str:
    """Return the tooltip of an environment: its number of rewards, and its shift with the interval."""
    shift = axis.format_value(each.shift, each.interval, "+")
    return f"{each.environment}: {format_count(each.n, 'reward')}, {shift}"


class GapInfo(NamedTuple):
    """Difference between two arms in one environment, with its confidence interval."""

    environment: str
    estimate: float
    interval: Interval


class GapsInfo(NamedTuple):
    """Differences between two arms: in each environment, and over all environments."""

    a: str
    b: str
    gaps: Sequence[GapInfo]
    overall: GapInfo


def draw_gaps(info: GapsInfo, axis: Axis, across: str = "environment") -> str:
    """Draw an SVG chart of the difference between two arms in each environment and over all of them.

    Each environment has a dot with its interval. The overall difference is a line in a band.
    """
    # the intervals of single lifts can be very long, and may be cut off
    visible = [info.overall] if axis.lifts else [*info.gaps, info.overall]
    ends = [x for gap in visible for x in gap.interval or ()] + [
        gap.estimate for gap in (*info.gaps, info.overall)
    ]
    x, y, left, elements = over_environments([gap.environment for gap in info.gaps], ends, axis, across)
    overall = info.overall
    if overall.interval:
        bottom, top = map(y, overall.interval)
        height = bottom - top
        elements.append(element("rect", x=left, y=top, width=RIGHT - left, height=height, class_="band"))
    elements.append(line(left, y(overall.estimate), RIGHT, y(overall.estimate), "tide"))
    radius = 3.2 if len(info.gaps) <= _MANY else 1.8
    for i, gap in enumerate(info.gaps):
        if gap.interval:
            elements.append(line(x(i), y(gap.interval[0]), x(i), y(gap.interval[1]), "bar thin"))
        dot = element(
            "circle", tooltip(_describe_gap(gap, axis)), cx=x(i), cy=y(gap.estimate), r=radius, class_="dot"
        )
        elements.append(dot)
    return drawing(elements, BOTTOM + BELOW, f"{info.a} minus {info.b} in each environment with both arms")


def _describe_gap(gap: GapInfo, axis: Axis) -> str:
    """Return the tooltip of an environment: its name, and the difference with its interval."""
    return f"{gap.environment}: {axis.format_value(gap.estimate, gap.interval, '+')}"


class MeetingsInfo(NamedTuple):
    """Data of a chart that shows which pairs of arms were compared directly in shared environments.

    Attributes
    ----------
    arms : their names, in the order on the circle.
    candidates : whether each arm is a candidate for the best.
    evidence : information from direct comparisons of two arms, by the indices of the arms.
    """

    arms: Sequence[str]
    candidates: Sequence[bool]
    evidence: dict[tuple[int, int], float]


def draw_meetings(info: MeetingsInfo) -> str:
    """Draw an SVG chart of arms on a circle, with lines between arms that were compared directly.

    Arms are placed clockwise from the top. Thicker lines mean more evidence.
    """
    positions, half_height, margin = _positions(len(info.arms))
    most = max(info.evidence.values(), default=math.nan)
    thickest = min(5.0, 30.0 / len(info.arms))  # thinner lines if there are many of them
    at = [(_CENTRE + _HALF_WIDTH * right, margin + half_height * (1.0 + down)) for right, down in positions]
    elements = []
    for (i, k), known in info.evidence.items():
        (x1, y1), (x2, y2) = at[i], at[k]
        width = 0.6 + thickest * math.sqrt(known / most)
        elements.append(element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, class_="edge"))
    for arm, candidate, (x, y), (right, down) in zip(info.arms, info.candidates, at, positions, strict=True):
        kind = "candidate" if candidate else "arm"
        elements.append(element("circle", tooltip(arm), cx=x, cy=y, r=6.0, class_=f"dot {kind}"))
        elements.append(_name(shorten(arm, 14), x, y, right, down))
    return drawing(
        elements, 2.0 * (margin + half_height), "arms in the same environment are joined by a line"
    )


def _positions(arms: int) -> tuple[list[tuple[float, float]], float, float]:
    """Arrange arms on a circle, for a chart of arms that shared environments.

    Return the positions of the arms on a unit circle, half the height of the drawn circle, and the margin
    above and below it. A position is a pair (right, down). Up to `_FEW` arms are placed at equal angles. More
    arms are placed in rows of equal height, down on the right and up on the left, so that their names do not
    overlap.
    """
    if arms <= _FEW:
        turn = [2.0 * math.pi * i / arms for i in range(arms)]
        return [(math.sin(t), -math.cos(t)) for t in turn], _HALF_HEIGHT, 30.0
    rows = -(-arms // 2)
    downs = [(2.0 * row + 1.0) / rows - 1.0 for row in range(rows)]
    right = [(math.sqrt(1.0 - down**2), down) for down in downs]
    left = [(-across, down) for across, down in right[: arms - rows]]
    return right + left[::-1], max(_HALF_HEIGHT, 0.5 * _NAME_HEIGHT * rows), 4.0


def _name(name: str, x: float, y: float, right: float, down: float) -> str:
    """Return the name of an arm as SVG text outside the circle of arms: above, below or beside the arm."""
    if abs(right) < 0.25:
        return text(name, x, y + (20.0 if down > 0.0 else -12.0), "middle", "name")
    side, push = ("start", 11.0) if right > 0.0 else ("end", -11.0)
    return text(name, x + push, y + 4.5, side, "name")
