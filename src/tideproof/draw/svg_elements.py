"""Elements of inline SVG charts, such as lines, points, text, axes with ticks, and grid lines.

Colours come from the CSS of the page.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from tideproof.text import PLAIN, NumberFormat

WIDTH = 460
TOP, RIGHT, BOTTOM = 30.0, WIDTH - 12.0, 210.0  # edges of the plot area of a chart over environments
BELOW = 46.0  # height of an axis with its numbers and its name
_INSET = 8.0  # distance of the first and last point from the edges
_LETTER = 8.6  # approximate width of a letter
_WIDE = 6.0  # if its ends differ by more than this factor, an axis of lifts has ticks at `_FACTORS`
_FACTORS = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
    10.0,
    20.0,
    50.0,
    100.0,
)

Interval = tuple[float, float] | None  # lower and upper bound of an interval, if there is one
Place = Callable[[float], float]


def element(name: str, content: str = "", **attributes: float | str) -> str:
    """Return an SVG element with the given attributes.

    Underscores in names of attributes become hyphens, and numbers are rounded.

    >>> element("circle", cx=1.23456, cy=2, r=3, class_="best")
    '<circle cx="1.23" cy="2" r="3" class="best"/>'
    """
    texts = [f'{key.rstrip("_").replace("_", "-")}="{_format(value)}"' for key, value in attributes.items()]
    head = " ".join([name, *texts])
    return f"<{head}>{content}</{name}>" if content else f"<{head}/>"


def _format(value: float | str) -> str:
    """Return the value of an SVG attribute as text: an escaped string, or a rounded number."""
    return html.escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def tooltip(content: str) -> str:
    """Return the SVG title of an element, which browsers show as a tooltip."""
    return element("title", html.escape(content))


def text(content: object, x: float, y: float, anchor: str = "start", class_: str = "label") -> str:
    """Return an SVG text element at the given position."""
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
    """Return a complete SVG picture with the given elements; it scales with the width of the page column."""
    inside = "".join(elements)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{html.escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">{inside}</svg>'
    )


def shorten(name: object, length: int) -> str:
    """Return a name as text, shortened to at most `length` characters."""
    text = str(name)
    return text if len(text) <= length else text[: length - 1] + "…"


class Axis(NamedTuple):
    """Axis of a chart: its name, its number format, and the smallest and largest possible value.

    An axis of `lifts` is linear in log(1 + lift), so that doubling and halving have the same length.
    """

    name: str = ""
    figures: NumberFormat = PLAIN
    low: float = -math.inf
    high: float = math.inf
    lifts: bool = False

    def format_value(self, x: float, interval: Interval, sign: str = "") -> str:
        """Return an estimate as text, with its confidence interval if there is one."""
        if interval is None:
            return self.figures.format_rough(x, sign)
        number = self.figures.format_estimate(x, interval[0], interval[1], sign)
        return f"{number}, interval {self.figures.format_interval(interval[0], interval[1], sign)}"

    def ends(self, values: Sequence[float]) -> tuple[float, float]:
        """Return the two ends of a chart axis, with space around the data but within the possible range.

        >>> Axis(low=0.0, high=1.0).ends([0.0, 0.5])
        (0.0, 0.53)
        """
        if self.lifts:
            low, high = pad_range([math.log1p(x) for x in values if x > -1.0])
            return math.expm1(low), math.expm1(high)
        low, high = pad_range(values)
        return max(low, self.low), min(high, self.high)

    def place(self, ends: tuple[float, float], start: float, stop: float) -> Place:
        """Return the function that maps data values to positions on the axis of a chart.

        Values beyond the ends of an axis of lifts are moved to the ends.

        >>> at = Axis(lifts=True).place((-0.5, 1.0), 100.0, 200.0)
        >>> at(-0.5), round(at(0.0)), at(1.0), at(-1.0)
        (100.0, 150, 200.0, 100.0)
        """
        if not self.lifts:
            return scale(*ends, start, stop)
        even = scale(math.log1p(ends[0]), math.log1p(ends[1]), start, stop)
        return lambda x: even(math.log1p(min(max(x, ends[0]), ends[1])))

    def ticks(self, low: float, high: float, count: int = 5) -> list[tuple[float, str]]:
        """Return the ticks of an axis: round numbers between its ends, each with its label.

        >>> Axis(figures=NumberFormat(100.0, " %")).ticks(0.0, 0.043, 3)
        [(0.0, '0 %'), (0.02, '2 %'), (0.04, '4 %')]
        >>> Axis(figures=NumberFormat(100.0, " %"), lifts=True).ticks(-0.6, 2.5)
        [(-0.5, '-50 %'), (0.0, '0 %'), (1.0, '100 %')]
        """
        if self.lifts and 1.0 + high > _WIDE * (1.0 + low):
            inside = [factor - 1.0 for factor in _FACTORS if low <= factor - 1.0 <= high]
            return [(x, self.figures.format_number(x, 0)) for x in inside]
        factor = self.figures.factor
        at = ticks(factor * low, factor * high, count)
        return [(x / factor, said + self.figures.each) for x, said in zip(at, format_ticks(at), strict=True)]


def scale(low: float, high: float, start: float, stop: float) -> Place:
    """Return the linear function that maps data values to positions in a chart.

    >>> at = scale(0.0, 10.0, 100.0, 200.0)
    >>> at(5.0), at(10.0), scale(3.0, 3.0, 100.0, 200.0)(4.0)
    (150.0, 200.0, 200.0)
    """
    width = (high - low) or 1.0
    return lambda x: start + (x - low) / width * (stop - start)


def pad_range(values: Sequence[float]) -> tuple[float, float]:
    """Return the two ends of a chart axis, with some space around the data.

    >>> pad_range([0.0, 100.0]), pad_range([4.0]), pad_range([0.0])
    ((-6.0, 106.0), (2.0, 6.0), (-1.0, 1.0))
    """
    low, high = min(values), max(values)
    room = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return low - room, high + room


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return round numbers between the two ends of an axis, as positions of its ticks.

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


def format_tick(x: float, step: float) -> str:
    """Return the text of one axis tick, with the decimals that the distance between ticks requires.

    >>> format_tick(0.30000000000000004, 0.1), format_tick(2000.0, 500.0)
    ('0.3', '2,000')
    """
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step > 0.0 else 0
    return f"{x + 0.0:,.{digits}f}" if digits < 7 and abs(x) < 1e7 else f"{x:.3g}"


def format_ticks(values: Sequence[float]) -> list[str]:
    """Return the texts of all ticks of an axis."""
    step = values[1] - values[0] if len(values) > 1 else abs(values[0])
    return [format_tick(value, step) for value in values]


def grid_below(axis: Axis, x: Place, ends: tuple[float, float], top: float, bottom: float) -> list[str]:
    """Return SVG of a chart's vertical grid lines at round numbers, with numbers and axis name below."""
    at = axis.ticks(*ends)
    lines = [line(x(value), top, x(value), bottom, "grid") for value, _ in at]
    numbers = [text(said, x(value), bottom + 20.0, "middle") for value, said in at]
    return [*lines, *numbers, text(axis.name, 0.5 * (x(ends[0]) + x(ends[1])), bottom + 40.0, "middle")]


