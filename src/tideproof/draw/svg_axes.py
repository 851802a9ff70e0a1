"""Where values and names stand in a picture of strings, and the grid behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tideproof.draw.svg import WIDTH, line, short, text

Place = Callable[[float], float]

LEFT, TOP, RIGHT, BOTTOM = 60.0, 10.0, WIDTH - 12.0, 190.0  # of a picture over environments
_INSET = 8.0  # of its first and last point
_LETTER = 8.6  # width of one, about


def scale(low: float, high: float, start: float, stop: float) -> Place:
    """Return the map from values to positions.

    >>> at = scale(0.0, 10.0, 100.0, 200.0)
    >>> at(5.0), at(10.0), scale(3.0, 3.0, 100.0, 200.0)(4.0)
    (150.0, 200.0, 200.0)
    """
    width = (high - low) or 1.0
    return lambda x: start + (x - low) / width * (stop - start)


def padded(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis that has some room around all values.

    >>> padded([0.0, 100.0]), padded([4.0]), padded([0.0])
    ((-6.0, 106.0), (2.0, 6.0), (-1.0, 1.0))
    """
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return low - room, high + room


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
    step = values[1] - values[0] if len(values) > 1 else abs(values[0])
    return [label(value, step) for value in values]


def grid_below(x: Place, low: float, high: float, top: float, bottom: float) -> list[str]:
    """Return vertical lines at round numbers, with the numbers below."""
    at = ticks(low, high)
    lines = [line(x(value), top, x(value), bottom, "grid") for value in at]
    return lines + [
        text(said, x(value), bottom + 20.0, "middle") for value, said in zip(at, labels(at), strict=True)
    ]


def over_environments(names: Sequence[object], values: Sequence[float]) -> tuple[Place, Place, list[str]]:
    """Return where environments stand, by number, and where values do, and the axes of such a picture.

    Horizontal lines at round numbers, a broken one at zero, which is always inside, and a few names below.
    """
    low, high = padded([*values, 0.0])
    x, y = _side_by_side(len(names)), scale(low, high, BOTTOM, TOP)
    at = ticks(low, high, 6)
    elements = [line(LEFT, y(value), RIGHT, y(value), "grid") for value in at]
    elements += [
        text(said, LEFT - 6.0, y(value) + 4.5, "end") for value, said in zip(at, labels(at), strict=True)
    ]
    elements.append(line(LEFT, y(0.0), RIGHT, y(0.0), "zero"))
    said = [short(name, 16) for name in names]
    for i in few(said, RIGHT - LEFT):
        anchor = "middle" if 0 < i < len(said) - 1 or len(said) == 1 else "end" if i else "start"
        elements.append(text(said[i], x(i), BOTTOM + 20.0, anchor))
    return x, y, elements


def _side_by_side(length: int) -> Place:
    if length == 1:
        return lambda i: (LEFT + RIGHT) / 2.0
    return scale(0, length - 1, LEFT + _INSET, RIGHT - _INSET)


def few(names: Sequence[str], room: float) -> list[int]:
    """Return which names to show: all of up to four, or the first, the middle and the last, if they fit.

    >>> few(["a", "b", "c", "d"], 400.0), few(list("abcdefg"), 400.0)
    ([0, 1, 2, 3], [0, 3, 6])
    >>> few(["a long name of a day"] * 5, 400.0), few(["a"], 400.0)
    ([0, 4], [0])
    """
    last = len(names) - 1
    longest = _LETTER * max(map(len, names))
    for shown in (list(range(last + 1)) if last < 4 else [], [0, last // 2, last]):
        if shown and len(shown) * longest <= room:
            return sorted(set(shown))
    return sorted({0, last})


def name_room(names: Sequence[str]) -> float:
    """Return how much room names need to the left of a picture."""
    return 30.0 + _LETTER * max(map(len, names))
