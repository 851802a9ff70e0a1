"""Picture of a demo that compares prices: shifts of days in the upper panel, means of prices in the lower."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tideproof.draw.colour_palette import FAINT, INK, RAW, TIDE
from tideproof.draw.matplotlib_figure import in_house_style, new_subplots, save


class DayInfo(NamedTuple):
    """One day of the price demo: its true shift, and the estimated shift with its confidence interval.

    Shifts are relative to the average visitor.
    """

    truth: float
    shift: float
    low: float
    high: float


class PriceInfo(NamedTuple):
    """One price of the demo: its true mean revenue, its raw mean, and its adjusted mean with an interval."""

    name: str
    truth: float
    raw_mean: float
    mean: float
    low: float
    high: float


class DemoInfo(NamedTuple):
    """Results of the price demo, as its picture shows them.

    `best`, `raw_pick` and `pick` are names of prices.
    """

    days: Sequence[DayInfo]
    prices: Sequence[PriceInfo]
    confidence: float
    best: str
    raw_pick: str
    pick: str


def draw_demo(info: DemoInfo, path: Path) -> None:
    """Draw a picture of the price demo's results and save it to `path`."""
    save(demo_figure(info), path)


@in_house_style
def demo_figure(info: DemoInfo) -> Any:
    """Return a matplotlib figure of the price demo's results."""
    figure, (above, below) = new_subplots(2, 1, (8.4, 7.2), height_ratios=(1.0, 1.25))
    _draw_tide(above, info)
    title = f"After {len(info.days)} days: the raw mean picks {info.raw_pick}, tideproof {info.pick}"
    title = f"{title}; the best is {info.best}"
    prices_panel(below, info.prices, info.confidence, info.raw_pick, info.pick, title)
    return figure


def _draw_tide(axes: Any, info: DemoInfo) -> None:
    """Draw a panel with the true and the estimated shift of each day."""
    truth, shift, low, high = np.array(info.days).T
    days = np.arange(1, len(truth) + 1)
    axes.fill_between(days, low, high, color=TIDE, alpha=0.25, lw=0, label=_interval_label(info.confidence))
    axes.plot(days, shift, color=TIDE, lw=1.8, label="tide estimated by tideproof")
    axes.plot(days, truth, "o", color=INK, ms=3.5, label="true shift, unknown to tideproof")
    axes.axhline(0, color=FAINT, lw=0.8)
    axes.set(xlabel="day", ylabel="shift relative to the average visitor", xlim=(0.5, len(days) + 0.5))
    axes.set_title("Each day shifts the revenue of all prices together", loc="left", fontweight="bold")
    axes.legend(frameon=False, ncols=3, loc="upper left", fontsize=9)
    axes.set_ylim(top=axes.get_ylim()[1] + 1.2)


def prices_panel(
    axes: Any,
    prices: Sequence[PriceInfo],
    confidence: float,
    raw_pick: str,
    pick: str,
    title: str,
    room: float = 3.2,
) -> None:
    """Draw a panel with the true, raw and adjusted mean revenue of each price.

    It also shows which price the raw means and the adjusted means select. `room` is the space for the legend,
    in steps of the annotations.
    """
    names = [price.name for price in prices]
    truth, raw, mean, low, high = np.array([price[1:] for price in prices]).T
    at = np.arange(len(names))
    axes.hlines(truth, at - 0.28, at + 0.28, color=INK, lw=2.4, label="truth")
    axes.plot(at - 0.14, raw, "X", color=RAW, ms=9, label="raw mean")
    axes.errorbar(
        at + 0.14, mean, (mean - low, high - mean), fmt="o", color=TIDE, ms=7, capsize=3,
        label=f"tideproof, {_interval_label(confidence)}",
    )  # fmt: skip
    top = max(raw.max(), high.max())
    step = 0.06 * (top - min(raw.min(), low.min()))
    for method, selected, offset, heights, colour in (
        ("raw mean", raw_pick, -0.14, raw, RAW),
        ("tideproof", pick, 0.14, high, TIDE),
    ):
        i = names.index(selected)
        axes.annotate(
            f"{method} picks", (i + offset, heights[i] + step), ha="center", color=colour, fontsize=9
        )
    axes.set_xticks(at, names)
    axes.set(xlabel="price", ylabel="revenue per visitor", xlim=(-0.6, len(names) - 0.4))
    axes.set_ylim(top=top + room * step)
    axes.set_title(title, loc="left", fontweight="bold")
    axes.legend(frameon=False, loc="upper right", ncols=3, fontsize=9)


def _interval_label(confidence: float) -> str:
    """Return the legend text for confidence intervals, such as "95 % interval"."""
    return f"{100 * confidence:g} % interval"
