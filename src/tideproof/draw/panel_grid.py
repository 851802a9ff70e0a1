"""Figure with a grid of panels, each with curves of several policies, such as their error rates."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.draw.colour_palette import FAINT, INK, PAPER
from tideproof.draw.line_styles import CurveStyle, paper_styles, typeset
from tideproof.draw.matplotlib_figure import (
    PAGE,
    in_print_style,
    new_subplots,
    panel_letter,
    use_plain_numbers,
)
from tideproof.draw.policy_curves import PolicyCurve

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure

# If at least three curves are above this share of the height, they are repeated in an inset. The inset has
# one of these widths and heights, on the left or right, with its numbers on the inner side and below.
_CROWDED = 0.77
_SIZES = sorted(product((0.44, 0.4, 0.36), (0.42, 0.38, 0.34, 0.3, 0.26)), key=prod, reverse=True)
_BESIDE, _BELOW, _AROUND = 0.15, 0.11, 0.025  # space beside and below an inset for numbers, and around it
_SMALL = 7.0  # font size in an inset, in points

Box = tuple[float, float, float, float]  # left, bottom, width, height


class Facet(NamedTuple):
    """Content of one panel in a grid of charts: a title, curves and the scales of the axes.

    The x axis ends slightly beyond `longest`.

    `row` is a title that the panel shares with its neighbours to the left. `axis` is the label of the y axis
    if it differs from that of the figure.
    """

    title: str
    curves: list[PolicyCurve]
    longest: float
    row: str = ""
    scale: Literal["log", "linear"] = "log"
    axis: str = ""


@in_print_style
def draw_facets(facets: list[Facet], axis: str, columns: int, height: float, legend: int) -> Figure:
    """Draw a figure with a grid of panels as wide as a page, and one legend below all of them.

    There is a panel for each facet. The legend has `legend` columns.

    Facets of a row with the same scale have the same y axis, which fits their visible parts. Curves that are
    crowded at the upper edge of a log scale are repeated in an inset.
    """
    lines = -(-len(facets) // columns)
    figure, grid = new_subplots(lines, columns, (PAGE, height), squeeze=False)
    handles: dict[str, Any] = {}
    for number, (axes, facet) in enumerate(zip(grid.flat, facets, strict=True)):
        start = number - number % columns
        row = facets[start : start + columns]
        alike = [other for other in row if other.scale == facet.scale]
        axes.set_yscale(facet.scale)
        low, high = _limits(alike)
        axes.set(xlim=(0.0, 1.04 * facet.longest), ylim=(low, high))
        if facet.scale == "log" and high < 100.0 * low:
            use_plain_numbers(axes.yaxis)
        for i, curve in enumerate(facet.curves):
            marked = _marked(curve, (i + 0.5) / len(facet.curves), facet.longest)
            handles[typeset(curve.label)] = _facet_line(axes, curve, paper_styles()[curve.label], marked)
        axes.set_title(f"{panel_letter(number)} {facet.title}", linespacing=1.0)
        axes.grid(True)
        axes.tick_params(labelleft=number == start or len(alike) < len(row))
        axes.set_xlabel("pulls" if number + columns >= len(facets) else "")
        axes.set_ylabel((facet.axis or axis) if number == start else "")
        _inset(axes, facet)
    for axes, facet in zip(grid[:, -1], facets[columns - 1 :: columns], strict=True):
        axes.text(
            1.03,
            0.5,
            facet.row,
            transform=axes.transAxes,
            rotation=270,
            va="center",
            ma="center",
            linespacing=1.0,
        )
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=legend)
    return figure


def _limits(facets: list[Facet]) -> tuple[float, float]:
    """Return the two ends of a chart's y axis, chosen to show curves with their confidence bands.

    A curve without a band is exact, and may leave the axes if other curves have bands. A band may also leave
    the axes far below its curve.
    """
    points = [
        (max(low, 0.25 * value), high, low < high)
        for facet in facets
        for curve in facet.curves
        for x, value, low, high in zip(*curve[1:], strict=True)
        if x <= facet.longest
    ]
    banded = any(band for *_, band in points)
    visible = [(low, high) for low, high, band in points if band or not banded]
    bottom = min((low for low, _ in visible), default=0.1)
    top = max((high for _, high in visible), default=1.0)
    if facets[0].scale == "linear":
        return 0.0, 1.05 * top
    room = max((top / bottom) ** 0.03, 1.1)
    return bottom / room, top * room


def _inset(axes: Any, facet: Facet) -> None:
    """Repeat the curves that crowd the top of a figure panel in an inset with a linear axis, if it fits.

    This is only for panels with a log scale.
    """
    from matplotlib.ticker import MaxNLocator

    positions = [_positions_of(axes, curve, facet.longest) for curve in facet.curves]
    crowd = [len(at) > 0 and bool((at[:, 1] > _CROWDED).all()) for at in positions]
    if sum(crowd) < 3 or facet.scale == "linear":
        return
    box = _free_box(np.concatenate(positions))
    if box is None:
        return
    inset = axes.inset_axes(box)
    visible = [
        value
        for curve, high in zip(facet.curves, crowd, strict=True)
        for x, value in zip(curve.x, curve.value, strict=True)
        if high and x <= facet.longest
    ]
    room = 0.1 * (max(visible) - min(visible)) or 0.01
    inset.set(xlim=axes.get_xlim(), ylim=(min(visible) - room, max(visible) + 3.0 * room))
    inset.text(0.97, 0.96, "linear", transform=inset.transAxes, ha="right", va="top", fontsize=_SMALL)
    inset.xaxis.set_major_locator(MaxNLocator(2, steps=(1, 2.5, 5, 10)))
    inset.yaxis.set_major_locator(MaxNLocator(2))
    inset.yaxis.set_ticks_position("left" if box[0] > 0.5 else "right")
    inset.tick_params(labelsize=_SMALL, pad=1.0, length=1.5, width=0.4)
    inset.spines[:].set(visible=True, color=FAINT, linewidth=0.4)
    for i, (curve, high) in enumerate(zip(facet.curves, crowd, strict=True)):
        if high:
            marked = _marked(curve, (i + 0.5) / len(facet.curves), facet.longest)
            _facet_line(inset, curve, paper_styles()[curve.label], marked, 0.75)


def _positions_of(axes: Any, curve: PolicyCurve, longest: float) -> NDArray[np.float64]:
    """Return points along a curve, with coordinates as fractions of the panel's width and height."""
    points = np.column_stack([curve.x, curve.value])[np.array(curve.x) <= longest]
    at = np.array((axes.transScale + axes.transLimits).transform(points))
    along = np.linspace(0.0, len(at) - 1.0, 10 * len(at))
    return np.column_stack([np.interp(along, range(len(at)), each) for each in at.T]) if len(at) else at


