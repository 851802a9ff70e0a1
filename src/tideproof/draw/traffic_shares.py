"""Stacked bar chart of each arm's share of the traffic in each environment."""

from __future__ import annotations

from collections.abc import Sequence

from tideproof.draw.svg_elements import WIDTH, choose_labels, drawing, element, line, shorten, text, tooltip

_TOP, _BOTTOM, _LEFT = 12.0, 190.0, 46.0
_HUES = 6  # number of colours, .share0 to .share5; all further arms share the last one
_NAME_LENGTH = 11  # maximum number of letters of a name in the legend


def draw_shares(environments: Sequence[str], arms: Sequence[str], shares: Sequence[Sequence[float]]) -> str:
    """Draw an SVG bar chart of each arm's share of the traffic in each environment.

    The shares of an environment sum to 1, and the first arm is at the bottom.
    """
    right = WIDTH - 104.0
    wide = (right - _LEFT) / len(environments)

    def y(share: float) -> float:
        return _BOTTOM - share * (_BOTTOM - _TOP)

    elements = []
    for part in (0.0, 0.5, 1.0):
        elements.append(line(_LEFT, y(part), right, y(part), "grid"))
        elements.append(text(f"{100 * part:.0f} %", _LEFT - 6.0, y(part) + 4.5, "end"))
    gap = min(2.0, 0.15 * wide)
    for j, (environment, row) in enumerate(zip(environments, shares, strict=True)):
        below = 0.0
        for i, (arm, share) in enumerate(zip(arms, row, strict=True)):
            if share > 0.0:
                elements.append(
                    element(
                        "rect",
                        tooltip(f"{environment}: {arm} {100 * share:.3g} %"),
                        x=_LEFT + j * wide + 0.5 * gap,
                        y=y(below + share),
                        width=wide - gap,
                        height=share * (_BOTTOM - _TOP),
                        class_=f"share{min(i, _HUES - 1)}",
                    )
                )
            below += share
    elements += _legend(arms, right + 10.0)
    names = [shorten(name, 16) for name in environments]
    for j in choose_labels(names, right - _LEFT):
        last = len(names) - 1
        anchor = "middle" if 0 < j < last or not last else "end" if j else "start"
        at = {"middle": _LEFT + (j + 0.5) * wide, "end": right, "start": _LEFT}[anchor]
        elements.append(text(names[j], at, _BOTTOM + 20.0, anchor))
    return drawing(elements, _BOTTOM + 30.0, "the share of each arm in each environment")


def _legend(arms: Sequence[str], left: float) -> list[str]:
    """Return the SVG of a chart's legend: names of arms beside their colours, the first arm at the bottom."""
    elements = []
    for i, arm in enumerate(arms[:_HUES]):
        y = _BOTTOM - 14.0 - 24.0 * i
        name = shorten(arm, _NAME_LENGTH) if i < _HUES - 1 or len(arms) <= _HUES else "others"
        elements.append(element("rect", x=left, y=y, width=11.0, height=11.0, rx=2.0, class_=f"share{i}"))
        elements.append(text(name, left + 16.0, y + 10.5, class_="name"))
    return elements
