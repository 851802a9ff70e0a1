"""Report of an experiment without environments: table of arms and chart of the estimated tide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.draw.fit_charts import ShiftInfo, draw_tide
from tideproof.draw.svg_elements import Axis
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.report.html_report import Card
from tideproof.report.report_tables import MISSING, format_chance
from tideproof.report.table_layout import Column
from tideproof.text import PLAIN, format_count

TIDE_LEGEND = (
    "Current mean: expected reward now, including the current shift. The shift cancels in differences "
    "between arms."
)
POINTS = 60  # largest number of points in the chart
EACH = 5  # smallest number of rewards of a point


class OrderedRewards(NamedTuple):
    """Received rewards in the order of their pulls, each with the index of its arm."""

    arm: Ints
    reward: Floats

    def raw_means(self, arms: int) -> Floats:
        """Return the mean reward of each arm, without an adjustment for shifts.

        `arms` is the number of arms.
        """
        count = np.bincount(self.arm, minlength=arms)
        with np.errstate(invalid="ignore"):
            found: Floats = np.bincount(self.arm, self.reward, arms) / count
        return found


def tide_columns(fit: TideFit, raw: Floats) -> list[Column]:
    """Return the table of arms of an experiment without environments as columns, the best arm first."""
    best = fit.best
    order = sorted(range(len(fit.names)), key=lambda i: (not fit.counts[i], -_sign(fit) * fit.now[i]))
    gaps = {i: fit.contrast(fit.names[i], best) for i in order if fit.names[i] != best and fit.counts[i]}

    def column(header: str, write: Callable[[int], str], left: bool = False) -> Column:
        """Return a table column with one text for each arm."""
        return Column(header, [write(i) for i in order], left)

    def apart(i: int) -> str:
        """Return the difference of an arm from the best arm, with its interval, as text."""
        gap = gaps.get(i)
        if gap is None:
            return MISSING
        if gap.low is None or gap.high is None:
            return PLAIN.format_rough(gap.estimate, "+")
        number = PLAIN.format_estimate(gap.estimate, gap.low, gap.high, "+")
        return f"{number} ({PLAIN.format_interval(gap.low, gap.high, '+')})"

    def may_be_best(i: int) -> str:
        """Return "yes" or "no": whether the confidence interval allows an arm to be the best."""
        gap = gaps.get(i)
        if gap is None:
            return "yes" if fit.names[i] == best else MISSING
        end = gap.high if fit.direction == "maximize" else gap.low
        return "yes" if end is None or _sign(fit) * end >= 0.0 else "no"

    chance = column("probability of being best", lambda i: format_chance(fit.p_best[fit.names[i]]))
    return [
        column("arm", lambda i: fit.names[i], left=True),
        column("current mean", lambda i: PLAIN.format_rough(fit.now[i]) if fit.counts[i] else MISSING),
        column(f"against {best}, {100 * fit.confidence:g} % confidence interval", apart),
        column("can be best", may_be_best, left=True),
        *([chance] if any(p is not None for p in fit.p_best.values()) else []),
        column("raw mean", lambda i: PLAIN.format_rough(raw[i]) if fit.counts[i] else MISSING),
        column("rewards", lambda i: f"{int(fit.counts[i]):,}"),
    ]


def best_raw_arm(fit: TideFit, raw: Floats) -> str:
    """Return the arm with the best raw mean, without an adjustment for shifts."""
    return fit.names[int(np.nanargmax(_sign(fit) * raw))]


def tide_card(fit: TideFit, told: OrderedRewards) -> Card | None:
    """Return a chart of the tide (the shift of all arms) over time.

    Its points are averages of rewards minus the estimated means of their arms.
    """
    size = max(EACH, math.ceil(told.reward.size / POINTS))
    if told.reward.size < 2 * size:
        return None
    seen = fit.counts > 0.0
    worth = np.where(seen, fit.now - fit.now[seen].mean(), 0.0)
    left = told.reward - worth[told.arm]
    pieces = np.array_split(left, told.reward.size // size)
    words = (
        f"The chart shows the shift of all arms over time. Each point is the mean of about "
        f"{format_count(size, 'consecutive reward')}, from each of which the estimated mean of its arm is "
        f"subtracted; the band reaches two standard errors to each side. Estimate so far: {fit.said()}."
    )
    picture = draw_tide(_shifts(pieces, float(left.mean()), fit), Axis("shift of all arms"), "pull")
    return Card("The estimated tide", words, picture)


def _shifts(pieces: Sequence[Floats], middle: float, fit: TideFit) -> list[ShiftInfo]:
    """Return the points of the chart of shifts over time, one for each group of consecutive rewards."""
    found, first = [], 1
    for piece in pieces:
        shift, reach = float(piece.mean()) - middle, 2.0 * fit.noise / math.sqrt(piece.size)
        name = f"{first:,}\N{EN DASH}{first + piece.size - 1:,}"
        found.append(ShiftInfo(name, piece.size, shift, (shift - reach, shift + reach)))
        first += piece.size
    return found


def _sign(fit: TideFit) -> float:
    """Return 1 if a high reward is good, else -1."""
    return 1.0 if fit.direction == "maximize" else -1.0
