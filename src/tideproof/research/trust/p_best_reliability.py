"""Check by simulation that arms called best with probability p are the best in a share p of runs.

Each simulated combination ("cell" in this module) has a number of arms, a number of pulls for each, and a
spread. In every run, the true means are drawn from a normal distribution whose standard deviation is the
spread, in units of the noise. A spread of None is drawn anew in each run, log-uniformly from 0.2 to 2. The
first arm may be noisier than the others. The policy `contrast` selects an arm, and the predicted probability
that it is the best, as `recommend` shows it, is put into a bin. Runs in which it is not shown are left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby, pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.checks import Prior, require_prior
from tideproof.core.kernel_state_arrays import Floats
from tideproof.draw.reliability_diagram import ReliabilityCurve, draw_reliability
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.lab.share_intervals import binomial
from tideproof.policies.policy_registry import as_policy
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns, percent
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.table import Table
from tideproof.text import format_count
from tideproof.worlds import World

ARMS, PULLS = (3, 5, 10), (20, 40, 100)
SPREADS = (None, 0.05, 0.2, 0.5, 1.0, 2.0)
NOISY_PULLS, NOISY_SPREADS, NOISIER = (20, 100), (None, 0.05, 0.2, 1.0), 3.0  # cells with one noisier arm
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
LEAST, MOST = 0.2, 2.0  # range of random spreads
ALLOWED = 0.05  # tolerated difference between predicted probabilities of being best and observed shares
ENOUGH = 0.01  # share of a cell's runs that a bin needs to be judged
_CHUNK = 250  # runs of one task


class ReliabilityCell(NamedTuple):
    """One kind of simulated run: its number of arms, pulls per arm, and standard deviation of true means.

    `noise` is the standard deviation of the first arm's noise, relative to the other arms.
    """

    arms: int
    pulls: int
    spread: float | None
    noise: float = 1.0

    @property
    def name(self) -> str:
        """Description of the number of arms, pulls per arm, and spread of true means in words."""
        return f"{self.arms} arms, {self.pulls} pulls each, standard deviation of means {self.kind}"

    @property
    def kind(self) -> str:
        """Spread of true means, and the noise of the first arm if that differs, in words."""
        spread = "random" if self.spread is None else f"{self.spread:g}"
        return spread if self.noise == 1.0 else f"{spread}, one arm {self.noise:g} times as noisy"


class ReliabilityRow(NamedTuple):
    """Predicted probability that an arm is best, and how often it was, in runs with similar predictions.

    Attributes
    ----------
    cell : the simulated cell.
    above, below : the ends of the bin.
    played : number of runs of the cell.
    runs : number of runs in the bin.
    said : the mean predicted probability.
    happened : the share of runs in which the selected arm was the best.
    low, high : the exact 95 % confidence interval of that share.
    """

    cell: ReliabilityCell
    above: float
    below: float
    played: int
    runs: int
    said: float
    happened: float
    low: float
    high: float

    @property
    def off(self) -> float:
        """Predicted probability of being best minus the observed share of runs in which the arm was best."""
        return self.said - self.happened

    @property
    def kept(self) -> bool:
        """Whether predicted probabilities of being best match observed shares, or there are too few runs."""
        return not self.judged or self.low - ALLOWED <= self.said <= self.high + ALLOWED

    @property
    def judged(self) -> bool:
        """Whether there are enough runs to compare predicted probabilities with observed shares."""
        return self.runs >= ENOUGH * self.played


def cells(
    arms: Sequence[int] = ARMS, pulls: Sequence[int] = PULLS, spreads: Sequence[float | None] = SPREADS
) -> list[ReliabilityCell]:
    """Return all simulated combinations of number of arms, pulls per arm, and spread of true means.

    Some of them follow once more with one noisier arm.
    """
    alike = [ReliabilityCell(*one) for one in product(arms, pulls, spreads)]
    noisy = [ReliabilityCell(*one, NOISIER) for one in product(arms, NOISY_PULLS, NOISY_SPREADS)]
    return alike + noisy


def run_cells(
    what: Sequence[ReliabilityCell],
    runs: int,
    seed: int = 0,
    prior: Prior = "exchangeable",
    workers: int | None = None,
) -> Iterator[list[ReliabilityRow]]:
    """Simulate runs; yield how often the selected arm is best, by bin of the predicted probability."""
    for cell, parts in in_chunks(partial(_play, seed, prior), what, runs, workers, _CHUNK):
        yield bins(cell, np.concatenate(parts))


def _play(seed: int, prior: Prior, task: tuple[ReliabilityCell, int, int]) -> Floats:
    return play(*task, seed, prior)


def play(cell: ReliabilityCell, first: int, last: int, seed: int, prior: Prior) -> Floats:
    """Simulate runs, and return each run's predicted probability that the selected arm is the best.

    The second column is 1 if it was the best, else 0. The runs have the numbers `first` to `last` - 1. Both
    columns are NaN for a run in which no probability is shown.
    """
    spec = as_policy("contrast")
    loop, memory = compiled_loop(spec, trace=True), None
    found = np.full((last - first, 2), np.nan)
    noise = [cell.noise, *[1.0] * (cell.arms - 1)]
    budget = cell.pulls * cell.arms
    for run in range(first, last):
        means = _means(cell, np.random.default_rng((seed, run)))
        world = World(means.tolist(), sigma=noise, lengths=(2, 10 * cell.arms))
        trace = empty_trace(budget, cell.arms)
        score, memory = run_loop(loop, spec, world, [budget], seed, run, 1, trace, memory)
        rewards = trace.arm.tolist(), trace.environment.tolist(), trace.reward.tolist()
        fit = Fit.from_arrays(*rewards, adaptive=True, scale="difference", prior=prior, about="these")
        selected = int(score.selected[0, 0])
        chance = fit.p_best.get(selected)
        if chance is not None:
            found[run - first] = chance, selected == means.argmax()
    return found


def _means(cell: ReliabilityCell, random: np.random.Generator) -> Floats:
    drawn = math.exp(random.uniform(math.log(LEAST), math.log(MOST)))
    return random.standard_normal(cell.arms) * (drawn if cell.spread is None else cell.spread)


def bins(cell: ReliabilityCell, found: Floats) -> list[ReliabilityRow]:
    """Group runs by the predicted probability that the selected arm is best; return a row for each group.

    Empty bins have no row.
    """
    return list(_bin_rows(cell, found))


def _bin_rows(cell: ReliabilityCell, found: Floats) -> Iterator[ReliabilityRow]:
    said, happened = found.T
    for above, below in pairwise(EDGES):
        inside = (said >= above) & ((said < below) | (below == 1.0))
        runs = int(inside.sum())
        if runs:
            right = int(happened[inside].sum())
            yield _row(cell, above, below, len(found), runs, float(said[inside].sum()), right)


def table(found: Sequence[ReliabilityRow]) -> Table:
    """Return a table of predicted probabilities of being best and observed shares, one row for each bin."""
    return columns([row.cell._asdict() | _counts(row) | {"kept": row.kept} for row in found])


def _counts(row: ReliabilityRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in (*ReliabilityRow._fields[1:], "off")}


def said(found: Sequence[ReliabilityRow]) -> list[str]:
    """Return lines of text that compare predicted probabilities of being best with observed shares.

    The errors are the largest of each simulated combination, among bins with enough runs. Combinations in
    which no probability was shown have no line. Bins are pooled by the spread of true means.
    """
    lines = []
    for cell, rows in groupby(found, lambda row: row.cell):
        mine = list(rows)
        off = [0.0, *(100.0 * row.off for row in mine if row.judged)]
        kept, bins = "" if all(row.kept for row in mine) else " !", format_count(len(off) - 1, "bin")
        shown = 100.0 * sum(row.runs for row in mine) / mine[0].played
        lines.append(
            f"{cell.name}: shown in {shown:.1f} % of runs; stated minus observed probability "
            f"{min(off):+.1f} to {max(off):+.1f} percentage points in {bins}{kept}"
        )
    lines += ["", f"{'standard deviation':<34}  stated           runs  mean stated  observed"]
    for row in pooled(found):
        lines.append(
            f"{row.cell.kind:<34}  {100 * row.above:.0f} to {100 * row.below:3.0f} %  {row.runs:8,}  "
            f"{100 * row.said:8.1f} %  {percent(row.happened, (row.low, row.high), 1)}"
        )
    return lines


def pooled(found: Sequence[ReliabilityRow]) -> list[ReliabilityRow]:
    """Pool runs with the same spread of true means and similar predicted probabilities of being best."""
    together: dict[tuple[float, float | None, float], list[ReliabilityRow]] = {}
    for row in found:
        together.setdefault((row.cell.noise, row.cell.spread, row.above), []).append(row)
    ordered = sorted(together.items(), key=lambda it: (it[0][0], SPREADS.index(it[0][1]), it[0][2]))
    return [
        _row(ReliabilityCell(0, 0, spread, noise), above, rows[0].below, *_pooled_sums(rows))
        for (noise, spread, above), rows in ordered
    ]


def _pooled_sums(rows: Sequence[ReliabilityRow]) -> tuple[int, int, float, int]:
    """Return how many simulated runs there are, how many are in a probability bin, and how many are right."""
    return (
        sum(row.played for row in rows),
        sum(row.runs for row in rows),
        sum(row.said * row.runs for row in rows),
        sum(round(row.happened * row.runs) for row in rows),
    )


def _row(
    cell: ReliabilityCell, above: float, below: float, played: int, runs: int, said: float, right: int
) -> ReliabilityRow:
    low, high = (float(end[0]) for end in binomial(np.array([right]), runs, 0.95))
    return ReliabilityRow(cell, above, below, played, runs, said / runs, right / runs, low, high)


def curves(found: Sequence[ReliabilityRow]) -> dict[str, list[ReliabilityCurve]]:
    """Return the reliability curves to draw, by spread of true means, number of arms, and pulls per arm.

    Bins with too few runs are left out.
    """
    shown: dict[str, dict[ReliabilityCell, list[ReliabilityRow]]] = {}
    for row in found:
        if not row.judged:
            continue
        title = f"standard deviation of means {row.cell.kind}".replace(", ", ",\n")
        shown.setdefault(title, {}).setdefault(row.cell, []).append(row)
    return {
        title: [
            ReliabilityCurve(f"{cell.arms} arms, {cell.pulls} pulls each", *_points(bins))
            for cell, bins in cells.items()
        ]
        for title, cells in shown.items()
    }


def _points(bins: Sequence[ReliabilityRow]) -> Iterator[list[float]]:
    for name in ("said", "happened", "low", "high"):
        yield [getattr(row, name) for row in bins]


def _draw_curves(found: Sequence[ReliabilityRow], path: Path) -> None:
    draw_reliability(curves(found), path)


def _play_part(what: Sequence[ReliabilityCell], asked: PartOptions) -> Iterator[list[ReliabilityRow]]:
    prior = require_prior(asked.prior or "exchangeable")
    return run_cells(what, asked.runs, asked.seed or 0, prior, asked.workers)


PART = LedgerPart(
    "arms that are stated to be the best with probability p are the best in a share p of runs",
    20_000,
    ("seed", "workers", "prior", "plot"),
    lambda _: cells(),
    _play_part,
    table,
    said,
    _draw_curves,
)
