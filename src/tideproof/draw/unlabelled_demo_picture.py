"""Picture of the demo without environments: rewards and estimated shifts over time, mean sales by price."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.draw.colour_palette import FAINT, INK, RAW, TIDE
from tideproof.draw.demo_picture import PriceInfo, prices_panel
from tideproof.draw.matplotlib_figure import in_house_style, new_subplots, save


class MomentInfo(NamedTuple):
    """A time in days, and the estimated shift at that time with its confidence interval."""

    day: float
    shift: float
    low: float
    high: float


class HiddenInfo(NamedTuple):
    """Results of the demo with hidden shifts, in which the log has times but no environments.

    Attributes
    ----------
    days, rewards : time of each visitor in days, and the reward minus the mean.
    truth : the true tide at each visitor, relative to the average.
    moments : the estimated tide over time.
    jumps : times at which a jump of the tide was detected.
    prices : true, raw and adjusted means.
    confidence : the confidence level.
    best, raw_pick, pick : names of prices.
    """

    days: NDArray[np.float64]
    rewards: NDArray[np.float64]
    truth: NDArray[np.float64]
    moments: Sequence[MomentInfo]
    jumps: Sequence[float]
    prices: Sequence[PriceInfo]
    confidence: float
    best: str
    raw_pick: str
    pick: str


def draw_hidden_demo(info: HiddenInfo, path: Path) -> None:
    """Draw a picture of the results of the demo with hidden shifts and save it to `path`."""
    save(hidden_demo_figure(info), path)


@in_house_style
def hidden_demo_figure(info: HiddenInfo) -> Any:
    """Return a matplotlib figure of the results of the demo with hidden shifts."""
    figure, (above, below) = new_subplots(2, 1, (8.4, 7.2), height_ratios=(1.2, 1.1))
    _draw_hidden_tide(above, info)
    title = f"The raw mean picks {info.raw_pick}, tideproof {info.pick}; the best is {info.best}"
    prices_panel(below, info.prices, info.confidence, info.raw_pick, info.pick, title, room=4.6)
    return figure


def _draw_hidden_tide(axes: Any, info: HiddenInfo) -> None:
    """Draw a panel with the rewards, the true and the estimated shifts, and detected jumps over time."""
    day, shift, low, high = np.array(info.moments).T
    axes.plot(info.days, info.rewards, ".", color=FAINT, ms=3, label="rewards in the log")
    axes.fill_between(day, low, high, color=TIDE, alpha=0.25, lw=0, step="post")
    axes.plot(day, shift, color=TIDE, lw=1.8, drawstyle="steps-post", label="tide estimated by tideproof")
    axes.plot(info.days, info.truth, color=INK, lw=1.0, label="true tide, unknown to tideproof")
    for i, jump in enumerate(info.jumps):
        axes.axvline(jump, ymax=0.84, color=RAW, lw=1.0, ls=":", label=None if i else "detected jumps")
    axes.set(xlabel="day", ylabel="relative to the average", xlim=(info.days[0], info.days[-1]))
    axes.set_title(
        "Without environments, the tide is estimated from rewards and times", loc="left", fontweight="bold"
    )
    axes.legend(frameon=False, ncols=2, loc="upper right", fontsize=9)
    axes.set_ylim(top=axes.get_ylim()[1] + 3.0)
