"""Reliability diagram: observed frequencies against predicted probabilities, equal on the diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tideproof.draw.colour_palette import FAINT, SERIES
from tideproof.draw.matplotlib_figure import in_house_style, new_subplots, save

_COLUMNS = 3  # maximum number of panels per row


class ReliabilityCurve(NamedTuple):
    """Reliability curve: mean predicted probability, observed share and its interval, bin by bin."""

    label: str
    predicted: Sequence[float]
    observed: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]


def draw_reliability(panels: Mapping[str, Sequence[ReliabilityCurve]], path: Path) -> None:
    """Draw a picture of reliability diagrams, one panel for each title, and save it to `path`."""
    save(reliability_figure(panels), path)


@in_house_style
def reliability_figure(panels: Mapping[str, Sequence[ReliabilityCurve]]) -> Any:
    """Return a figure of reliability diagrams; curves with the same label look the same in all panels."""
    beside = min(len(panels), _COLUMNS)
    rows = -(-len(panels) // beside)
    size = (3.0 * beside, 3.0 * rows + 0.8)
    figure, grid = new_subplots(rows, beside, size, sharey=True, squeeze=False)
    looks: dict[str, Any] = {}
    for axes in grid.flat[len(panels) :]:
        axes.remove()
    for axes, (title, curves) in zip(grid.flat, panels.items(), strict=False):
        axes.axline((1.0, 1.0), slope=1.0, color=FAINT, lw=1.0)
        for curve in curves:
            colour, style = _look(list(looks).index(curve.label) if curve.label in looks else len(looks))
            axes.vlines(curve.predicted, curve.low, curve.high, color=colour, lw=0.8, alpha=0.6)
            (looks[curve.label],) = axes.plot(
                curve.predicted, curve.observed, style, marker="o", color=colour, ms=3.0, lw=1.1
            )
        axes.set(xlabel="stated probability", xlim=(0.48, 1.0), ylim=(0.4, 1.0))
        axes.set_title(title, loc="left", fontsize=9)
        axes.grid(alpha=0.25)
    for row in grid:
        row[0].set_ylabel("observed share")
    figure.legend(looks.values(), looks, loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def _look(number: int) -> tuple[str, str]:
    """Return the colour and the line style of curve number `number` in a reliability diagram."""
    return SERIES[1 + number // 3 % (len(SERIES) - 1)], ("-", "--", ":")[number % 3]
