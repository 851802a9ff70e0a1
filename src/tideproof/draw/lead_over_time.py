"""The lead of one arm over another as data came in: by raw means, and with the tide taken out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_axes import BELOW, BOTTOM, Axis, over_environments
from tideproof.draw.svg_elements import drawing, element, hint, points

_MOST = 120  # dots


class LeadInfo(NamedTuple):
    """After an environment: the lead by raw means and by adjusted ones, as far as there is one."""

    environment: str
    raw: float | None
    adjusted: float | None


def draw_lead(leads: Sequence[LeadInfo], axis: Axis) -> str:
    """Draw both leads; below zero the other arm is ahead."""
    values = [x for each in leads for x in (each.raw, each.adjusted) if x is not None]
    x, y, _, elements = over_environments([each.environment for each in leads], values, axis)
    for class_, said, line in (
        ("raw", "raw", [each.raw for each in leads]),
        ("tide", "adjusted", [each.adjusted for each in leads]),
    ):
        known = [(i, value) for i, value in enumerate(line) if value is not None]
        places = points((x(i), y(value)) for i, value in known)
        elements.append(element("polyline", points=places, class_=class_))
        if len(leads) <= _MOST:
            for i, value in known:
                note = hint(f"after {leads[i].environment}, {said}: {axis.figures.format_rough(value, '+')}")
                kind = "dot" if class_ == "tide" else "dot raw-dot"
                elements.append(element("circle", note, cx=x(i), cy=y(value), r=2.6, class_=kind))
    return drawing(elements, BOTTOM + BELOW, "the lead by raw and by adjusted means, as data came in")
