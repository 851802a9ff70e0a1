"""Chart of the arms below each other: adjusted means with confidence intervals, and raw means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_axes import BELOW, Axis, grid_below, name_width
from tideproof.draw.svg_elements import WIDTH, Limits, drawing, element, line, shorten, text, tooltip

_TOP, _LINE = 10.0, 26.0  # top of the first arm, and height of each arm


class ArmInfo(NamedTuple):
    """One arm of the chart: adjusted mean with its interval, raw mean, and whether it is a candidate."""

    name: str
    mean: float
    limits: Limits
    raw_mean: float
    candidate: bool


def draw_arms(arms: Sequence[ArmInfo], axis: Axis) -> str:
    """Draw the arms in the given order as SVG."""
    names = [shorten(arm.name, 16) for arm in arms]
    ends = [x for arm in arms for x in (arm.mean, arm.raw_mean, *(arm.limits or ()))]
    left, bottom = name_width(names), _TOP + _LINE * len(arms)
    axis_ends = axis.ends(ends)
    x = axis.place(axis_ends, left, WIDTH - 14.0)
    elements = grid_below(axis, x, axis_ends, 6.0, bottom)
    for i, (name, arm) in enumerate(zip(names, arms, strict=True)):
        y = _TOP + _LINE * (i + 0.5)
        kind = "candidate" if arm.candidate else "arm"
        elements.append(text(name, left - 10.0, y + 4.5, "end", "name"))
        if arm.limits:
            elements.append(line(x(arm.limits[0]), y, x(arm.limits[1]), y, f"bar {kind}"))
        dot = element(
            "circle", tooltip(_describe_arm(arm, axis)), cx=x(arm.mean), cy=y, r=5.0, class_=f"dot {kind}"
        )
        cross = f"M{x(arm.raw_mean) - 4.0:.1f} {y - 4.0:.1f}l8 8m0 -8l-8 8"
        elements += [dot, element("path", d=cross, class_="raw")]
    return drawing(elements, bottom + BELOW, "adjusted means with intervals, raw means as crosses")


def _describe_arm(arm: ArmInfo, axis: Axis) -> str:
    """Return the tooltip of an arm: its raw and adjusted mean."""
    raw = axis.figures.format_estimate(arm.raw_mean, *(arm.limits or (None, None)))
    return f"{arm.name}: raw {raw}, adjusted {axis.format_value(arm.mean, arm.limits)}"
