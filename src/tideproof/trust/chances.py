"""Does "best with probability 0.9" come true nine times in ten? Played after adaptive runs, and counted.

A cell is a number of arms, pulls for each, and a spread. In every run the means of arms are drawn anew from a
normal distribution with that spread, in units of the noise; `None` draws it, too, log-uniformly from .2 to 2.
`contrast` plays the run and selects an arm; what is said of that arm is put into a bin.

    python -m tideproof.trust.chances --runs 20000 --picture reliability.svg
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from tideproof.checks import whole
from tideproof.core.arrays import Floats
from tideproof.draw.reliability import Curve, draw_reliability
from tideproof.kernels import fixed_effects
from tideproof.lab.engines.cpu import compiled_loop, run_loop
from tideproof.lab.executors import cores, processes
from tideproof.lab.intervals import binomial
from tideproof.policies.registry import as_policy
from tideproof.stats.prior import SAID, Prior, checked_prior, p_best
from tideproof.table import Table
from tideproof.worlds import World

ARMS, PULLS = (3, 5, 10), (20, 40, 100)
SPREADS = (None, 0.2, 0.5, 1.0, 2.0)
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
LEAST, MOST = 0.2, 2.0  # spreads, where they are drawn
ENOUGH = 1_000  # runs of a bin that counts
_CHUNK = 250  # runs of one task


class Cell(NamedTuple):
    """What is played: so many arms, pulls for each, and how far their means lie apart."""

    arms: int
    pulls: int
    spread: float | None

    @property
    def allowed(self) -> float:
        """How far what is said may be from what happens: a spread that was known would make it exact."""
        return 0.02 if self.spread is None else 0.06


class Row(NamedTuple):
    """What was said of selected arms and what happened, in one bin of a cell.

    Attributes
    ----------
    cell : what was played.
    above, below : the ends of the bin.
    runs : how many fell into it.
    said : the mean probability.
    happened : in what share of runs the arm was the best.
    low, high : the exact 95 % limits of that.
    """

    cell: Cell
    above: float
    below: float
    runs: int
    said: float
    happened: float
    low: float
    high: float

    @property
    def off(self) -> float:
        """By how much too much was said."""
        return self.said - self.happened

    @property
    def kept(self) -> bool:
        """Whether its limits allow that to be no more than is allowed, in a bin with enough runs."""
        allowed = self.cell.allowed
        return self.runs < ENOUGH or self.low - allowed <= self.said <= self.high + allowed


def played(
    runs: int,
    seed: int = 0,
    prior: Prior = "exchangeable",
    *,
    arms: Sequence[int] = ARMS,
    pulls: Sequence[int] = PULLS,
    spreads: Sequence[float | None] = SPREADS,
    workers: int | None = None,
) -> list[Row]:
    """Play so many runs of every cell; one worker a core unless told, with the same numbers for any."""
    whole("runs", runs, 1)
    cells = [Cell(*one) for one in product(arms, pulls, spreads)]
    count = cores() if workers is None else whole("workers", workers, 1)
    tasks = [
        (cell, first, min(first + _CHUNK, runs), seed, prior)
        for cell in cells
        for first in range(0, runs, _CHUNK)
    ]
    if count == 1:
        return rows(zip(tasks, map(_play, tasks), strict=True))
    with processes(count) as pool:
        return rows(zip(tasks, pool.map(_play, tasks), strict=True))


def _play(task: tuple[Cell, int, int, int, Prior]) -> Floats:
    return play(*task)


def play(cell: Cell, first: int, last: int, seed: int, prior: Prior) -> Floats:
    """Play runs `first` to `last` - 1: what was said of the selected arm, and 1 if it was the best."""
    spec, of_fit = as_policy("contrast"), cast(Any, fixed_effects)
    loop, memory = compiled_loop(spec), None
    found = np.full((last - first, 2), np.nan)
    for run in range(first, last):
        means = _means(cell, np.random.default_rng((seed, run)))
        world = World(means.tolist(), lengths=(2, 10 * cell.arms))
        budget = [cell.pulls * cell.arms]
        score, memory = run_loop(loop, spec, world, budget, seed, run, 1, memory=memory)
        fit, selected = memory.view.data.fit, int(score.selected[0, 0])
        if of_fit.connected(fit):
            chance, _ = p_best(prior, fit.mu, of_fit.sigma2(fit) * fit.P, float(of_fit.freedom(fit)))
            found[run - first] = chance[selected], selected == means.argmax()
    return found


def _means(cell: Cell, random: np.random.Generator) -> Floats:
    drawn = math.exp(random.uniform(math.log(LEAST), math.log(MOST)))
    return random.standard_normal(cell.arms) * (drawn if cell.spread is None else cell.spread)


def rows(parts: Iterable[tuple[tuple[Cell, int, int, int, Prior], Floats]]) -> list[Row]:
    """Put what was said of each cell into bins; an empty one is left out."""
    of_cell: dict[Cell, list[Floats]] = {}
    for (cell, *_), found in parts:
        of_cell.setdefault(cell, []).append(found)
    return [row for cell, found in of_cell.items() for row in _bins(cell, np.concatenate(found))]


def _bins(cell: Cell, found: Floats) -> Iterator[Row]:
    said, happened = found.T
    for above, below in pairwise(EDGES):
        inside = (said >= above) & (said < below)
        runs = int(inside.sum())
        if runs:
            right = np.array([int(happened[inside].sum())])
            low, high = (float(end[0]) for end in binomial(right, runs, 0.95))
            yield Row(cell, above, below, runs, float(said[inside].mean()), float(right[0]) / runs, low, high)


def table(found: Sequence[Row]) -> Table:
    """Return one row a bin, with all that was counted."""
    columns = {name: [getattr(row.cell, name) for row in found] for name in Cell._fields}
    columns |= {name: [getattr(row, name) for row in found] for name in (*Row._fields[1:], "off", "kept")}
    return Table(columns)


def worst(found: Sequence[Row]) -> Table:
    """Return one row a cell: how far off it was in the worst bin with enough runs, too low and too high."""
    off = {row.cell: [0.0] for row in found}
    for row in found:
        if row.runs >= ENOUGH:
            off[row.cell].append(row.off)
    columns = {name: [getattr(cell, name) for cell in off] for name in Cell._fields}
    columns["too_low"] = [round(100.0 * min(seen), 1) for seen in off.values()]
    columns["too_high"] = [round(100.0 * max(seen), 1) for seen in off.values()]
    columns["bins"] = [len(seen) - 1 for seen in off.values()]
    columns["kept"] = [all(row.kept for row in found if row.cell == cell) for cell in off]
    return Table(columns)


def curves(found: Sequence[Row]) -> dict[str, list[Curve]]:
    """Return what a picture shows: for each spread a curve for each number of arms and pulls."""
    shown: dict[str, dict[Cell, list[Row]]] = {}
    for row in found:
        spread = row.cell.spread
        title = f"spread drawn from {LEAST:g} to {MOST:g}" if spread is None else f"spread {spread:g}"
        shown.setdefault(title, {}).setdefault(row.cell, []).append(row)
    return {
        title: [
            Curve(f"{cell.arms} arms, {cell.pulls} pulls each", *_points(bins))
            for cell, bins in cells.items()
        ]
        for title, cells in shown.items()
    }


def _points(bins: Sequence[Row]) -> Iterator[list[float]]:
    for name in ("said", "happened", "low", "high"):
        yield [getattr(row, name) for row in bins]


def main(given: Sequence[str] | None = None) -> None:
    """Play it, print the worst bin of each cell, and write all bins and a picture if asked."""
    parser = argparse.ArgumentParser(prog="python -m tideproof.trust.chances", description=__doc__)
    parser.add_argument("--runs", type=int, default=20_000, help="runs of each cell")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--prior", default="exchangeable", choices=list(SAID))
    parser.add_argument("--workers", type=int, default=None, help="processes; one a core unless it is given")
    parser.add_argument("--csv", type=Path, help="a file for all bins")
    parser.add_argument("--picture", type=Path, help="a file for the curves")
    asked = parser.parse_args(given)
    found = played(asked.runs, asked.seed, checked_prior(asked.prior), workers=asked.workers)
    for row in worst(found):
        spread = "drawn" if row["spread"] is None else f"{row['spread']:g}"
        print(
            f"{row['arms']:2d} arms, {row['pulls']:3d} pulls each, spread {spread:>5}: off by "
            f"{row['too_low']:+.1f} to {row['too_high']:+.1f} points in {row['bins']} bins"
            f"{'' if row['kept'] else ' !'}"
        )
    if asked.csv is not None:
        table(found).to_csv(asked.csv)
    if asked.picture is not None:
        draw_reliability(curves(found), asked.picture)


if __name__ == "__main__":
    main()
