"""Drawing with strings: axes, points and lines as inline SVG whose colours come from the page's CSS."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence

WIDTH = 460


def element(name: str, content: str = "", **attributes: float | str) -> str:
    """Return an SVG element; underscores in names become hyphens, numbers are rounded.

    >>> element("circle", cx=1.23456, cy=2, r=3, class_="best")
    '<circle cx="1.23" cy="2" r="3" class="best"/>'
    """
    parts = [f'{key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()]
    head = " ".join([name, *parts])
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def _value(value: float | str) -> str:
    return html.escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def hint(content: str) -> str:
    """Return what is shown when the pointer rests on an element."""
    return element("title", html.escape(content))


def text(content: object, x: float, y: float, anchor: str = "start", class_: str = "label") -> str:
    """Return a piece of text."""
    return element("text", html.escape(str(content)), x=x, y=y, text_anchor=anchor, class_=class_)


def drawing(parts: Sequence[str], height: float, label: str) -> str:
    """Return a whole picture that scales with its column."""
    inside = "".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{html.escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    )


def scale(low: float, high: float, start: float, stop: float) -> Callable[[float], float]:
    """Return the map from values to positions."""
    width = (high - low) or 1.0
    return lambda x: start + (x - low) / width * (stop - start)


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between two ends.

    >>> ticks(0.0, 9.3)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    rough = ((high - low) or 1.0) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1.0, 2.0, 5.0, 10.0) if power * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    found = []
    while first * step <= high + 1e-9 * step:
        found.append(first * step)
        first += 1
    return found


def label(x: float, step: float) -> str:
    """Return a tick's label, with the decimals that its step needs.

    >>> label(0.30000000000000004, 0.1), label(2000.0, 500.0)
    ('0.3', '2000')
    """
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0.0 else 0
    return f"{x + 0.0:.{digits}f}" if digits < 7 and abs(x) < 1e7 else f"{x:.3g}"


def labels(values: Sequence[float]) -> list[str]:
    """Return the labels of ticks."""
    step = values[1] - values[0] if len(values) > 1 else 1.0
    return [label(value, step) for value in values]


def short(name: object, length: int) -> str:
    """Shorten a name to what fits."""
    said = str(name)
    return said if len(said) <= length else said[: length - 1] + "…"
