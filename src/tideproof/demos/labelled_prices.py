"""`tideproof demo`: five prices, thirty days, a tide that lifts all of them. Watch the raw mean be fooled.

A shop tries five prices. Each day brings its own willingness to pay (weekday, weather, a slow
trend) which moves the revenue of every price alike, and some days bring far more visitors than
others. The season fades, so prices tried mostly in the beginning look better than the best price, which
is shown most in the end. `Experiment`, with LinLUCB, decides which price each visitor sees; the demo
knows the truth and compares.
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
from tideproof.draw.demo_picture import DayInfo, DemoInfo, PriceInfo
from tideproof.errors import InputError
from tideproof.experiment.experiment import Experiment
from tideproof.report.arms_table import chance
from tideproof.report.terminal_tables import Column, tables

TRUTH = {"9.90": 2.0, "10.90": 2.3, "11.90": 2.9, "12.90": 2.5, "13.90": 1.9}
DAYS = 30
SEED = 1


class Day(NamedTuple):
    """One day: its name, how far it lifts every price, its visitors."""

    name: str
    shift: float
    visitors: int


@dataclass
class Story:
    """A run as it goes.

    Attributes
    ----------
    truth : mean revenue of each price on an average day.
    days : the days as they were.
    fit : what the data say, once they connect all prices.
    raw_leader, leader : which price each way of averaging led with, day by day from then on.
    """

    truth: dict[str, float]
    days: list[Day]
    fit: Fit | None = None
    raw_leader: list[str] = field(default_factory=list)
    leader: list[str] = field(default_factory=list)

    def level(self, days: int) -> float:
        """Average shift over the visitors of the first days: truth plus level is what means estimate."""
        visitors = [day.visitors for day in self.days[:days]]
        return float(np.average([day.shift for day in self.days[:days]], weights=visitors))

    @property
    def best(self) -> str:
        """The price that really is best."""
        return max(self.truth, key=lambda price: self.truth[price])


def calendar(random: np.random.Generator) -> list[Day]:
    """Draw thirty days: weekends sell better, weather adds its own, and the season fades slowly."""
    days = []
    for d in range(DAYS):
        weekend = 2.5 if d % 7 in (5, 6) else 0.0
        shift = weekend - 0.15 * d + 1.5 * random.standard_normal()
        visitors = int(random.integers(6, 18)) * (2 if weekend else 1)
        days.append(Day(f"day {d + 1}", shift, visitors))
    return days


def run_demo(console: Console, *, seed: int = SEED, pace: float = 0.12) -> Story:
    """Run the experiment on `console`, `pace` seconds a day, and return what happened."""
    random = np.random.default_rng(seed)
    story = Story(TRUTH, calendar(random))
    budget = sum(day.visitors for day in story.days)
    run = Experiment(TRUTH, budget=budget, policy="linlucb", seed=seed)
    with Live(console=console, auto_refresh=False) as live:
        for d, day in enumerate(story.days):
            for _ in range(day.visitors):
                pull = run.ask(environment=day.name)
                run.tell(pull, TRUTH[pull.arm] + day.shift + random.standard_normal())
            fit = run.fit()
            if len(fit.groups) == 1 and fit.freedom:
                _note(story, fit)
                standings = _standings(story, fit, d + 1, console.width)
                live.update(Group(_headline(story, d), *standings), refresh=True)
                time.sleep(pace if console.is_terminal else 0.0)
    console.print(verdict(story, fit))
    return story


def _note(story: Story, fit: Fit) -> None:
    """Note what the day's data say, and which price each way of averaging leads with."""
    story.fit = fit
    story.raw_leader.append(max(fit.arms, key=lambda row: row["raw_mean"])["arm"])
    story.leader.append(fit.best)


def picture_info(story: Story) -> DemoInfo:
    """Return what the picture of a finished run shows: means contain the tide, and so does their truth."""
    fit = story.fit
    if fit is None:
        raise InputError("a story without a fit cannot be drawn: no environment connects all prices yet")
    level = story.level(len(story.days))
    days = [
        DayInfo(day.shift - level, row["shift"], row["low"], row["high"])
        for day, row in zip(story.days, fit.shifts, strict=True)
    ]
    rows = {row["arm"]: row for row in fit.arms}
    prices = [
        PriceInfo(price, truth + level, *(rows[price][name] for name in ("raw_mean", "mean", "low", "high")))
        for price, truth in story.truth.items()
    ]
    return DemoInfo(days, prices, fit.level, story.best, story.raw_leader[-1], story.leader[-1])


def _headline(story: Story, d: int) -> Text:
    day = story.days[d]
    lift = f"{day.shift:+.1f}"
    return Text(f"{day.name} of {DAYS}: {day.visitors} visitors, every price moved by {lift} (hidden)")


def _standings(story: Story, fit: Fit, days: int, width: int) -> Iterator[RichTable]:
    """Yield the prices as they stand; means contain the tide so far, and so does the truth beside them."""
    rows, level = fit.arms.to_dicts(), story.level(days)
    prices = [row["arm"] for row in rows]
    raw = [f"{_leads(row['arm'], story.raw_leader)}{row['raw_mean']:.2f}" for row in rows]
    ours = [f"{_leads(row['arm'], story.leader)}{row['mean']:.2f} ± {_reach(row):.2f}" for row in rows]
    truth = [f"{'best ' if p == story.best else ''}{story.truth[p] + level:.2f}" for p in prices]
    columns = [
        Column("shown", [str(row["n"]) for row in rows]),
        Column("raw mean", raw),
        Column(f"tideproof ± {100 * fit.level:g} %", ours),
        Column("truth so far", truth),
    ]
    return tables(Column("price", prices, left=True), columns, width, pad_edge=False)


def _reach(row: dict[str, Any]) -> float:
    return float(row["high"] - row["low"]) / 2.0


def _leads(price: str, leaders: list[str]) -> str:
    return "leads " if price == leaders[-1] else ""


def verdict(story: Story, fit: Fit) -> Text:
    """Say who was right."""
    raw, ours = story.raw_leader[-1], story.leader[-1]
    text = Text()
    for who, price in (("The raw mean", raw), ("tideproof", ours)):
        right = price == story.best
        loss = story.truth[story.best] - story.truth[price]
        text.append(f"\n{who} picks {price}: ")
        text.append(
            "right" if right else f"wrong, it earns {loss:.2f} less a visitor than {story.best}",
            style="bold green" if right else "bold red",
        )
    text.append(f"\nHow sure: {chance(fit.p_best[ours])}. ")
    wrong = sum(leader != story.best for leader in story.raw_leader)
    also = sum(leader != story.best for leader in story.leader)
    text.append(f"Days with a wrong leader: raw mean {wrong}, tideproof {also} of {len(story.leader)}.")
    return text
