"""How curves and arms are told apart: colour, line and marker, so that no one of the three is needed."""

from __future__ import annotations

from typing import Any, NamedTuple

from tideproof.draw import colour_palette as p

_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_DASHED, _MIXED, _DOTTED = (0, (3.2, 1.6)), (0, (5, 1.4, 1, 1.4)), (0, (1, 1.3))


class Style(NamedTuple):
    """The look of one curve.

    Attributes
    ----------
    colour, line, marker : as matplotlib says them.
    hollow : whether markers are empty: a twin of another curve with the same marker.
    width : of the line; a wide one lies below, so that a thin one that coincides with it is seen on it.
    """

    colour: str
    line: Any
    marker: str
    hollow: bool = False
    width: float = 1.0


class ArmStyle(NamedTuple):
    """The look of one arm."""

    marker: str
    colour: str
    size: float


_WIDE = 2.8
# The curves of the paper. Each differs from its neighbours in all three, and colours also in lightness.
# A twin or a yardstick, with which others may coincide, is wide and pale.
_PAPER = {
    "LinLUCB": Style(p.NAVY, "-", "o", width=1.2),
    "contrast": Style(p.MAGENTA, "-", "D", width=1.8),
    "contrast, stationary": Style(p.ROSE, "-", "D", hollow=True, width=3.6),
    "oracle's fixed plan, stationary": Style(p.BLACK, _DASHED, "*", hollow=True),
    "round robin": Style(p.ASH, "-", "s", width=_WIDE),
    "0-1_1": Style(p.ORANGE, _DOTTED, "^", width=1.2),
    "SER3": Style(p.GREEN, _MIXED, "D"),
    "LinLUCB, reduced": Style(p.RED, _DASHED, "v"),
    "LinLUCB, stationary": Style(p.ICE, "-", "o", hollow=True, width=_WIDE),
    "round robin, reduced": Style(p.BLACK, _MIXED, "P"),
    "round robin, OLS selection": Style(p.ASH, "-", "s", width=_WIDE),
    "round robin, stationary": Style(p.ASH, "-", "s", hollow=True, width=_WIDE),
    "SR, reduced": Style(p.BLACK, _DOTTED, ">", width=1.2),
    "top-two Thompson": Style(p.GREEN, _MIXED, "^"),
    "UCB": Style(p.VIOLET, "-", "v"),
    "LUCB": Style(p.RED, _MIXED, "<"),
    "P1, mean": Style(p.BLUE, _DASHED, "P"),
    "P1, IPS": Style(p.ICE, "-", "h", hollow=True, width=4.8),  # has room for the next one's marker
    "EXP4.P, mean": Style(p.OCHRE, "-", "X"),
    "EXP4.P, IPS": Style(p.BROWN, _DASHED, "X"),
    "PSS(2)": Style(p.PINK, _DASHED, "*"),
    "SR": Style(p.BLACK, _DASHED, ">"),
}

# The arms of one run, the best last.
_ARMS = (
    ArmStyle("o", p.PALE, 11),
    ArmStyle("s", p.STEEL, 11),
    ArmStyle("^", p.BLUE, 12),
    ArmStyle("D", p.NAVY, 10),
    ArmStyle("*", p.ORANGE, 26),
)


def of_paper() -> dict[str, Style]:
    """Return the look of every curve of the paper, by label."""
    return dict(_PAPER)


def of_arms() -> tuple[ArmStyle, ...]:
    """Return the look of the five arms of a run."""
    return _ARMS


def numbered(i: int) -> Style:
    """Return the look of the curve of that number in a study, whatever its policy."""
    return Style(p.SERIES[i % len(p.SERIES)], _LINES[i % len(_LINES)], _MARKERS[i % len(_MARKERS)], width=1.5)


def typeset(label: str) -> str:
    """Return a policy's name as mathematics where it has some; without dollars it is the plain one."""
    return label.replace("0-1_1", "0-1$_1$")
