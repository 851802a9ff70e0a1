"""Graph of arms on a circle, with an edge between arms that occurred in the same environment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_elements import WIDTH, drawing, element, shorten, text, tooltip

_CENTRE, _HALF_WIDTH, _HALF_HEIGHT = WIDTH / 2.0, 122.0, 98.0  # of the ellipse of arms
_FEW = 8  # up to this many arms are placed at equal angles
_NAME_HEIGHT = 17.0


class MeetingsInfo(NamedTuple):
    """Arms, and the pairs of arms that were compared directly.

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
    """Draw the arms clockwise from the top as SVG, with thicker lines for more evidence."""
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
    """Return the position of each arm on the unit circle (right, down), half the height, and the margin.

    Up to `_FEW` arms are placed at equal angles. More arms are placed in rows of equal height, down on the
    right and up on the left, so that their names do not overlap.
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
    """Return the name of an arm as SVG text outside the circle: above, below or beside the arm."""
    if abs(right) < 0.25:
        return text(name, x, y + (20.0 if down > 0.0 else -12.0), "middle", "name")
    side, push = ("start", 11.0) if right > 0.0 else ("end", -11.0)
    return text(name, x + push, y + 4.5, side, "name")
