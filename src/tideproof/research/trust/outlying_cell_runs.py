"""Simulation study of the option `robust="cells"`, which excludes outlying arm-by-environment cells.

Worlds of the paper are simulated as they are, and with 5 % of the cells shifted by 20 sigma. The arm that
leads in the log is selected by least squares, with all cells and without the cells found to be outlying.
Nothing is promised after a policy that chose arms by their rewards: the outlying cells misled it during the
run, and arms that it did not pull leave no data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Ints
from tideproof.data import cells_from_arrays
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.lab.share_intervals import binomial
from tideproof.policies.policy_registry import as_policy
from tideproof.research.trust.ledger_part import LedgerPart, columns, play_with_seed
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.stats.cells import Cells
from tideproof.stats.diagnostics.outlying_cell_search import find_outlying_cells
from tideproof.table import Table
from tideproof.worlds import Outliers, World, mdm, slippage

POLICIES = ("round-robin+ols", "contrast")
WORLDS = {"MDM": mdm, "slippage": slippage}
ARMS = (5, 10)
SHARE, OFFSET = 0.05, 20.0  # share of outlying cells, and their offset in sigmas
COST, SAVED = 1.05, 1.5  # largest allowed errors relative to least squares without outlying cells

_PULLS = 40  # pulls of an arm
_FALSE_ALARM = 0.001  # probability of calling a kept promise broken
_CHUNK = 100  # runs of one task


class OutlyingCellSetting(NamedTuple):
    """One simulated combination of world, number of arms and policy."""

    world: str
    arms: int
    policy: str

    @property
    def name(self) -> str:
        """Description of the simulated world, number of arms and policy in words."""
        return f"{self.world}, {self.arms} arms, {self.policy}"


class OutlyingCellRow(NamedTuple):
    """Counts of runs that select a wrong arm, for one combination of world, number of arms and policy.

    Attributes
    ----------
    clean, clean_robust : wrong selections without outlying cells, by least squares and with `robust`.
    plain, robust : wrong selections with 5 % outlying cells.
    left_out : cells that `robust` left out although none was outlying, over all runs.
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
        """Wrong selections with the option `robust` divided by those without it, in runs without outliers."""
        return self.clean_robust / max(self.clean, 1)

    @property
    def saved(self) -> float:
        """Wrong selections with outliers and the option `robust`, divided by those with neither of the two.

        The denominator counts least squares without `robust`.
        """
        return self.robust / max(self.clean, 1)

    @property
    def cost_kept(self) -> bool:
        """Whether the option `robust` adds no more wrong selections than promised if there are no outliers.

        It may lead to at most `COST` times as many errors. The result allows for chance.

        Both methods analyze the same runs.
        """
        return (
            self.cost <= COST
            or self.clean_robust - self.clean <= 3.0 * (self.clean_robust + self.clean) ** 0.5
        )

    @property
    def saved_kept(self) -> bool:
        """Whether wrong selections despite outliers are as rare as promised with the option `robust`.

        The result is True for adaptive policies, for which nothing is promised. The promise is at most
        `SAVED` times the errors without outlying cells.
        """
        if as_policy(self.cell.policy).policy.adaptive:
            return True
        low = binomial(np.array([self.robust]), self.runs, 1.0 - 2.0 * _FALSE_ALARM).low[0]
        high = binomial(np.array([self.clean]), self.runs, 1.0 - 2.0 * _FALSE_ALARM).high[0]
        return bool(low <= SAVED * high)


def cells() -> list[OutlyingCellSetting]:
    """Return all simulated combinations of world, number of arms and policy."""
    return [OutlyingCellSetting(*each) for each in product(WORLDS, ARMS, POLICIES)]


def run_cells(
    what: Sequence[OutlyingCellSetting], runs: int, seed: int = 0, workers: int | None = None
) -> Iterator[list[OutlyingCellRow]]:
    """Simulate each combination of world, arms and policy, and count the runs that select a wrong arm."""
    for cell, parts in in_chunks(partial(_play, seed), what, runs, workers, _CHUNK):
        yield [OutlyingCellRow(cell, *np.sum(parts, axis=0).tolist())]


def _play(seed: int, task: tuple[OutlyingCellSetting, int, int]) -> Ints:
    """Simulate some runs, and count those that select a wrong arm.

    The counts are in the order of the fields of `OutlyingCellRow`.
    """
    cell, first, last = task
    world = WORLDS[cell.world](cell.arms, "general")
    outlying_world = replace(world, outliers=Outliers(SHARE, OFFSET))
    total = np.zeros(6, np.int64)
    for run in range(first, last):
        errors = []
        for simulated_world in (world, outlying_world):
            log = _draw_log(simulated_world, cell.policy, seed, run)
            kept = find_outlying_cells(log).cells
            left = log if kept.all() else log.select(np.flatnonzero(kept))
            errors += [_selected_arm(used) not in world.best for used in (log, left)]
            if simulated_world is world:
                out = int(np.count_nonzero(~kept))
        total += 1, *errors, out
    return total


def _draw_log(world: World, policy: str, seed: int, run: int) -> Cells:
    spec, K = as_policy(policy), world.arms
    trace = empty_trace(_PULLS * K, K)
    run_loop(compiled_loop(spec, trace=True), spec, world, [_PULLS * K], seed, run, 1, trace)
    return cells_from_arrays(trace.arm.tolist(), trace.environment.tolist(), trace.reward)


def _selected_arm(cells: Cells) -> int:
    """Return the arm with the highest adjusted mean in the largest group of connected arms."""
    s = cells.solution
    most = np.bincount(s.component).argmax()
    return int(cells.arms[np.where(s.component == most, s.mu, -np.inf).argmax()])


def table(found: Sequence[OutlyingCellRow]) -> Table:
    """Return a table with the numbers of wrong selections, for each combination of world, arms and policy."""
    return columns(
        [
            row.cell._asdict()
            | {name: getattr(row, name) for name in OutlyingCellRow._fields[1:]}
            | {"cost": round(row.cost, 3), "saved": round(row.saved, 3)}
            | {"cost_kept": row.cost_kept, "saved_kept": row.saved_kept}
            for row in found
        ]
    )


def summary_lines(found: Sequence[OutlyingCellRow]) -> list[str]:
    """Return lines of text with the shares of wrong selections if outliers are excluded, and if not.

    There is one line for each combination of world, number of arms and policy.
    """
    return [
        f"{row.cell.name}: without outlying cells, a wrong arm is selected in "
        f"{100 * row.clean / row.runs:.2f} % of {row.runs:,} runs, with robust='cells' {row.cost:.3f} times "
        f"as often ({row.left_out:,} cells left out). With 5 % of cells off by 20 sigma: "
        f"{100 * row.plain / row.runs:.2f} %, with robust='cells' {100 * row.robust / row.runs:.2f} %, "
        f"which is {row.saved:.2f} times the share without outlying cells."
        for row in found
    ]


PART = LedgerPart(
    "with robust='cells', selections are wrong at most 1.05 times as often as without it, "
    "and with 5 % outlying cells at most 1.5 times as often as without outlying cells",
    2_000,
    ("seed", "workers"),
    lambda _: cells(),
    play_with_seed(run_cells),
    table,
    summary_lines,
)
