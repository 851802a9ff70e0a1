"""Reliability: what was said against what happened; on the diagonal a probability is what it says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tideproof.draw.colour_palette import FAINT, SERIES
from tideproof.draw.matplotlib_figure import in_house_style, save, subplots

_BESIDE = 3  # panels


class ReliabilityCurve(NamedTuple):
    """One setting: in each bin the mean of what was said, how often it came true, and the limits of that."""

    label: str
    said: Sequence[float]
    happened: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def draw_reliability(panels: Mapping[str, Sequence[ReliabilityCurve]], path: Path) -> None:
    """Draw a panel with a title for each to `path`, up to three beside each other."""
    save(reliability_figure(panels), path)


@in_house_style
def reliability_figure(panels: Mapping[str, Sequence[ReliabilityCurve]]) -> Any:
    """Return the picture; curves of one label look the same in all panels."""
    beside = min(len(panels), _BESIDE)
    rows = -(-len(panels) // beside)
    size = (3.0 * beside, 3.0 * rows + 0.8)
    figure, grid = subplots(rows, beside, size, sharey=True, squeeze=False)
    looks: dict[str, Any] = {}
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, (title, curves) in zip(grid.flat, panels.items(), strict=False):
        axes.axline((1.0, 1.0), slope=1.0, color=FAINT, lw=1.0)
        for curve in curves:
            colour, style = _look(list(looks).index(curve.label) if curve.label in looks else len(looks))
            axes.vlines(curve.said, curve.low, curve.high, color=colour, lw=0.8, alpha=0.6)
            (looks[curve.label],) = axes.plot(
                curve.said, curve.happened, style, marker="o", color=colour, ms=3.0, lw=1.1
            )
        axes.set(xlabel="said", xlim=(0.48, 1.0), ylim=(0.4, 1.0))
        axes.set_title(title, loc="left", fontsize=9)
        axes.grid(alpha=0.25)
    for row in grid:
        row[0].set_ylabel("happened")
    figure.legend(looks.values(), looks, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _look(number: int) -> tuple[str, str]:
    """Return colour and line of a curve: three lines of each colour."""
    return SERIES[1 + number // 3 % (len(SERIES) - 1)], ("-", "--", ":")[number % 3]
