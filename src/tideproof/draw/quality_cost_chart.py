"""Chart of the mean score of each arm against its mean cost, both with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_elements import (
    BELOW,
    BOTTOM,
    RIGHT,
    TOP,
    Axis,
    Interval,
    drawing,
    element,
    format_points,
    grid_below,
    line,
    name_width,
    shorten,
    text,
    tooltip,
)

_LETTER = 7.2  # approximate width of a letter of a name beside its dot


class QualityCostInfo(NamedTuple):
    """Mean score and mean cost of an arm with confidence intervals, and whether it can be the best.

    `efficient` says whether no other arm is both better and cheaper, by the estimates.
    """

    name: str
    score: float
    score_interval: Interval
    cost: float
    cost_interval: Interval
    candidate: bool
    efficient: bool


def draw_quality_cost(arms: Sequence[QualityCostInfo], quality: Axis, cost: Axis) -> str:
    """Draw an SVG chart of arms' scores against costs; a line joins arms that no arm beats in both."""
    y_ends = quality.ends([x for arm in arms for x in (arm.score, *(arm.score_interval or ()))])
    x_ends = cost.ends([x for arm in arms for x in (arm.cost, *(arm.cost_interval or ()))])
    at = quality.ticks(*y_ends)
    left = name_width([said for _, said in at]) - 20.0
    x, y = cost.place(x_ends, left, RIGHT), quality.place(y_ends, BOTTOM, TOP)
    elements = grid_below(cost, x, x_ends, TOP, BOTTOM)
    elements += [line(left, y(value), RIGHT, y(value), "grid") for value, _ in at]
    elements += [text(said, left - 6.0, y(value) + 4.5, "end") for value, said in at]
    elements.append(text(quality.name, 4.0, 14.0))
    best = sorted((arm for arm in arms if arm.efficient), key=lambda arm: arm.cost)
    elements.append(
        element("polyline", points=format_points((x(a.cost), y(a.score)) for a in best), class_="tide")
    )
    for arm in arms:
        kind = "candidate" if arm.candidate else "arm"
        if arm.cost_interval:
            low, high = map(x, arm.cost_interval)
            elements.append(line(low, y(arm.score), high, y(arm.score), "bar thin"))
        if arm.score_interval:
            low, high = map(y, arm.score_interval)
            elements.append(line(x(arm.cost), low, x(arm.cost), high, "bar thin"))
        said = tooltip(
            f"{arm.name}: {quality.format_value(arm.score, arm.score_interval)}; "
            f"{cost.name} {cost.format_value(arm.cost, arm.cost_interval)}"
        )
        elements.append(element("circle", said, cx=x(arm.cost), cy=y(arm.score), r=5.0, class_=f"dot {kind}"))
        elements.append(_name(shorten(arm.name, 16), x(arm.cost), y(arm.score)))
    return drawing(elements, BOTTOM + BELOW, f"{quality.name} against {cost.name}, with intervals")


def _name(name: str, x: float, y: float) -> str:
    """Return the SVG text of an arm's name, placed beside the arm's dot where there is room."""
    right = x + 9.0 + _LETTER * len(name) <= RIGHT
    return text(name, x + 9.0 if right else x - 9.0, y - 6.0, "start" if right else "end", "name")
