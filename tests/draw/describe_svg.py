"""What an SVG chart shows, for golden files: its elements in order, their texts and classes, and their values.

Positions along an axis with numbers are values, read from the grid lines and the numbers beside them. Others
are percent of the plot area, or names of what an element belongs to. A number after `~` is compared coarsely.
"""

import re
from xml.etree import ElementTree

import numpy as np

_SIDES = (("left of", "right of"), ("above", "below"))
_NEAR = 6.0  # distance of the baseline of a text from the middle of the mark that it belongs to, at most


def describe_svg(svg):
    """Return the picture as text, one line for each element, in the order in which they were drawn."""
    root = ElementTree.fromstring(svg)
    elements = list(root)
    where = _Plot(elements) if _of_class(elements, "grid") else _Graph(elements)
    lines = [repr(root.get("aria-label"))]
    for e in elements:
        said = e.text if e.find("{*}title") is None else e.find("{*}title").text
        lines.append(" ".join(filter(None, [e.get("class"), said and repr(said), where.describe(e)])))
    return "\n".join(lines) + "\n"


def _of_class(elements, name):
    return [e for e in elements if name in e.get("class").split()]


def _corners(e):
    """Return the points that define an element, as an array with the columns x and y."""
    tag = e.tag.rpartition("}")[2]
    if tag in ("polygon", "polyline"):
        return np.array([pair.split(",") for pair in e.get("points").split()], float)
    if tag == "path":  # a cross: a start, and a diagonal that crosses the middle
        x, y, right, down = map(float, re.match(r"M(\S+) (\S+)l(\S+) (\S+?)m", e.get("d")).groups())
        return np.array([[x + right / 2, y + down / 2]])
    names = {"line": ("x1", "y1", "x2", "y2"), "circle": ("cx", "cy"), "text": ("x", "y"), "rect": ("x", "y")}
    found = np.array([float(e.get(name)) for name in names[tag]]).reshape(-1, 2)
    if tag == "rect":
        size = [float(e.get("width")), float(e.get("height"))]
        found = np.vstack([found, found[0] + size])
    return found


class _Plot:
    """A chart with one axis of numbers; the other axis counts arms or environments."""

    def __init__(self, elements):
        grid = np.array([_corners(e) for e in _of_class(elements, "grid")])
        self.axis = int(np.ptp(grid[0, :, 1]) == 0.0)  # whether the numbers are heights
        numbers = [e.text for e in _of_class(elements, "label")[: len(grid)]]
        self.values = np.array([float(text.replace(",", "").removesuffix(" %")) for text in numbers])
        self.ticks = grid[:, 0, self.axis]
        self.ends = np.sort(grid[0, :, 1 - self.axis])
        self.lifts = numbers[0].endswith(" %")
        self.dots = np.array([_corners(e)[0, 1 - self.axis] for e in _of_class(elements, "dot")])

    def describe(self, e):
        corners = _corners(e)
        if "grid" in e.get("class"):
            return self._value(corners[0])
        if e.tag.endswith("text"):
            return self._beside(corners[0])
        values, across = ([f(corner) for corner in corners] for f in (self._value, self._across))
        values, across = (each[:1] if len(set(each)) == 1 else each for each in (values, across))
        if "change" in e.get("class"):
            along = np.sort(corners[:, self.axis])
            assert along[0] < self.ticks.min()
            assert along[1] > self.ticks.max()
            values = ["from end to end"]
        return f"{' '.join(values)} at {' '.join(across)}"

    def _value(self, corner):
        """Return the value at a position, on a straight line through the first and the last tick."""
        known = np.log1p(self.values / 100.0) if self.lifts else self.values
        slope = (known[-1] - known[0]) / (self.ticks[-1] - self.ticks[0])
        value = known[0] + slope * (corner[self.axis] - self.ticks[0])
        return f"~{round(100.0 * np.expm1(value)) + 0} %" if self.lifts else f"~{round(value, 2) + 0.0:.2f}"

    def _across(self, corner):
        low, high = self.ends
        return f"~{100.0 * (corner[1 - self.axis] - low) / (high - low):.0f} %"

    def _beside(self, corner):
        """Return the side of the plot area on which a text stands, and the grid line or dot that it is beside."""
        along, across = corner[self.axis], corner[1 - self.axis]
        tick = int(np.argmin(np.abs(self.ticks - along)))
        if not self.ends[0] <= across <= self.ends[1]:
            side = _SIDES[1 - self.axis][int(across > self.ends[1])]
            return f"{side} grid line {tick}" if abs(self.ticks[tick] - along) < _NEAR else f"{side} all"
        side = _SIDES[self.axis][int(along > self.ticks[tick])]
        dot = int(np.argmin(np.abs(self.dots - across))) if len(self.dots) else 0
        near = len(self.dots) and abs(self.dots[dot] - across) < _NEAR
        return f"{side} dot {dot}" if near else f"{side} all, at {self._across(corner)}"


class _Graph:
    """A chart of arms as dots, and of lines between them."""

    def __init__(self, elements):
        dots = [e for e in elements if e.tag.endswith("circle")]
        self.names = [e.find("{*}title").text for e in dots]
        self.dots = np.array([_corners(e)[0] for e in dots])
        self.widest = max((float(e.get("stroke-width")) for e in _of_class(elements, "edge")), default=1.0)

    def describe(self, e):
        corners = _corners(e)
        if e.tag.endswith("line"):
            a, b = (self.names[self._nearest(corner)] for corner in corners)
            return f"{a!r} to {b!r}, width ~{100.0 * float(e.get('stroke-width')) / self.widest:.0f} %"
        if e.tag.endswith("text"):
            dot = self._nearest(corners[0])
            across, down = corners[0] - self.dots[dot]
            axis = int(e.get("text-anchor") == "middle")
            return f"{_SIDES[axis][int((across, down)[axis] > 0.0)]} dot {dot}"
        low = self.dots.min(axis=0)
        x, y = 100.0 * (corners[0] - low) / np.maximum(np.ptp(self.dots, axis=0), 1.0)
        return f"at ~{x:.0f} % ~{y:.0f} %"

    def _nearest(self, corner):
        return int(np.argmin(np.hypot(*(self.dots - corner).T)))
