"""Cells that are simply wrong: what `robust="cells"` saves where there are some, and costs where none is.

Worlds of the paper are played, as they are and with a share of cells off by 20 sigma; the arm that leads in
the log is selected, by least squares and with wrong cells left out. After a policy that chose arms by rewards
nothing is promised of the second: it followed the wrong cells while it ran, and what it did not look at
cannot be seen later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from tideproof.core.array_layout import Ints
from tideproof.data import cells_from_arrays
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.lab.share_intervals import binomial
from tideproof.policies.policy_registry import as_policy
from tideproof.research.trust.ledger_part import LedgerPart, PartOptions, columns
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.outlying_cell_search import keep
from tideproof.stats.solve.least_squares import solve
from tideproof.table import Table
from tideproof.worlds import Outliers, World, mdm, slippage

POLICIES = ("round-robin+ols", "contrast")
WORLDS = {"MDM": mdm, "slippage": slippage}
ARMS = (5, 10)
SHARE, OFF = 0.05, 20.0  # of cells that are wrong, and by how many sigmas
COST, SAVED = 1.05, 1.5  # times the errors of least squares without a wrong cell, at most

_PULLS = 40  # of an arm
_CHANCE = 0.001  # of calling a cell broken that is not
_CHUNK = 100  # runs of one task


class OutlyingCellSetting(NamedTuple):
    """What is played."""

    world: str
    arms: int
    policy: str

    @property
    def name(self) -> str:
        """It in words."""
        return f"{self.world}, {self.arms} arms, {self.policy}"


class OutlyingCellRow(NamedTuple):
    """In how many of so many runs a wrong arm was selected.

    Attributes
    ----------
    clean, clean_robust : without a wrong cell, by least squares and with `robust`.
    plain, robust : with 5 % of cells wrong.
    left_out : cells that `robust` left out without a wrong one, in all runs.
    """

    cell: OutlyingCellSetting
    runs: int
    clean: int
    clean_robust: int
    plain: int
    robust: int
    left_out: int

    @property
    def cost(self) -> float:
        """Errors with `robust` over those without it, where nothing is wrong."""
        return self.clean_robust / max(self.clean, 1)

    @property
    def saved(self) -> float:
        """Errors with `robust` where cells are wrong over those of least squares where none is."""
        return self.robust / max(self.clean, 1)

    @property
    def cost_kept(self) -> bool:
        """Whether it costs no more than it may, but for chance: both met the same runs."""
        return (
            self.cost <= COST
            or self.clean_robust - self.clean <= 3.0 * (self.clean_robust + self.clean) ** 0.5
        )

    @property
    def saved_kept(self) -> bool:
        """Whether errors are as few as they should be, but for chance; not promised after adaptive runs."""
        if as_policy(self.cell.policy).policy.adaptive:
            return True
        low = binomial(np.array([self.robust]), self.runs, 1.0 - 2.0 * _CHANCE).low[0]
        high = binomial(np.array([self.clean]), self.runs, 1.0 - 2.0 * _CHANCE).high[0]
        return bool(low <= SAVED * high)


def cells() -> list[OutlyingCellSetting]:
    """Return all that is played."""
    return [OutlyingCellSetting(*each) for each in product(WORLDS, ARMS, POLICIES)]


def played(
    what: Sequence[OutlyingCellSetting], runs: int, seed: int = 0, workers: int | None = None
) -> Iterator[list[OutlyingCellRow]]:
    """Play so many runs of each cell; the same numbers for any number of workers."""
    for cell, parts in in_chunks(partial(_play, seed), what, runs, workers, _CHUNK):
        yield [OutlyingCellRow(cell, *np.sum(parts, axis=0).tolist())]


def _play(seed: int, task: tuple[OutlyingCellSetting, int, int]) -> Ints:
    """Return the numbers of a row."""
    cell, first, last = task
    world = WORLDS[cell.world](cell.arms, "general")
    spoilt = replace(world, outliers=Outliers(SHARE, OFF))
    total = np.zeros(6, np.int64)
    for run in range(first, last):
        errors = []
        for place in (world, spoilt):
            log = _log(place, cell.policy, seed, run)
            believed = keep(log).cells
            left = log if believed.all() else log.select(np.flatnonzero(believed))
            errors += [_selected(used) not in world.best for used in (log, left)]
            if place is world:
                out = int(np.count_nonzero(~believed))
        total += 1, *errors, out
    return total


def _log(world: World, policy: str, seed: int, run: int) -> Cells:
    spec, K = as_policy(policy), world.arms
    trace = empty_trace(_PULLS * K, K)
    run_loop(compiled_loop(spec, trace=True), spec, world, [_PULLS * K], seed, run, 1, trace)
    return cells_from_arrays(trace.arm.tolist(), trace.environment.tolist(), trace.reward)


def _selected(cells: Cells) -> int:
    """Return the arm that leads, of those that can be compared with most others."""
    s = solve(cells)
    most = np.bincount(s.component).argmax()
    return int(cells.arms[np.where(s.component == most, s.mu, -np.inf).argmax()])


def table(found: Sequence[OutlyingCellRow]) -> Table:
    """Return the rows as a table."""
    return columns(
        [
            row.cell._asdict()
            | {name: getattr(row, name) for name in OutlyingCellRow._fields[1:]}
            | {"cost": round(row.cost, 3), "saved": round(row.saved, 3)}
            | {"cost_kept": row.cost_kept, "saved_kept": row.saved_kept}
            for row in found
        ]
    )


def said(found: Sequence[OutlyingCellRow]) -> list[str]:
    """Return a line for each cell."""
    return [
        f"{row.cell.name}: a wrong arm in {100 * row.clean / row.runs:.2f} % of {row.runs:,} runs, with "
        f"robust {row.cost:.3f} times that ({row.left_out:,} cells left out); 5 % of cells off by 20 sigma: "
        f"{100 * row.plain / row.runs:.2f} %, with robust {100 * row.robust / row.runs:.2f} %, "
        f"{row.saved:.2f} times as without"
        for row in found
    ]


def _play_part(what: Sequence[OutlyingCellSetting], asked: PartOptions) -> Iterator[list[OutlyingCellRow]]:
    return played(what, asked.runs, asked.seed or 0, asked.workers)


PART = LedgerPart(
    "robust='cells' costs at most 1.05 times the errors, and 5 % wrong cells then at most 1.5 times",
    2_000,
    ("seed", "workers"),
    lambda _: cells(),
    _play_part,
    table,
    said,
)
