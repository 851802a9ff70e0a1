"""The demo's picture: the tide above, what each way of averaging made of it below."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.draw.figure import pyplot, save
from tideproof.draw.palette import FAINT, INK, RAW, TIDE

if TYPE_CHECKING:
    from tideproof.demo import Story


def draw(story: Story, path: Path) -> None:
    """Draw a finished demo to `path`."""
    plt = pyplot()
    figure, (above, below) = plt.subplots(
        2, 1, figsize=(8.4, 7.2), height_ratios=(1.0, 1.25), layout="constrained"
    )
    _tide(above, story)
    _prices(below, story)
    save(figure, path)


def _tide(axes: Any, story: Story) -> None:
    days = np.arange(1, len(story.days) + 1)
    centred = np.array([day.shift for day in story.days]) - story.level(len(story.days))
    tide, error = np.array(story.tide), 1.96 * np.array(story.tide_error)
    axes.fill_between(days, tide - error, tide + error, color=TIDE, alpha=0.25, lw=0, label="95 % interval")
    axes.plot(days, tide, color=TIDE, lw=1.8, label="tide estimated by tideproof")
    axes.plot(days, centred, "o", color=INK, ms=3.5, label="the true shift, never shown to it")
    axes.axhline(0, color=FAINT, lw=0.8)
    axes.set(xlabel="day", ylabel="shift, against the average visitor's", xlim=(0.5, len(days) + 0.5))
    axes.set_title("Every day lifts or lowers all prices alike", loc="left", fontweight="bold")
    axes.legend(frameon=False, ncols=3, loc="upper left", fontsize=9)
    axes.set_ylim(top=axes.get_ylim()[1] + 1.2)


def _prices(axes: Any, story: Story) -> None:
    names = list(story.truth)
    at = np.arange(len(names))
    truth = np.array(list(story.truth.values()))
    level = story.level(len(story.days))
    raw = np.array([story.raw[name] for name in names])
    adjusted = np.array([story.adjusted[name] for name in names])
    error = 1.96 * np.array([story.error[name] for name in names])
    axes.hlines(truth + level, at - 0.28, at + 0.28, color=INK, lw=2.4, label="truth")
    axes.plot(at - 0.14, raw, "X", color=RAW, ms=9, label="raw mean")
    axes.errorbar(
        at + 0.14, adjusted, error, fmt="o", color=TIDE, ms=7, capsize=3, label="tideproof, 95 % interval"
    )
    top = max(raw.max(), (adjusted + error).max())
    step = 0.06 * (top - min(raw.min(), (adjusted - error).min()))
    for values, offset, colour, who in ((raw, -0.14, RAW, "raw mean"), (adjusted, 0.14, TIDE, "tideproof")):
        best = int(np.argmax(values))
        height = values[best] + (error[best] if who == "tideproof" else 0.0) + step
        axes.annotate(f"{who} picks", (at[best] + offset, height), ha="center", color=colour, fontsize=9)
    axes.set_xticks(at, [f"{name}" for name in names])
    axes.set(xlabel="price", ylabel="revenue a visitor", xlim=(-0.6, len(names) - 0.4))
    axes.set_ylim(top=top + 3.2 * step)
    raw_pick, pick = story.raw_leader[-1], story.leader[-1]
    title = f"After {len(story.days)} days: the raw mean picks {raw_pick}, tideproof {pick}"
    axes.set_title(f"{title}; the best is {story.best}", loc="left", fontweight="bold")
    axes.legend(frameon=False, loc="upper right", ncols=3, fontsize=9)
