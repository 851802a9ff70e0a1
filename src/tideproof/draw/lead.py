"""The lead of one arm over another as data came in: as the raw means had it, and as it is without the tide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg import drawing, element, hint, points
from tideproof.draw.svg_axes import BELOW, BOTTOM, Axis, over_environments

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
    for class_, said, column in (("raw", "raw", 1), ("tide", "adjusted", 2)):
        known = [(i, each[column]) for i, each in enumerate(leads) if each[column] is not None]
        line = points((x(i), y(float(value))) for i, value in known)
        elements.append(element("polyline", points=line, class_=class_))
        if len(leads) <= _MOST:
            for i, value in known:
                note = hint(f"after {leads[i].environment}, {said}: {axis.figures.rough(float(value), '+')}")
                kind = "dot" if class_ == "tide" else "dot raw-dot"
                elements.append(element("circle", note, cx=x(i), cy=y(float(value)), r=2.6, class_=kind))
    return drawing(elements, BOTTOM + BELOW, "the lead by raw and by adjusted means, as data came in")
