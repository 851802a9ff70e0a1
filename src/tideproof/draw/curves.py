"""Curves of policies: those of a study against the budget, and a grid of panels as in the paper."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.draw.figure import in_house_style, subplots
from tideproof.draw.palette import INK, NOTE, PAPER
from tideproof.draw.styles import Style, numbered, of_paper
from tideproof.files import check_picture

if TYPE_CHECKING:
    from tideproof.draw.figure import Figure

Measure = Literal["pics", "eoc", "samples"]

_TITLES: dict[Measure, str] = {
    "pics": "probability of incorrect selection",
    "eoc": "expected opportunity cost",
    "samples": "mean pulls",
}


class Curve(NamedTuple):
    """One policy's values and the ends of their intervals, at the budgets or average pulls `x`."""

    label: str
    x: Sequence[float]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


class Facet(NamedTuple):
    """Curves that share a pair of axes, which ends a little to the right of `longest`."""

    title: str
    curves: list[Curve]
    longest: float


def draw_study(
    curves: list[Curve], of: Measure, replications: int, log: bool, path: str | os.PathLike[str] | None
) -> Figure:
    """Draw the curves of a study in the caller's style; zeros lie hollow on the edge of a log scale."""
    check_picture(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    floor = floor_of(curves) if log else -np.inf
    for i, curve in enumerate(curves):
        _study_line(axes, curve, numbered(i), i, floor)
    if log:
        axes.set_yscale("log")
        axes.set_ylim(bottom=floor)
    axes.set_xlabel("budget")
    axes.set_ylabel(_TITLES[of])
    note = "; hollow: zero" if any((curve.value <= floor).any() for curve in curves) else ""
    axes.set_title(f"{replications:,} replications{note}", fontsize=9, loc="right", color=NOTE)
    axes.grid(alpha=0.25, which="major")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, ncols=1 + len(curves) // 8)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def floor_of(curves: list[Curve]) -> float:
    """Return where a log scale ends: a whole power of ten below every positive value."""
    positive = [value for curve in curves for value in (*curve.value, *curve.high) if value > 0.0]
    return float(10.0 ** (np.ceil(np.log10(min(positive, default=1.0))) - 1.0))


def _study_line(axes: Any, curve: Curve, style: Style, number: int, floor: float) -> None:
    value, low, high = (np.maximum(y, floor) for y in (curve.value, curve.low, curve.high))
    many = max(len(curve.x) // 12, 1)
    axes.plot(
        curve.x,
        value,
        label=curve.label,
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markevery=(number % many, many),
        markersize=5,
        linewidth=style.width,
    )
    axes.fill_between(curve.x, low, high, color=style.colour, alpha=0.18, linewidth=0)
    zero = curve.value <= floor
    if zero.any():
        axes.plot(
            np.array(curve.x)[zero],
            value[zero],
            linestyle="none",
            marker=style.marker,
            markersize=6,
            markerfacecolor=PAPER,
            markeredgecolor=style.colour,
            clip_on=False,
        )


@in_house_style
def draw_facets(facets: list[Facet], axis: str, columns: int, size: tuple[float, float], legend: int) -> Any:
    """Draw each facet in a grid, with one legend of that many columns below.

    Scales are logarithmic and alike; a curve ends before its first zero.
    """
    from matplotlib.ticker import NullLocator

    lines = -(-len(facets) // columns)
    figure, grid = subplots(lines, columns, size, squeeze=False)
    values = [value for facet in facets for curve in facet.curves for value in curve.value]
    floor = 0.5 * min((value for value in values if value > 0.0), default=1e-5)
    for axes, facet in zip(grid.flat, facets, strict=False):
        for curve in facet.curves:
            _facet_line(axes, curve, of_paper()[curve.label], floor)
        axes.set_yscale("log")
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(floor, 1.5 * max(values) or 1.0)
        axes.set_title(facet.title, fontsize=9, loc="left")
        axes.grid(alpha=0.25, which="major", linewidth=0.6)
        axes.tick_params(labelsize=8)
        axes.set_xlim(0.0, 1.04 * facet.longest)
    for axes in grid[-1]:
        axes.set_xlabel("samples", fontsize=9)
    for axes in grid[:, 0]:
        axes.set_ylabel(axis, fontsize=9)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=legend, frameon=False, fontsize=9)
    return figure


def _facet_line(axes: Any, curve: Curve, style: Style, floor: float) -> None:
    x, value = np.array(curve.x, float), np.array(curve.value, float)
    seen = np.logical_and.accumulate(value > 0.0)
    axes.plot(
        x[seen],
        value[seen],
        color=style.colour,
        linestyle=style.line,
        marker=style.marker,
        markevery=max(len(x) // 8, 1),
        markersize=4.5,
        markerfacecolor=PAPER if style.hollow else style.colour,
        markeredgecolor=style.colour if style.hollow else INK,
        markeredgewidth=1.0 if style.hollow else 0.3,
        linewidth=style.width,
        label=curve.label,
    )
    ends = (np.maximum(np.array(end, float)[seen], floor) for end in (curve.low, curve.high))
    axes.fill_between(x[seen], *ends, color=style.colour, alpha=0.2, linewidth=0)
