"""Coverage of confidence intervals with `variance="interaction"` if arm effects vary by environment.

Each simulated combination ("cell" in this module) has a traffic split, a number of environments, a number of
arms, and omega, the standard deviation of the interaction in units of the noise. Shifts are up to 20. The
first arm is better by 0.3 on average.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.fit_result import Fit
from tideproof.core.kernel_state_arrays import Ints
from tideproof.data import cells_from_arrays
from tideproof.lab.engines.cpu_engine import compiled_loop, empty_trace, run_loop
from tideproof.lab.share_intervals import binomial
from tideproof.policies.policy_registry import as_policy
from tideproof.research.trust.ledger_part import LedgerPart, columns, percent, play_with_seed
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.stats.cells import Cells
from tideproof.table import Table
from tideproof.text import format_count
from tideproof.worlds import World

SPLITS = ("even", "uneven", "contrast")  # 5 rewards a cell; 1 to 60, a quarter empty; chosen by a policy
ENVIRONMENTS, ARMS = (6, 12, 50), (2, 5)
OMEGAS = (0.0, 0.25, 0.5, 1.0, 2.0)
PAIRS = ("named", "picked")  # the first two arms; in adaptive runs also the leading arm and its runner-up
LEAST_COVERAGE = 0.94

_SPLIT_TEXTS = {"even": "even traffic", "uneven": "uneven traffic", "contrast": "traffic chosen by contrast"}
_PAIR_TEXTS = {"named": "two arms named in advance", "picked": "leading arm and runner-up"}

_LEAD = 0.3
_PULLS_PER_CELL = 8  # average pulls of an arm in an environment of an adaptive run
_FALSE_ALARM = 0.001  # probability of calling a coverage of exactly 94 % too small
_CHUNK = 100  # runs of one task


class InteractionCell(NamedTuple):
    """One kind of simulated log: its traffic split, environments, arms, and interaction size."""

    split: str
    environments: int
    arms: int
    omega: float

    @property
    def name(self) -> str:
        """Description of this kind of simulated log in words; it seeds the random numbers.

        A change of the description therefore changes all logs.
        """
        return f"{self.split}, {self.environments} environments, {self.arms} arms, omega {self.omega:g}"


class InteractionRow(NamedTuple):
    """Counts of confidence intervals that cover the truth, for one pair of arms and one kind of log.

    Attributes
    ----------
    cell, pair : the simulated cell, and which two arms are compared.
    runs : number of runs. Runs whose arms cannot be compared are left out.
    held : runs in which the interval covers the truth.
    none : runs in which omega was estimated as 0.
    """

    cell: InteractionCell
    pair: str
    runs: int
    held: int
    none: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an exact confidence interval for the coverage that the simulations estimate."""
        found = binomial(np.array([self.held]), self.runs, confidence)
        return float(found.low[0]), float(found.high[0])

    @property
    def kept(self) -> bool:
        """Whether the observed coverage is compatible with a true coverage of at least 94 %."""
        return self.interval(1.0 - 2.0 * _FALSE_ALARM)[1] >= LEAST_COVERAGE


def cells() -> list[InteractionCell]:
    """Return all kinds of simulated logs: combinations of traffic split, environments, arms, interaction."""
    return [InteractionCell(*each) for each in product(SPLITS, ENVIRONMENTS, ARMS, OMEGAS)]


def run_cells(
    what: Sequence[InteractionCell],
    runs: int,
    seed: int = 0,
    workers: int | None = None,
    variance: Any = "interaction",
) -> Iterator[list[InteractionRow]]:
    """Simulate logs with arm-by-environment interactions; count confidence intervals that cover the truth.

    The counts of each kind of log are yielded together.
    """
    for cell, parts in in_chunks(partial(_play, seed, variance), what, runs, workers, _CHUNK):
        total = np.sum(parts, axis=0)
        pairs = PAIRS if cell.split == "contrast" else PAIRS[:1]
        yield [InteractionRow(cell, pair, *total[i].tolist()) for i, pair in enumerate(pairs)]


