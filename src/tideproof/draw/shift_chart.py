"""Chart of the tide: the estimated shift of each environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_axes import BELOW, BOTTOM, TOP, Axis, over_environments
from tideproof.draw.svg_elements import Limits, drawing, element, format_points, tooltip
from tideproof.text import format_count

_MAXIMUM_DOTS = 120


class ShiftInfo(NamedTuple):
    """One environment: its number of rewards, and its shift with the interval, if there is one."""

    environment: str
    n: int
    shift: float
    limits: Limits


class ChangeInfo(NamedTuple):
    """Jump of the tide: its position among the shifts, and its description."""

    position: float
    description: str


def draw_tide(
    shifts: Sequence[ShiftInfo], axis: Axis, across: str = "environment", changes: Sequence[ChangeInfo] = ()
) -> str:
    """Draw the shift of each environment with its interval as a band, and jumps as lines, as SVG."""
    ends = [each.shift for each in shifts]
    if not axis.lifts:  # the band of lifts may be cut off
        ends += [x for each in shifts for x in each.limits or ()]
    x, y, _, elements = over_environments([each.environment for each in shifts], ends, axis, across)
    lower, upper = (
        [(x(i), y(each.limits[end])) for i, each in enumerate(shifts) if each.limits] for end in (0, 1)
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
    shift = axis.format_value(each.shift, each.limits, "+")
    return f"{each.environment}: {format_count(each.n, 'reward')}, {shift}"
