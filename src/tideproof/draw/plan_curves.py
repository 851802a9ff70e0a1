"""Chart of error rates against the budget, with the smallest budgets that keep the allowed error rate."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.draw.colour_palette import FAINT
from tideproof.draw.line_styles import curve_style
from tideproof.draw.matplotlib_figure import in_house_style, new_subplots, save, use_plain_numbers
from tideproof.files import check_picture_path

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure


class PlanCurve(NamedTuple):
    """Curve of one policy or test design: its simulated error rate at several budgets.

    Attributes
    ----------
    way : its name.
    found : the smallest budget with the allowed error.
    points : budget, error, low and high of the simulations.
    budgets, errors : the curve through them.
    """

    way: str
    found: int
    points: Mapping[str, Sequence[float]]
    budgets: NDArray[np.float64]
    errors: NDArray[np.float64]


def draw_plan(
    lines: Sequence[PlanCurve], error: float, title: str, path: str | os.PathLike[str] | None
) -> Figure:
    """Draw a chart of simulated error rates with intervals, curves through them, and the allowed rate."""
    check_picture_path(path)
    figure = _plan_figure(lines, error, title)
    if path is not None:
        save(figure, Path(path))
    return figure


@in_house_style
def _plan_figure(lines: Sequence[PlanCurve], error: float, title: str) -> Figure:
    """Return a matplotlib figure of the simulated error rates of tests against the budget."""
    figure, axes = new_subplots(1, 1, (7.0, 4.2))
    for number, line in enumerate(lines):
        _draw_line(axes, line, error, number)
    axes.axhline(error, color=FAINT, linewidth=1.0)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.25 * error)
    use_plain_numbers(axes.yaxis)
    axes.set_xlabel("budget, pulls")
    axes.set_ylabel("share of runs that select a wrong arm")
    axes.set_title(title, fontsize=10, loc="left")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.25, which="major")
    axes.legend(frameon=False, fontsize=9)
    return figure


def _draw_line(axes: Any, line: PlanCurve, error: float, number: int) -> None:
    """Draw one policy's error rates, a curve through them, and the smallest budget with the allowed rate."""
    style, points = curve_style(number), line.points
    value, low, high = (np.array(points[name]) for name in ("error", "low", "high"))
    axes.errorbar(
        points["budget"],
        value,
        yerr=[value - low, high - value],
        color=style.colour,
        linestyle="none",
        marker=style.marker,
        markersize=4,
        linewidth=1.0,
    )
    axes.plot(
        line.budgets,
        line.errors,
        label=f"{line.way}: {line.found:,} pulls",
        color=style.colour,
        linestyle=style.line,
        linewidth=style.width,
    )
    axes.plot([line.found] * 2, [1e-9, error], color=style.colour, linestyle=":", linewidth=1.2)
