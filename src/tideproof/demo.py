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
from typing import NamedTuple

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table as RichTable
from rich.text import Text

from tideproof.estimate import Fit
from tideproof.live.experiment import Experiment
from tideproof.report.screen import Column, tables

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
    """A finished run, ready to be drawn.

    Attributes
    ----------
    truth : mean revenue of each price on an average day.
    raw, adjusted, error : what was measured: raw mean, adjusted mean and its standard error.
    days : the days as they were.
    tide, tide_error : estimated shift of each day, relative to the average visitor's, and its error.
    raw_leader, leader : which price each way of averaging led with, day by day.
    """

    truth: dict[str, float]
    raw: dict[str, float] = field(default_factory=dict)
    adjusted: dict[str, float] = field(default_factory=dict)
    error: dict[str, float] = field(default_factory=dict)
    days: list[Day] = field(default_factory=list)
    tide: list[float] = field(default_factory=list)
    tide_error: list[float] = field(default_factory=list)
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
    story = Story(TRUTH, days=calendar(random))
    budget = sum(day.visitors for day in story.days)
    run = Experiment(TRUTH, budget=budget, policy="linlucb", seed=seed)
    with Live(console=console, auto_refresh=False) as live:
        for d, day in enumerate(story.days):
            for _ in range(day.visitors):
                pull = run.ask(environment=day.name)
                run.tell(pull, TRUTH[pull.arm] + day.shift + random.standard_normal())
            fit = run.fit()
            if len(fit.groups) == 1:
                _note(story, fit)
                standings = _standings(story, fit, d + 1, console.width)
                live.update(Group(_headline(story, d), *standings), refresh=True)
                time.sleep(pace if console.is_terminal else 0.0)
    story.tide, story.tide_error = fit.shifts["shift"], fit.shifts["se"]
    console.print(verdict(story, fit))
    return story


def _note(story: Story, fit: Fit) -> None:
    """Note what the day's data say, and which price each way of averaging leads with."""
    prices = fit.arms["arm"]
    story.raw = dict(zip(prices, fit.arms["raw_mean"], strict=True))
    story.adjusted = dict(zip(prices, fit.arms["mean"], strict=True))
    story.error = dict(zip(prices, fit.arms["se"], strict=True))
    story.raw_leader.append(max(prices, key=lambda price: story.raw[price]))
    story.leader.append(fit.best)


def _headline(story: Story, d: int) -> Text:
    day = story.days[d]
    lift = f"{day.shift:+.1f}"
    return Text(f"{day.name} of {DAYS}: {day.visitors} visitors, every price moved by {lift} (hidden)")


def _standings(story: Story, fit: Fit, days: int, width: int) -> Iterator[RichTable]:
    """Yield the prices as they stand; means contain the tide so far, and so does the truth beside them."""
    prices = fit.arms["arm"]
    level = story.level(days)
    raw = [f"{_leads(p, story.raw_leader)}{story.raw[p]:.2f}" for p in prices]
    ours = [f"{_leads(p, story.leader)}{story.adjusted[p]:.2f} ± {1.96 * story.error[p]:.2f}" for p in prices]
    truth = [f"{'best ' if p == story.best else ''}{story.truth[p] + level:.2f}" for p in prices]
    columns = [
        Column("shown", [str(shown) for shown in fit.arms["n"]]),
        Column("raw mean", raw),
        Column("tideproof ± 95 %", ours),
        Column("truth so far", truth),
    ]
    return tables(Column("price", prices, left=True), columns, width, pad_edge=False)


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
    text.append(f"\nHow sure: {fit.p_best[ours]:.3f}. ")
    wrong = sum(leader != story.best for leader in story.raw_leader)
    also = sum(leader != story.best for leader in story.leader)
    text.append(f"Days with a wrong leader: raw mean {wrong}, tideproof {also} of {len(story.leader)}.")
    return text
