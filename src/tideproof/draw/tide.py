"""The tide: how far each environment lifted all arms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg import drawing, element, hint, points
from tideproof.draw.svg_axes import BOTTOM, over_environments
from tideproof.words import counted

_MOST = 120  # dots


class ShiftInfo(NamedTuple):
    """One environment: its rewards, its shift and the interval of that, if there is one."""

    environment: str
    n: int
    shift: float
    low: float | None
    high: float | None


def draw_tide(shifts: Sequence[ShiftInfo]) -> str:
    """Draw the shift of each environment, with its interval as a band."""
    ends = [x for each in shifts for x in (each.shift, each.low, each.high) if x is not None]
    x, y, elements = over_environments([each.environment for each in shifts], ends)
    upper = [(x(i), y(each.high)) for i, each in enumerate(shifts) if each.high is not None]
    lower = [(x(i), y(each.low)) for i, each in enumerate(shifts) if each.low is not None]
    if upper:
        elements.append(element("polygon", points=points(upper + lower[::-1]), class_="band"))
    line = points((x(i), y(each.shift)) for i, each in enumerate(shifts))
    elements.append(element("polyline", points=line, class_="tide"))
    if len(shifts) <= _MOST:
        for i, each in enumerate(shifts):
            dot = element("circle", hint(_said(each)), cx=x(i), cy=y(each.shift), r=3.0, class_="dot")
            elements.append(dot)
    return drawing(elements, BOTTOM + 28.0, "the shift of each environment")


def _said(each: ShiftInfo) -> str:
    said = f"{each.environment}: {each.shift:+.4g}, {counted(each.n, 'reward')}"
    return said if each.low is None else f"{said}, interval {each.low:+.4g} to {each.high:+.4g}"
