"""Elements of inline SVG, such as lines, points and text, with colours from the CSS of the page."""

from __future__ import annotations

import html
from collections.abc import Iterable

WIDTH = 460

Limits = tuple[float, float] | None  # lower and upper bound of an interval, if there is one


def element(name: str, content: str = "", **attributes: float | str) -> str:
    """Return an SVG element; underscores in attribute names become hyphens, and numbers are rounded.

    >>> element("circle", cx=1.23456, cy=2, r=3, class_="best")
    '<circle cx="1.23" cy="2" r="3" class="best"/>'
    """
    texts = [f'{key.rstrip("_").replace("_", "-")}="{_format(value)}"' for key, value in attributes.items()]
    head = " ".join([name, *texts])
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def _format(value: float | str) -> str:
    """Return the text of an attribute's value: strings escaped, numbers with up to two decimals."""
    return html.escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def tooltip(content: str) -> str:
    """Return the SVG title of an element, which browsers show as a tooltip."""
    return element("title", html.escape(content))


def text(content: object, x: float, y: float, anchor: str = "start", class_: str = "label") -> str:
    """Return an SVG text element."""
    return element("text", html.escape(str(content)), x=x, y=y, text_anchor=anchor, class_=class_)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    """Return an SVG element for a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def format_points(coordinates: Iterable[tuple[float, float]]) -> str:
    """Return coordinates in the format that SVG polygons and polylines require.

    >>> format_points([(1.0, 2.04), (3.0, -4.0)])
    '1.0,2.0 3.0,-4.0'
    """
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in coordinates)


def drawing(elements: Iterable[str], height: float, label: str) -> str:
    """Return a complete SVG picture, which scales with the width of its column."""
    inside = "".join(elements)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{html.escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    )


def shorten(name: object, length: int) -> str:
    """Return a name as text, shortened to at most `length` characters."""
    text = str(name)
    return text if len(text) <= length else text[: length - 1] + "…"
