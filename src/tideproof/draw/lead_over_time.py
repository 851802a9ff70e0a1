"""Chart of the lead of one arm over another after each environment, by raw means and by adjusted means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_elements import (
    BELOW,
    BOTTOM,
    Axis,
    drawing,
    element,
    format_points,
    over_environments,
    tooltip,
)

_MAXIMUM_DOTS = 120


class LeadInfo(NamedTuple):
    """Lead of one arm over another, by raw and by adjusted means, after one environment of a sequence.

    A lead that is undefined is None.
    """

    environment: str
    raw: float | None
    adjusted: float | None


def draw_lead(leads: Sequence[LeadInfo], axis: Axis) -> str:
    """Draw an SVG chart of one arm's lead over another after each environment, by raw and adjusted means.

    Below zero, the other arm leads.
    """
    all_values = [x for each in leads for x in (each.raw, each.adjusted) if x is not None]
    x, y, _, elements = over_environments([each.environment for each in leads], all_values, axis)
    for class_, kind_of_mean, values in (
        ("raw", "raw", [each.raw for each in leads]),
        ("tide", "adjusted", [each.adjusted for each in leads]),
    ):
        known = [(i, value) for i, value in enumerate(values) if value is not None]
        corners = format_points((x(i), y(value)) for i, value in known)
        elements.append(element("polyline", points=corners, class_=class_))
        if len(leads) <= _MAXIMUM_DOTS:
            for i, value in known:
                lead = axis.figures.format_rough(value, "+")
                note = tooltip(f"after {leads[i].environment}, {kind_of_mean}: {lead}")
                kind = "dot" if class_ == "tide" else "dot raw-dot"
                elements.append(element("circle", note, cx=x(i), cy=y(value), r=2.6, class_=kind))
    return drawing(elements, BOTTOM + BELOW, "the lead by raw and by adjusted means after each environment")
