"""Error against budget, and the budgets at which it is small enough."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tideproof.draw.figure import in_house_style, plain_numbers, save, subplots
from tideproof.draw.palette import FAINT
from tideproof.draw.styles import numbered
from tideproof.files import check_picture

if TYPE_CHECKING:
    from tideproof.draw.figure import Figure


def draw_plan(
    lines: Mapping[str, Mapping[str, Sequence[float]]],
    found: Mapping[str, int],
    error: float,
    title: str,
    path: str | os.PathLike[str] | None,
) -> Figure:
    """Draw a line for each way with its 95 % limits, the error allowed, and where it is kept.

    `lines` have budget, error, low and high.
    """
    check_picture(path)
    figure = _drawn(lines, found, error, title)
    if path is not None:
        save(figure, Path(path))
    return figure


@in_house_style
def _drawn(
    lines: Mapping[str, Mapping[str, Sequence[float]]], found: Mapping[str, int], error: float, title: str
) -> Figure:
    figure, axes = subplots(1, 1, (7.0, 4.2))
    for number, (way, line) in enumerate(lines.items()):
        style = numbered(number)
        shown = [max(low, 0.1 * error) for low in line["low"]]
        axes.plot(
            line["budget"],
            line["error"],
            label=f"{way}: {found[way]:,} pulls",
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=4,
            linewidth=style.width,
        )
        axes.fill_between(line["budget"], shown, line["high"], color=style.colour, alpha=0.15, linewidth=0)
        axes.plot([found[way]] * 2, [0.0, error], color=style.colour, linestyle=":", linewidth=1.2)
    axes.axhline(error, color=FAINT, linewidth=1.0)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.2 * error)
    plain_numbers(axes.yaxis)
    axes.set_xlabel("budget, pulls")
    axes.set_ylabel("share of runs that select a wrong arm")
    axes.set_title(title, fontsize=10, loc="left")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.grid(alpha=0.25, which="major")
    axes.legend(frameon=False, fontsize=9)
    return figure
