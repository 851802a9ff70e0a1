"""Picture of a race of commands: how much more time each takes than a reference, with intervals."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

from tideproof.draw.colour_palette import FAINT
from tideproof.draw.line_styles import curve_style
from tideproof.draw.matplotlib_figure import in_house_style, new_subplots, save
from tideproof.files import check_picture_path

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure

_WIDTH = 7.0


class RaceBar(NamedTuple):
    """Relative difference of a command's time from that of a reference command, with its interval."""

    command: str
    clock: str
    estimate: float
    low: float
    high: float


@in_house_style
def draw_race(
    bars: Sequence[RaceBar], reference: str, title: str, path: str | os.PathLike[str] | None = None
) -> Figure:
    """Draw the relative time differences of raced commands with intervals, and save the picture."""
    check_picture_path(path)
    commands = list(dict.fromkeys(bar.command for bar in bars))
    clocks = list(dict.fromkeys(bar.clock for bar in bars))
    figure, axes = new_subplots(1, 1, (_WIDTH, 1.6 + 0.5 * len(commands)))
    axes.axvline(0.0, color=FAINT)
    finite = [100.0 * x for bar in bars for x in (bar.estimate, bar.low, bar.high) if math.isfinite(x)]
    edges = min(finite, default=-1.0), max(finite, default=1.0)
    for number, clock in enumerate(clocks):
        style = curve_style(number)
        own = [bar for bar in bars if bar.clock == clock]
        at = [commands.index(bar.command) + 0.12 * (number - 0.5 * (len(clocks) - 1)) for bar in own]
        lows = [max(100.0 * bar.low, edges[0]) for bar in own]
        highs = [min(100.0 * bar.high, edges[1]) for bar in own]
        axes.hlines(at, lows, highs, color=style.colour, linewidth=2)
        axes.plot([100.0 * bar.estimate for bar in own], at, "o", color=style.colour, label=clock)
    axes.set_yticks(range(len(commands)), commands)
    axes.set_ylim(len(commands) - 0.5, -0.5)
    axes.set_xlabel(f"time compared with {reference} (%)")
    axes.set_title(fill(title, 90), fontsize=9, loc="left")
    axes.legend(frameon=False)
    if path is not None:
        save(figure, Path(path))
    return figure
