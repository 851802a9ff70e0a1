"""Who met whom: arms on a circle, joined where an environment saw both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tideproof.draw.svg_elements import WIDTH, drawing, element, hint, short, text

_X, _WIDE, _HIGH = WIDTH / 2.0, 122.0, 98.0  # middle and half axes of the round where arms stand
_FEW = 8  # arms that stand at even angles
_ROW = 17.0  # height of a name


class MeetingsInfo(NamedTuple):
    """Arms and what joins them.

    Attributes
    ----------
    arms : their names, in the order of the circle.
    candidates : whether each can be the best.
    evidence : for each pair that met, by number, how much is known from direct comparisons.
    """

    arms: Sequence[str]
    candidates: Sequence[bool]
    evidence: dict[tuple[int, int], float]


def draw_meetings(info: MeetingsInfo) -> str:
    """Draw the arms clockwise from the top, with a thicker line for more evidence."""
    places, high, margin = _places(len(info.arms))
    most = max(info.evidence.values(), default=math.nan)
    thickest = min(5.0, 30.0 / len(info.arms))  # so that many lines leave some ground between them
    at = [(_X + _WIDE * right, margin + high * (1.0 + down)) for right, down in places]
    elements = []
    for (i, k), known in info.evidence.items():
        (x1, y1), (x2, y2) = at[i], at[k]
        width = 0.6 + thickest * math.sqrt(known / most)
        elements.append(element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=width, class_="edge"))
    for arm, candidate, (x, y), (right, down) in zip(info.arms, info.candidates, at, places, strict=True):
        kind = "candidate" if candidate else "arm"
        elements.append(element("circle", hint(arm), cx=x, cy=y, r=6.0, class_=f"dot {kind}"))
        elements.append(_name(short(arm, 14), x, y, right, down))
    return drawing(elements, 2.0 * (margin + high), "arms that met in an environment are joined")


def _places(arms: int) -> tuple[list[tuple[float, float]], float, float]:
    """Return how far to the right and down of the middle each arm stands, of 1; half the height; the margin.

    A few stand at even angles. More stand in even rows, down on the right and up on the left, so that
    their names have room.
    """
    if arms <= _FEW:
        turn = [2.0 * math.pi * i / arms for i in range(arms)]
        return [(math.sin(t), -math.cos(t)) for t in turn], _HIGH, 30.0
    rows = -(-arms // 2)
    downs = [(2.0 * row + 1.0) / rows - 1.0 for row in range(rows)]
    right = [(math.sqrt(1.0 - down**2), down) for down in downs]
    left = [(-across, down) for across, down in right[: arms - rows]]
    return right + left[::-1], max(_HIGH, 0.5 * _ROW * rows), 4.0


def _name(name: str, x: float, y: float, right: float, down: float) -> str:
    """Return a name outside of the round: above, below or beside its arm."""
    if abs(right) < 0.25:
        return text(name, x, y + (20.0 if down > 0.0 else -12.0), "middle", "name")
    side, push = ("start", 11.0) if right > 0.0 else ("end", -11.0)
    return text(name, x + push, y + 4.5, side, "name")