class Frame(NamedTuple):
    """Frame of a chart: positions of environments and values, the left edge, and the SVG of the axes."""

    x: Place
    y: Place
    left: float
    elements: list[str]


def over_environments(
    names: Sequence[object], values: Sequence[float], axis: Axis, across: str = "environment"
) -> Frame:
    """Return the axes and the grid of a chart with environments side by side.

    Other named items can take the place of environments. The chart has horizontal lines at round numbers, a
    dashed line at zero, which is always included, and some of the names below. The name of the values is
    above them.
    """
    ends = axis.ends([*values, 0.0])
    at = axis.ticks(*ends, 6)
    left = name_width([said for _, said in at]) - 20.0
    x, y = _side_by_side(len(names), left), axis.place(ends, BOTTOM, TOP)
    elements = [line(left, y(value), RIGHT, y(value), "grid") for value, _ in at]
    elements += [text(said, left - 6.0, y(value) + 4.5, "end") for value, said in at]
    elements.append(line(left, y(0.0), RIGHT, y(0.0), "zero"))
    elements.append(text(axis.name, 4.0, 14.0))
    elements.append(text(across, 0.5 * (left + RIGHT), BOTTOM + 40.0, "middle"))
    said = [shorten(name, 16) for name in names]
    for i in choose_labels(said, RIGHT - left):
        anchor = "middle" if 0 < i < len(said) - 1 or len(said) == 1 else "end" if i else "start"
        elements.append(text(said[i], x(i), BOTTOM + 20.0, anchor))
    return Frame(x, y, left, elements)


def _side_by_side(length: int, left: float) -> Place:
    """Return the function from the index of an environment to its horizontal position in a chart."""
    if length == 1:
        return lambda i: (left + RIGHT) / 2.0
    return scale(0, length - 1, left + _INSET, RIGHT - _INSET)


def choose_labels(names: Sequence[str], room: float) -> list[int]:
    """Choose which names to show along a chart axis, and return their indices.

    Up to four names are all shown if they fit. Otherwise these are the first, the middle one if it fits, and
    the last.

    >>> choose_labels(["a", "b", "c", "d"], 400.0), choose_labels(list("abcdefg"), 400.0)
    ([0, 1, 2, 3], [0, 3, 6])
    >>> choose_labels(["a long name of a day"] * 5, 400.0), choose_labels(["a"], 400.0)
    ([0, 4], [0])
    """
    last = len(names) - 1
    longest = _LETTER * max(map(len, names))
    for indices in (list(range(last + 1)) if last < 4 else [], [0, last // 2, last]):
        if indices and len(indices) * longest <= room:
            return sorted(set(indices))
    return sorted({0, last})


def name_width(names: Sequence[str]) -> float:
    """Return the width that is needed to the left of a chart for the longest of the given names."""
    return 30.0 + _LETTER * max(map(len, names))
