"""Styles of curves and arms in charts; colour, line or marker alone is enough to identify a curve."""

from __future__ import annotations

from typing import Any, NamedTuple

from tideproof.draw import colour_palette as p

_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_DASHED, _MIXED, _DOTTED = (0, (3.2, 1.6)), (0, (5, 1.4, 1, 1.4)), (0, (1, 1.3))


class CurveStyle(NamedTuple):
    """Style of one curve in a chart: its colour, line and marker.

    Attributes
    ----------
    colour, line, marker : in matplotlib's notation.
    hollow : whether markers are empty, for a variant of another curve with the same marker.
    width : line width; wide lines are drawn below thin lines, so that coinciding curves stay visible.
    """

    colour: str
    line: Any
    marker: str
    hollow: bool = False
    width: float = 1.0


class ArmStyle(NamedTuple):
    """Style of the points of one arm in a scatter plot: marker, colour and size."""

    marker: str
    colour: str
    size: float


_WIDE = 2.8
# Curves of the paper. Each differs from its neighbours in colour, line and marker, and colours also differ in
# lightness. Variants and baselines, with which other curves may coincide, are wide and pale.
_PAPER = {
    "LinLUCB": CurveStyle(p.NAVY, "-", "o", width=1.2),
    "contrast": CurveStyle(p.MAGENTA, "-", "D", width=1.8),
    "contrast, stationary": CurveStyle(p.ROSE, "-", "D", hollow=True, width=3.6),
    "oracle's fixed plan, stationary": CurveStyle(p.BLACK, _DASHED, "*", hollow=True),
    "round robin": CurveStyle(p.ASH, "-", "s", width=_WIDE),
    "0-1_1": CurveStyle(p.ORANGE, _DOTTED, "^", width=1.2),
    "SER3": CurveStyle(p.GREEN, _MIXED, "D"),
    "LinLUCB, reduced": CurveStyle(p.RED, _DASHED, "v"),
    "LinLUCB, stationary": CurveStyle(p.ICE, "-", "o", hollow=True, width=_WIDE),
    "round robin, reduced": CurveStyle(p.BLACK, _MIXED, "P"),
    "round robin, OLS selection": CurveStyle(p.ASH, "-", "s", width=_WIDE),
    "round robin, stationary": CurveStyle(p.ASH, "-", "s", hollow=True, width=_WIDE),
    "SR, reduced": CurveStyle(p.BLACK, _DOTTED, ">", width=1.2),
    "top-two Thompson": CurveStyle(p.GREEN, _MIXED, "^"),
    "UCB": CurveStyle(p.VIOLET, "-", "v"),
    "LUCB": CurveStyle(p.RED, _MIXED, "<"),
    "P1, mean": CurveStyle(p.BLUE, _DASHED, "P"),
    "P1, IPS": CurveStyle(
        p.ICE, "-", "h", hollow=True, width=4.8
    ),  # wide enough to show the marker of the next curve
    "EXP4.P, mean": CurveStyle(p.OCHRE, "-", "X"),
    "EXP4.P, IPS": CurveStyle(p.BROWN, _DASHED, "X"),
    "PSS(2)": CurveStyle(p.PINK, _DASHED, "*"),
    "SR": CurveStyle(p.BLACK, _DASHED, ">"),
}

# Arms of one run; the best is the last.
_ARMS = (
    ArmStyle("o", p.PALE, 11),
    ArmStyle("s", p.STEEL, 11),
    ArmStyle("^", p.BLUE, 12),
    ArmStyle("D", p.NAVY, 10),
    ArmStyle("*", p.ORANGE, 26),
)


def paper_styles() -> dict[str, CurveStyle]:
    """Return the styles of all curves in the figures of a reproduced paper, by the labels of the curves."""
    return dict(_PAPER)


def arm_styles() -> tuple[ArmStyle, ...]:
    """Return the styles of the five arms in the figure that shows the rewards of one simulated run."""
    return _ARMS


def curve_style(i: int) -> CurveStyle:
    """Return the style of curve number `i` in the chart of a simulation study."""
    return CurveStyle(
        p.SERIES[i % len(p.SERIES)], _LINES[i % len(_LINES)], _MARKERS[i % len(_MARKERS)], width=1.5
    )


def typeset(label: str) -> str:
    """Return a policy's name in matplotlib's notation, with mathematics between dollar signs."""
    return label.replace("0-1_1", "0-1$_1$")
