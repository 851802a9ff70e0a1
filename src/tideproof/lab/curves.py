"""Curves of a study against the budget: the data first, the drawing second."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tideproof.core.arrays import Floats
from tideproof.files import check_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tideproof.lab.study import Measure, Study

# Okabe and Ito's palette, from dark to light, so that it survives colour blindness and grey print;
# line style and marker tell curves apart without any colour.
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_STYLES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">")
_TITLES = {
    "pics": "probability of incorrect selection",
    "eoc": "expected opportunity cost",
    "samples": "mean pulls",
}


class Curve(NamedTuple):
    """One policy's values and band against the budget."""

    label: str
    budgets: tuple[int, ...]
    value: Floats
    low: Floats
    high: Floats


def curves(study: Study, of: Measure, level: float) -> list[Curve]:
    """Return a curve for each policy of the study."""
    read = {"pics": study.pics, "eoc": study.eoc, "samples": study.samples}[of]
    return [
        Curve(label, study.budgets, read(label), *study.interval(label, level, of))
        for label in study.policies
    ]


def floor_of(drawn: list[Curve]) -> float:
    """Return where a log scale ends: a whole power of ten below every positive value."""
    positive = [value for curve in drawn for value in (*curve.value, *curve.high) if value > 0.0]
    return float(10.0 ** (np.ceil(np.log10(min(positive, default=1.0))) - 1.0))


def draw(
    drawn: list[Curve], of: Measure, replications: int, log: bool, path: str | os.PathLike[str] | None
) -> Figure:
    """Draw the curves; zeros lie hollow on the lower edge of a log scale."""
    check_picture(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    floor = floor_of(drawn) if log else -np.inf
    for i, curve in enumerate(drawn):
        colour, marker = _COLOURS[i % len(_COLOURS)], _MARKERS[i % len(_MARKERS)]
        value, low, high = (np.maximum(y, floor) for y in (curve.value, curve.low, curve.high))
        many = max(len(curve.budgets) // 12, 1)
        axes.plot(
            curve.budgets,
            value,
            label=curve.label,
            color=colour,
            linestyle=_STYLES[i % len(_STYLES)],
            marker=marker,
            markevery=(i % many, many),
            markersize=5,
            linewidth=1.5,
        )
        axes.fill_between(curve.budgets, low, high, color=colour, alpha=0.18, linewidth=0)
        zero = curve.value <= floor
        if zero.any():
            axes.plot(
                np.array(curve.budgets)[zero],
                value[zero],
                linestyle="none",
                marker=marker,
                markersize=6,
                markerfacecolor="white",
                markeredgecolor=colour,
                clip_on=False,
            )
    if log:
        axes.set_yscale("log")
        axes.set_ylim(bottom=floor)
    axes.set_xlabel("budget")
    axes.set_ylabel(_TITLES[of])
    note = "; hollow: zero" if any((curve.value <= floor).any() for curve in drawn) else ""
    axes.set_title(f"{replications:,} replications{note}", fontsize=9, loc="right", color="0.35")
    axes.grid(alpha=0.25, which="major")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9, ncols=1 + len(drawn) // 8)
    if path is not None:
        figure.savefig(path, dpi=160)
    return figure
