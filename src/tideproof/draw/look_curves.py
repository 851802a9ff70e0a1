"""Chart of how many tests have named the best arm by each repeated analysis, by analysis schedule."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tideproof.draw.line_styles import curve_style
from tideproof.draw.matplotlib_figure import in_house_style, new_subplots, save
from tideproof.files import check_picture_path

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure


def draw_look_curves(
    curves: Mapping[str, tuple[Sequence[int], Sequence[float]]],
    means: Mapping[str, float],
    title: str,
    path: str | os.PathLike[str] | None,
) -> Figure:
    """Draw how many tests have named the best arm by each repeated analysis; one curve per schedule.

    `means` holds the expected duration of each. A single look is drawn as the share at that look alone.
    """
    check_picture_path(path)
    figure = _look_figure(curves, means, title)
    if path is not None:
        save(figure, Path(path))
    return figure


@in_house_style
def _look_figure(
    curves: Mapping[str, tuple[Sequence[int], Sequence[float]]], means: Mapping[str, float], title: str
) -> Figure:
    """Return the matplotlib figure of how many tests have named the best arm by each repeated analysis."""
    figure, axes = new_subplots(1, 1, (7.0, 4.2))
    for number, (design, (looks, named)) in enumerate(curves.items()):
        style = curve_style(number)
        axes.plot(
            looks,
            named,
            label=f"{design}: {means[design]:.1f} environments on average",
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markersize=4,
            linewidth=style.width,
        )
    axes.set_ylim(0.0, 1.02)
    axes.set_xlabel("look, one after each environment")
    axes.set_ylabel("share of tests that named the best arm")
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(alpha=0.25, which="major")
    axes.legend(frameon=False, fontsize=9)
    return figure
