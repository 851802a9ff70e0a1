"""How curves and arms are told apart: colour, line and marker, so that no one of the three is needed."""

from __future__ import annotations

from typing import Any, NamedTuple

from tideproof.draw import palette as p

_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_DOTTED = (0, (1, 1.2))


class Style(NamedTuple):
    """The look of one curve.

    Attributes
    ----------
    colour, line, marker : as matplotlib says them.
    hollow : whether markers are empty: a twin of another curve with the same marker.
    width : of the line.
    """

    colour: str
    line: Any
    marker: str
    hollow: bool = False
    width: float = 1.4


class Mark(NamedTuple):
    """The look of one arm."""

    marker: str
    colour: str
    size: float


# The curves of the paper. Each differs from its neighbours in all three, and colours also in lightness.
_PAPER = {
    "LinLUCB": Style(p.NAVY, "-", "o", width=2.0),
    "round robin": Style(p.GREY, "--", "s"),
    "0-1_1": Style(p.ORANGE, ":", "^"),
    "SER3": Style(p.GREEN, "-.", "D"),
    "LinLUCB, reduced": Style(p.RED, "--", "v"),
    "round robin, reduced": Style(p.STEEL, "-.", "P"),
    "LinLUCB, stationary": Style(p.NAVY, _DOTTED, "o", hollow=True),
    "round robin, stationary": Style(p.SILVER, _DOTTED, "s", hollow=True),
    "UCB": Style(p.VIOLET, "-", "v"),
    "LUCB": Style(p.RED, "-.", "<"),
    "P1, mean": Style(p.SKY, "-", "P"),
    "P1, IPS": Style(p.SKY, ":", "P", hollow=True),
    "EXP4.P, mean": Style(p.OCHRE, "-", "X"),
    "EXP4.P, IPS": Style(p.OCHRE, ":", "X", hollow=True),
    "PSS(2)": Style(p.PINK, "--", "*"),
    "SR": Style(p.BLACK, "--", ">"),
    "contrast": Style(p.RED, "-", "D"),
    "contrast, stationary": Style(p.RED, _DOTTED, "D", hollow=True),
    "oracle's fixed plan, stationary": Style(p.BLACK, "--", "*", hollow=True),
}

# The arms of one run, the best last.
_ARMS = (
    Mark("o", p.PALE, 26),
    Mark("s", p.STEEL, 26),
    Mark("^", p.BLUE, 26),
    Mark("D", p.ORANGE, 26),
    Mark("*", p.NAVY, 62),
)


def of_paper() -> dict[str, Style]:
    """Return the look of every curve of the paper, by label."""
    return dict(_PAPER)


def of_arms() -> tuple[Mark, ...]:
    """Return the look of the five arms of a run."""
    return _ARMS


def numbered(i: int) -> Style:
    """Return the look of the curve of that number in a study, whatever its policy."""
    return Style(p.SERIES[i % len(p.SERIES)], _LINES[i % len(_LINES)], _MARKERS[i % len(_MARKERS)], width=1.5)