def _play(seed: int, variance: Any, task: tuple[InteractionCell, int, int]) -> Ints:
    """Simulate logs of one kind, and count the confidence intervals that cover the truth.

    Also count the interactions that are estimated to be 0. The result has one row for each pair of arms:
    runs, intervals that cover the truth, and runs in which the interaction was estimated as zero.
    """
    cell, first, last = task
    total = np.zeros((2, 3), np.int64)
    for run in range(first, last):
        log = draw(cell, seed, run)
        adaptive = cell.split == "contrast"
        fit = Fit(log, variance=variance, adaptive=adaptive)
        if len(fit.groups) > 1 or cell.arms > log.K:
            continue
        truth = np.array([_LEAD] + [0.0] * (cell.arms - 1))
        picks = [(0, 1, False)] + ([(*fit.ranking[0][:2], True)] if adaptive else [])
        mixed = fit._estimate.mixed  # noqa: SLF001  `fit.interaction` would compute much more
        none = mixed is not None and mixed.none
        for i, (a, b, picked) in enumerate(picks):
            found = fit.contrast(a, b, picked=picked)
            gap = truth[int(a)] - truth[int(b)]
            held = found.low is not None and found.high is not None and found.low <= gap <= found.high
            total[i] += 1, held, none
    return total


def draw(cell: InteractionCell, seed: int, run: int) -> Cells:
    """Simulate one log, and return its rewards summarised by arm and environment.

    Arms are called 0, 1, and so on.
    """
    if cell.split == "contrast":
        return _draw_adaptive_log(cell, seed, run)
    random = np.random.default_rng((seed, run, zlib.crc32(cell.name.encode())))
    J, K = cell.environments, cell.arms
    n = np.full((J, K), 5.0)
    if cell.split == "uneven":
        n = np.floor(np.exp(random.uniform(0.0, np.log(61.0), (J, K))))
        n[random.random((J, K)) < 0.25] = 0.0
        n[np.count_nonzero(n, axis=1) < 2, :2] = 3.0  # every environment compares two arms
        n[0, n.sum(axis=0) == 0.0] = 2.0  # every arm has rewards
    at = random.uniform(0.0, 20.0, (J, 1)) + cell.omega * random.standard_normal((J, K))
    at[:, 0] += _LEAD
    environment, arm = np.nonzero(n)
    seen = n[environment, arm]
    mean = at[environment, arm] + random.standard_normal(seen.size) / np.sqrt(seen)
    squares = np.where(seen > 1.0, random.chisquare(np.maximum(seen - 1.0, 1.0)), 0.0)
    return Cells(list(range(K)), list(range(J)), arm, environment, seen, mean, squares)


def _draw_adaptive_log(cell: InteractionCell, seed: int, run: int) -> Cells:
    """Simulate a log in which the policy `contrast` with default options chose the arms."""
    spec, K = as_policy("contrast"), cell.arms
    means = [_LEAD] + [0.0] * (K - 1)
    world = World(means, lengths=(_PULLS_PER_CELL * K, _PULLS_PER_CELL * K), interaction=cell.omega)
    budget = cell.environments * _PULLS_PER_CELL * K
    trace = empty_trace(budget, K)
    run_loop(compiled_loop(spec, trace=True), spec, world, [budget], seed, run, 1, trace)
    return cells_from_arrays(trace.arm.tolist(), trace.environment.tolist(), trace.reward)


def table(found: Sequence[InteractionRow]) -> Table:
    """Return a table with the counts and the shares of confidence intervals that cover the truth."""
    return columns(
        [
            row.cell._asdict()
            | {
                "pair": row.pair,
                "runs": row.runs,
                "cover": round(100.0 * row.held / row.runs, 2),
                "low": round(100.0 * row.interval()[0], 2),
                "high": round(100.0 * row.interval()[1], 2),
                "no_omega": round(100.0 * row.none / row.runs, 1),
                "kept": row.kept,
            }
            for row in found
        ]
    )


def summary_lines(found: Sequence[InteractionRow]) -> list[str]:
    """Return lines of text with the smallest coverage of confidence intervals by traffic split and arms."""
    lines = []
    for split, pair in product(SPLITS, PAIRS):
        mine = [row for row in found if row.cell.split == split and row.pair == pair]
        if mine:
            least, most = (pick(mine, key=lambda row: row.held / row.runs) for pick in (min, max))
            failed = sum(not row.kept for row in mine)
            lines.append(
                f"{_SPLIT_TEXTS[split]}, {_PAIR_TEXTS[pair]}: of {format_count(len(mine), 'row')}, {failed} "
                "have a coverage significantly below 94 %. Coverage ranges from "
                f"{percent(least.held / least.runs, least.interval())}, in {least.cell.name}, to "
                f"{100 * most.held / most.runs:.2f} %."
            )
    return lines


PART = LedgerPart(
    "95 % confidence intervals with variance='interaction' cover the truth in at least 94 % of logs",
    2_000,
    ("seed", "workers"),
    lambda _: cells(),
    play_with_seed(run_cells),
    table,
    summary_lines,
)
