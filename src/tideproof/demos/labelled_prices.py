"""Demonstration `tideproof demo`: an experiment with five prices over thirty days with shared shifts.

A shop tries five prices. Each day has its own willingness to pay (weekday, weather, a slow trend), which
changes the revenue of every price alike. Some days have far more visitors than others. The season fades, so
prices that are shown mostly at the beginning have higher raw means than the best price, which is shown most
at the end. `Experiment` with LinLUCB chooses the price of each visitor. The demo knows the truth and
compares raw means with adjusted means.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from tideproof.analysis import Fit
from tideproof.demos.shop_prices import (
    BEST,
    TRUTH,
    best_mark,
    compare_picks,
    leader_by_raw_mean,
    leader_mark,
    price_infos,
)
from tideproof.draw.demo_picture import DayInfo, DemoInfo
from tideproof.errors import InputError
from tideproof.experiment.experiment import Experiment
from tideproof.report.table_layout import Column, make_tables
from tideproof.text import format_probability

DAYS = 30
SEED = 1


class Day(NamedTuple):
    """A simulated day: its name, the shift of all prices, and the number of visitors."""

    name: str
    shift: float
    visitors: int


@dataclass
class DemoRun:
    """State of a running demonstration: its simulated days, the latest fit, and the leading prices.

    Attributes
    ----------
    days : the simulated days.
    fit : the latest fit, once the data connect all prices.
    raw_leader, leader : prices with the highest raw and the highest adjusted mean, for each day with a fit.
    """

    days: list[Day]
    fit: Fit | None = None
    raw_leader: list[str] = field(default_factory=list)
    leader: list[str] = field(default_factory=list)

    def level(self, days: int) -> float:
        """Return the average shift of the first `days` days, weighted by their visitors.

        Estimated means contain this average, so it is added to true means before they are compared.
        """
        visitors = [day.visitors for day in self.days[:days]]
        return float(np.average([day.shift for day in self.days[:days]], weights=visitors))


def calendar(random: np.random.Generator) -> list[Day]:
    """Simulate thirty days: weekends sell better, weather varies at random, and the season fades slowly."""
    days = []
    for d in range(DAYS):
        weekend = 2.5 if d % 7 in (5, 6) else 0.0
        shift = weekend - 0.15 * d + 1.5 * random.standard_normal()
        visitors = int(random.integers(6, 18)) * (2 if weekend else 1)
        days.append(Day(f"day {d + 1}", shift, visitors))
    return days


def run_demo(console: Console, *, seed: int = SEED, pace: float = 0.12) -> DemoRun:
    """Run the demonstration on a terminal, with a pause of `pace` seconds for each simulated day.

    Return its results.
    """
    random = np.random.default_rng(seed)
    demo_run = DemoRun(calendar(random))
    budget = sum(day.visitors for day in demo_run.days)
    run = Experiment(TRUTH, budget=budget, policy="linlucb", seed=seed)
    with Live(console=console, auto_refresh=False) as live:
        for d, day in enumerate(demo_run.days):
            for _ in range(day.visitors):
                pull = run.ask(environment=day.name)
                run.tell(pull, TRUTH[pull.arm] + day.shift + random.standard_normal())
            fit = run.fit()
            if len(fit.groups) == 1 and fit.degrees_of_freedom:
                _record_day(demo_run, fit)
                standings = _price_tables(demo_run, fit, d + 1, console.width)
                live.update(Group(_headline(demo_run, d), *standings), refresh=True)
                time.sleep(pace if console.is_terminal else 0.0)
    console.print(verdict(demo_run, fit))
    return demo_run


def _record_day(demo_run: DemoRun, fit: Fit) -> None:
    """Record the fit after one day, and the prices that lead by raw mean and by adjusted mean."""
    demo_run.fit = fit
    demo_run.raw_leader.append(leader_by_raw_mean(fit))
    demo_run.leader.append(fit.best)


def picture_info(demo_run: DemoRun) -> DemoInfo:
    """Return the data for a picture of a finished demonstration."""
    fit = demo_run.fit
    if fit is None:
        raise InputError("a demo without a fit cannot be drawn: no environment connects all prices yet")
    level = demo_run.level(len(demo_run.days))
    days = [
        DayInfo(day.shift - level, row["shift"], row["low"], row["high"])
        for day, row in zip(demo_run.days, fit.shifts, strict=True)
    ]
    prices = price_infos(fit, level)
    return DemoInfo(days, prices, fit.confidence, BEST, demo_run.raw_leader[-1], demo_run.leader[-1])


def _headline(demo_run: DemoRun, d: int) -> Text:
    day = demo_run.days[d]
    lift = f"{day.shift:+.1f}"
    return Text(
        f"{day.name} of {DAYS}: {day.visitors} visitors, all prices shifted by {lift} (unknown to tideproof)"
    )


def _price_tables(demo_run: DemoRun, fit: Fit, days: int, width: int) -> Iterator[RichTable]:
    """Yield tables that show the raw, the adjusted and the true mean revenue of each price.

    All means include the average shift.
    """
    rows, level = fit.arms.to_dicts(), demo_run.level(days)
    prices = [row["arm"] for row in rows]
    raw = [f"{leader_mark(row['arm'], demo_run.raw_leader[-1])}{row['raw_mean']:.2f}" for row in rows]
    ours = [
        f"{leader_mark(row['arm'], demo_run.leader[-1])}{row['mean']:.2f} ± {_half_width(row):.2f}"
        for row in rows
    ]
    truth = [f"{best_mark(p)}{TRUTH[p] + level:.2f}" for p in prices]
    columns = [
        Column("shown", [str(row["n"]) for row in rows]),
        Column("raw mean", raw),
        Column(f"adjusted mean, {100 * fit.confidence:g} % interval", ours),
        Column("true mean so far", truth),
    ]
    return make_tables(Column("price", prices, left=True), columns, width, pad_edge=False)


def _half_width(row: dict[str, Any]) -> float:
    return float(row["high"] - row["low"]) / 2.0


def verdict(demo_run: DemoRun, fit: Fit) -> Text:
    """Return sentences that compare the prices selected by the raw mean and by tideproof with the best price.

    They also say how often each was wrong.
    """
    ours = demo_run.leader[-1]
    text = compare_picks(demo_run.raw_leader[-1], ours)
    probability = fit.p_best[ours]
    text.append("\n")
    if probability is not None:
        text.append(f"Probability that {ours} is the best price: {format_probability(probability)}. ")
    wrong = sum(leader != BEST for leader in demo_run.raw_leader)
    also = sum(leader != BEST for leader in demo_run.leader)
    text.append(f"Days with a wrong leader: raw mean {wrong}, tideproof {also} of {len(demo_run.leader)}.")
    return text
