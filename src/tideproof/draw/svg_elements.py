"""Drawing with strings: lines, points and words as inline SVG whose colours come from the page's CSS."""

from __future__ import annotations

import html
from collections.abc import Iterable

WIDTH = 460

Limits = tuple[float, float] | None  # both ends of an interval, if there is one


def element(name: str, content: str = "", **attributes: float | str) -> str:
    """Return an SVG element; underscores in names become hyphens, numbers are rounded.

    >>> element("circle", cx=1.23456, cy=2, r=3, class_="best")
    '<circle cx="1.23" cy="2" r="3" class="best"/>'
    """
    said = [f'{key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()]
    head = " ".join([name, *said])
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def _value(value: float | str) -> str:
    return html.escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def hint(content: str) -> str:
    """Return what is shown when the pointer rests on an element."""
    return element("title", html.escape(content))


def text(content: object, x: float, y: float, anchor: str = "start", class_: str = "label") -> str:
    """Return a piece of text."""
    return element("text", html.escape(str(content)), x=x, y=y, text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def points(places: Iterable[tuple[float, float]]) -> str:
    """Return places as a polygon or a line wants them.

    >>> points([(1.0, 2.04), (3.0, -4.0)])
    '1.0,2.0 3.0,-4.0'
    """
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def drawing(elements: Iterable[str], height: float, label: str) -> str:
    """Return a whole picture that scales with its column."""
    inside = "".join(elements)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{html.escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    )


def short(name: object, length: int) -> str:
    """Shorten a name to what fits."""
    said = str(name)
    return said if len(said) <= length else said[: length - 1] + "…"
