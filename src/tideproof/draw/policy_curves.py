"""Chart of a simulation study: the error rate of each policy against the budget."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.draw.colour_palette import NOTE, PAPER
from tideproof.draw.line_styles import CurveStyle, curve_style
from tideproof.draw.matplotlib_figure import new_figure
from tideproof.files import check_picture_path

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure

Measure = Literal["pics", "eoc", "samples"]

_TITLES: dict[Measure, str] = {
    "pics": "probability of incorrect selection",
    "eoc": "expected opportunity cost",
    "samples": "mean pulls",
}


class PolicyCurve(NamedTuple):
    """Curve of one policy: a measure, such as its error rate, with confidence bounds at several budgets.

    `x` holds the budgets or mean numbers of pulls.
    """

    label: str
    x: Sequence[float]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def draw_study(
    curves: list[PolicyCurve], of: Measure, replications: int, log: bool, path: str | os.PathLike[str] | None
) -> Figure:
    """Draw a chart of a simulation study, one curve for each policy, and save it if `path` is given.

    The caller's matplotlib style applies.

    On a log scale, zeros are drawn as hollow markers at the lower edge.
    """
    check_picture_path(path)
    figure = new_figure((7.0, 4.5))
    axes = figure.add_subplot()
    floor = log_scale_floor(curves) if log else -np.inf
    for i, curve in enumerate(curves):
        _study_line(axes, curve, curve_style(i), i, floor)
    if log:
        axes.set_yscale("log")
        axes.set_ylim(bottom=floor)
    axes.set_xlabel("budget")
    axes.set_ylabel(_TITLES[of])
    note = "; hollow markers: 0" if any((curve.value <= floor).any() for curve in curves) else ""
    axes.set_title(f"{replications:,} replications{note}", fontsize=9, loc="right", color=NOTE)
    axes.grid(alpha=0.25, which="major")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, ncols=1 + len(curves) // 8)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure


def log_scale_floor(curves: list[PolicyCurve]) -> float:
    """Return the lower end of a chart's log scale: a power of ten below every positive value."""
    positive = [value for curve in curves for value in (*curve.value, *curve.high) if value > 0.0]
    return float(10.0 ** (np.ceil(np.log10(min(positive, default=1.0))) - 1.0))


def _study_line(axes: Any, curve: PolicyCurve, style: CurveStyle, number: int, floor: float) -> None:
    """Draw one policy's curve with its confidence band, and hollow markers at the lower edge for zeros."""
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
