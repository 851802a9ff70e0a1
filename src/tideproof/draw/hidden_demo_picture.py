"""The picture of a hidden tide: what the log shows and what the filter sees above, who is right below."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tideproof.draw.colour_palette import FAINT, INK, RAW, TIDE
from tideproof.draw.demo_picture import PriceInfo, prices_panel
from tideproof.draw.matplotlib_figure import in_house_style, save, subplots


class MomentInfo(NamedTuple):
    """A moment, in days, and the tide as it was estimated, with its interval."""

    day: float
    shift: float
    low: float
    high: float


class HiddenInfo(NamedTuple):
    """A finished demo.

    Attributes
    ----------
    days, rewards : each visitor's moment, and what was earned, less the mean.
    truth : the tide of each visitor, against the average one's.
    moments : the curve.
    jumps : when the tide jumped, as it was found.
    prices : truth, raw and adjusted means.
    level : of the intervals.
    best, raw_pick, pick : names of prices.
    """

    days: NDArray[np.float64]
    rewards: NDArray[np.float64]
    truth: NDArray[np.float64]
    moments: Sequence[MomentInfo]
    jumps: Sequence[float]
    prices: Sequence[PriceInfo]
    level: float
    best: str
    raw_pick: str
    pick: str


def draw_hidden_demo(info: HiddenInfo, path: Path) -> None:
    """Draw a finished demo to `path`."""
    save(hidden_demo_figure(info), path)


@in_house_style
def hidden_demo_figure(info: HiddenInfo) -> Any:
    """Return the picture of a finished demo."""
    figure, (above, below) = subplots(2, 1, (8.4, 7.2), height_ratios=(1.2, 1.1))
    _tide(above, info)
    title = f"The raw mean picks {info.raw_pick}, tideproof {info.pick}; the best is {info.best}"
    prices_panel(below, info.prices, info.level, info.raw_pick, info.pick, title, room=4.6)
    return figure


def _tide(axes: Any, info: HiddenInfo) -> None:
    day, shift, low, high = np.array(info.moments).T
    axes.plot(info.days, info.rewards, ".", color=FAINT, ms=3, label="rewards, as the log has them")
    axes.fill_between(day, low, high, color=TIDE, alpha=0.25, lw=0, step="post")
    axes.plot(day, shift, color=TIDE, lw=1.8, drawstyle="steps-post", label="tide followed by tideproof")
    axes.plot(info.days, info.truth, color=INK, lw=1.0, label="the true tide, which nobody wrote down")
    for i, jump in enumerate(info.jumps):
        axes.axvline(jump, ymax=0.84, color=RAW, lw=1.0, ls=":", label=None if i else "jumps it found")
    axes.set(xlabel="day", ylabel="against the average", xlim=(info.days[0], info.days[-1]))
    axes.set_title("No labels, only times: the tide is seen in the rewards", loc="left", fontweight="bold")
    axes.legend(frameon=False, ncols=2, loc="upper right", fontsize=9)
    axes.set_ylim(top=axes.get_ylim()[1] + 3.0)