def _free_box(points: NDArray[np.float64]) -> Box | None:
    """Return the largest free place for an inset in a figure panel, or None if curves leave no room for one.

    The place has room for the numbers beside and below the inset.

    If several positions are possible, the middle one is returned.
    """
    for width, height in _SIZES:
        for left, before, after in ((0.98 - width, _BESIDE, _AROUND), (0.03, _AROUND, _BESIDE)):
            y = points[(points[:, 0] > left - before) & (points[:, 0] < left + width + after), 1]
            free = [
                bottom
                for bottom in np.arange(_BELOW + _AROUND, 1.0 - height, 0.02)
                if not ((y > bottom - _BELOW) & (y < bottom + height + _AROUND)).any()
            ]
            if free:
                return left, float(free[len(free) // 2]), width, height
    return None


def _marked(curve: PolicyCurve, offset: float, longest: float) -> list[int]:
    """Return the indices of the points of a curve that get a marker: all if there are few, else seven.

    The markers of different curves are at different positions.
    """
    x = np.array(curve.x, float)
    marked = set(range(len(x)))
    if len(x) > 12:
        at = x[0] + (x[-1] - x[0]) * (np.arange(7) + offset) / 7.0
        marked = {int(np.abs(x - one).argmin()) for one in at}
    return [i for i in sorted(marked) if x[i] <= longest]


def _facet_line(
    axes: Any, curve: PolicyCurve, style: CurveStyle, marked: list[int], size: float = 1.0
) -> Any:
    """Draw a curve with its confidence band in a panel, and return the matplotlib line."""
    x = np.array(curve.x, float)
    axes.fill_between(x, curve.low, curve.high, color=style.colour, alpha=0.16, linewidth=0, zorder=1)
    for end in _edges(axes, curve, style.width + 1.0):
        axes.plot(x, end, color=style.colour, linewidth=0.4, zorder=1)
    (line,) = axes.plot(
        x,
        curve.value,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markevery=marked,
        markersize=size * (2.6 + 0.6 * style.width),
        markerfacecolor=PAPER if style.hollow else style.colour,
        markeredgecolor=INK,
        markeredgewidth=0.4,
        linewidth=size * style.width,
        solid_capstyle="butt",
        zorder=2.0 + 1.0 / style.width,
    )
    return line


def _edges(axes: Any, curve: PolicyCurve, least: float) -> list[NDArray[np.float64]]:
    """Return both edges of a confidence band, without the parts where they nearly coincide."""
    both = [np.array(end, float) for end in (curve.low, curve.high)]
    low, high = (axes.transData.transform(np.column_stack([curve.x, end]))[:, 1] for end in both)
    near = (high - low) * 72.0 / axes.figure.dpi < least
    return [np.where(near, np.nan, end) for end in both]
