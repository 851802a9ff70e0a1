"""Errors of policies in ten worlds of conversions whose days multiply all rates.

    python benchmarks/conversions.py        # 60 runs a world, under two minutes on one core
    python benchmarks/conversions.py 2000   # the table of docs/experiment.md

A day is a tenth of the budget and is asked for at once. Its successes are reported as one summary for each
arm. All policies meet the same days. `contrast` runs as in `Experiment`, without its record of pulls.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

import tideproof as tp
from lab import table
from tideproof.experiment.compiled_asks import WORTH_THE_COMPILER
from tideproof.experiment.state.policy_state import PolicyState
from tideproof.experiment.state.ratio_odds_fit import Scale
from tideproof.lab.share_intervals import binomial

DAYS, RUNS, SEED = 10, 60, 19


class World(NamedTuple):
    """Rates of the arms, standard deviation of the logarithm of a day's factor, and budget."""

    rates: list[float]
    spread: float
    budget: int


WORLDS = [
    World([0.05, 0.0385], 0.4, 3_600),
    World([0.02, 0.026, 0.02], 0.6, 14_000),
    World([0.03, 0.04, 0.03, 0.025], 0.5, 9_000),
    World([0.02, 0.025, 0.03, 0.035, 0.0435], 0.8, 8_000),
    World([0.03] * 5 + [0.042], 0.6, 10_000),
    World([0.02, 0.022, 0.025, 0.03, 0.034, 0.04, 0.05], 0.7, 9_000),
    World([0.025] * 7 + [0.036], 0.4, 13_000),
    World([0.02, 0.02, 0.03, 0.03, 0.035, 0.035, 0.04, 0.04, 0.05], 0.9, 14_000),
    World([0.02, 0.023, 0.026, 0.03, 0.033, 0.036, 0.039, 0.042, 0.045, 0.05], 0.5, 45_000),
    World([0.02] * 8 + [0.03, 0.026], 1.0, 22_000),
]

Sell = Callable[[int, list[int]], list[int]]  # returns the successes of each arm for a day and its pulls


def contrast(scale: Scale) -> Callable[[World, int, Sell, Generator], int]:
    """Return a function that runs `contrast` on a scale as an experiment does."""
    spec = tp.policy("contrast") if scale == "difference" else tp.policy("contrast").on_ratios()
    PolicyState(spec, 2, 0, 1.0, None).ask(0, WORTH_THE_COMPILER, 0)  # compiles batches

    def run(world: World, seed: int, sell: Sell, random: Generator) -> int:
        arms, size = len(world.rates), world.budget // DAYS
        numbers = PolicyState(spec, arms, seed, 1.0, world.budget, scale)
        for day in range(DAYS):
            pulls = np.bincount(numbers.ask(day, size, day * size), minlength=arms).tolist()
            for arm, (n, sold) in enumerate(zip(pulls, sell(day, pulls), strict=True)):
                if n:
                    numbers.take(day, arm, n, sold / n, sold * (1.0 - sold / n), n)
        return numbers.select(numbers.rescaled())

    return run


def thompson(world: World, seed: int, sell: Sell, random: Generator) -> int:
    """Draw each visitor's arm from Beta posteriors of the raw rates; select the arm with the highest mean."""
    arms, size = len(world.rates), world.budget // DAYS
    good, bad = np.ones(arms), np.ones(arms)
    for day in range(DAYS):
        pulls = np.bincount(random.beta(good, bad, (size, arms)).argmax(axis=1), minlength=arms)
        sold = np.array(sell(day, pulls.tolist()))
        good, bad = good + sold, bad + pulls - sold
    return int((good / (good + bad)).argmax())


def evenly(world: World, seed: int, sell: Sell, random: Generator) -> int:
    """Split every day evenly and select the arm with the most successes."""
    arms, size = len(world.rates), world.budget // DAYS
    sold = [sell(day, [size // arms] * arms) for day in range(DAYS)]
    return int(np.sum(sold, axis=0).argmax())


WAYS: dict[str, Callable[[World, int, Sell, Generator], int]] = {
    "contrast, ratios": contrast("ratio"),
    "contrast, raw 0 and 1": contrast("difference"),
    "Thompson, Beta": thompson,
    "split evenly": evenly,
}


def wrong(world: World, way: str, runs: int) -> int:
    """Return the number of runs in which a way of running selects a wrong arm."""
    errors = 0
    for run in range(runs):
        factors, visitors, own = (np.random.default_rng([SEED, run, part]) for part in range(3))
        days = np.exp(factors.normal(0.0, world.spread, DAYS))
        rates = np.minimum(np.outer(days, world.rates), 1.0)

        def sell(day: int, pulls: list[int], rates: Any = rates, visitors: Generator = visitors) -> list[int]:
            sold: list[int] = visitors.binomial(pulls, rates[day]).tolist()
            return sold

        errors += WAYS[way](world, run, sell, own) != int(np.argmax(world.rates))
    return errors


def report(runs: int = RUNS) -> Iterator[str]:
    """Yield the table as Markdown."""
    counts = {way: [wrong(world, way, runs) for world in WORLDS] for way in WAYS}
    rows = []
    for number, world in enumerate(WORLDS):
        shares = (f"{counts[way][number] / runs:.4f}" for way in WAYS)
        rows.append([f"{len(world.rates)}", f"{world.spread:g}", f"{world.budget:,}", *shares])
    overall = [f"{_mean(counts[way], counts['contrast, ratios'], runs):.2f}" for way in WAYS]
    rows.append(["geometric mean", "", "", *overall])
    interval = binomial(np.array(counts["contrast, ratios"]), runs, 0.95)
    half = float((interval.high - interval.low).max()) / 2.0
    head = f"{runs} runs a world; 95 % intervals reach at most {half:.3f} to either side for `contrast`."
    columns = ["arms", "spread of days", "budget", *WAYS]
    yield "## Conversions\n\n" + table(head, columns, rows)


def _mean(counts: list[int], others: list[int], runs: int) -> float:
    """Return the geometric mean of ratios of errors, with half an error added to each number."""
    ratios = [(n + 0.5) / (other + 0.5) for n, other in zip(counts, others, strict=True)]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


if __name__ == "__main__":
    for part in report(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS):
        print(part)
