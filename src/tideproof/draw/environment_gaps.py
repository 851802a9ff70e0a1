"""Chart of the difference between two arms in each environment, and their contrast over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_axes import BELOW, BOTTOM, RIGHT, Axis, over_environments
from tideproof.draw.svg_elements import Limits, drawing, element, line, tooltip

_MANY = 120  # with more environments, dots are small


class GapInfo(NamedTuple):
    """Difference between two arms in one environment: its name, the estimate and its interval."""

    environment: str
    estimate: float
    limits: Limits


class GapsInfo(NamedTuple):
    """Differences between arm `a` and arm `b` by environment, and `overall`, their contrast."""

    a: str
    b: str
    gaps: Sequence[GapInfo]
    overall: GapInfo


def draw_gaps(info: GapsInfo, axis: Axis, across: str = "environment") -> str:
    """Draw a dot with its interval for each environment, and the contrast as a line in a band, as SVG."""
    # the intervals of single lifts can be very long, and may be cut off
    visible = [info.overall] if axis.lifts else [*info.gaps, info.overall]
    ends = [x for gap in visible for x in gap.limits or ()] + [
        gap.estimate for gap in (*info.gaps, info.overall)
    ]
    x, y, left, elements = over_environments([gap.environment for gap in info.gaps], ends, axis, across)
    overall = info.overall
    if overall.limits:
        bottom, top = map(y, overall.limits)
        height = bottom - top
        elements.append(element("rect", x=left, y=top, width=RIGHT - left, height=height, class_="band"))
    elements.append(line(left, y(overall.estimate), RIGHT, y(overall.estimate), "tide"))
    radius = 3.2 if len(info.gaps) <= _MANY else 1.8
    for i, gap in enumerate(info.gaps):
        if gap.limits:
            elements.append(line(x(i), y(gap.limits[0]), x(i), y(gap.limits[1]), "bar thin"))
        dot = element(
            "circle", tooltip(_describe_gap(gap, axis)), cx=x(i), cy=y(gap.estimate), r=radius, class_="dot"
        )
        elements.append(dot)
    return drawing(elements, BOTTOM + BELOW, f"{info.a} minus {info.b} in each environment with both arms")


def _describe_gap(gap: GapInfo, axis: Axis) -> str:
    """Return the tooltip of an environment: its name, and the difference with its interval."""
    return f"{gap.environment}: {axis.format_value(gap.estimate, gap.limits, '+')}"
