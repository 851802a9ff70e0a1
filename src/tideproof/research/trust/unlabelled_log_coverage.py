"""Coverage of confidence intervals, and numbers of wrong winners, for logs without environment labels.

Each simulated combination ("cell" in this module) has a distribution of rewards, their level, a kind of tide,
and a number of rows. Each row belongs to one of two arms, drawn at random. The second arm is better: by half,
or by 0.2 standard deviations of normal noise.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np

from tideproof.analysis.fit import fit
from tideproof.core.kernel_state_arrays import Floats, Ints
from tideproof.lab.share_intervals import binomial
from tideproof.research.trust.ledger_part import LedgerPart, columns, percent, play_with_seed
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.table import Table
from tideproof.text import format_count

KINDS = (  # distribution, and the rate of nonzero rewards or the standard deviation of noise or its logarithm
    ("normal", 1.0),
    ("t5", 1.0),
    ("skewed", 0.3),
    ("lognormal", 1.0),
    ("conversions", 0.03),
    ("conversions", 0.1),
    ("conversions", 0.5),
    ("counts", 0.3),
    ("money", 0.02),
    ("money", 0.06),
    ("money", 0.2),
)
TIDES = ("none", "drifts", "jumps")
ROWS = (1_000, 4_000)
LEAST_COVERAGE = 0.93

_LIFT, _LEAD = 0.5, 0.2
_TAIL = 1.2  # standard deviation of the logarithm of a purchase
_JUMPS = 14  # jumps of the tide in a log
_FALSE_ALARM = 0.001  # probability of calling a coverage of exactly 93 % too small
_CHUNK = 25  # logs of one task

Random = np.random.Generator


class UnlabelledCell(NamedTuple):
    """One kind of simulated log: its distribution of rewards, shifts over time, and number of rows.

    `level` is the rate of nonzero rewards, or the standard deviation of noise or of its logarithm.
    """

    rewards: str
    level: float
    tide: str
    rows: int

    @property
    def name(self) -> str:
        """Description of this kind of simulated log in words; it seeds the random numbers.

        A change of the description therefore changes all logs.
        """
        return f"{self.rewards} {self.level:g}, tide {self.tide}, {self.rows} rows"

    @property
    def adds(self) -> bool:
        """Whether shifts are added to rewards; otherwise they multiply rewards."""
        return self.rewards in _NOISES


class UnlabelledRow(NamedTuple):
    """Counts for one kind of simulated log: intervals that cover the truth, right and wrong winners.

    It also counts logs, and those that were compared in time bins.
    """

    cell: UnlabelledCell
    logs: int
    binned: int
    held: int
    right: int
    wrong: int

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return an exact confidence interval for the coverage that the simulations estimate."""
        found = binomial(np.array([self.held]), self.logs, confidence)
        return float(found.low[0]), float(found.high[0])

    @property
    def kept(self) -> bool:
        """Whether the observed coverage is compatible with a true coverage of at least 93 %."""
        return self.interval(1.0 - 2.0 * _FALSE_ALARM)[1] >= LEAST_COVERAGE


def cells() -> list[UnlabelledCell]:
    """Return all kinds of simulated logs: combinations of reward distribution, shifts, and number of rows."""
    return [UnlabelledCell(*kind, tide, rows) for kind, tide, rows in product(KINDS, TIDES, ROWS)]


def run_cells(
    what: Sequence[UnlabelledCell], runs: int, seed: int = 0, workers: int | None = None
) -> Iterator[list[UnlabelledRow]]:
    """Simulate logs without environment labels, and yield counts of right and wrong conclusions.

    The counts of each kind of log are yielded together.
    """
    for cell, parts in in_chunks(partial(_play, seed), what, runs, workers, _CHUNK):
        yield [UnlabelledRow(cell, *np.sum(parts, axis=0).tolist())]


def _play(seed: int, task: tuple[UnlabelledCell, int, int]) -> Ints:
    cell, first, last = task
    total = np.zeros(5, np.int64)
    for run in range(first, last):
        arm, reward, mean = draw(cell, seed, run)
        log = {"arm": arm, "time": np.arange(cell.rows), "reward": reward}
        found = fit(log, arm="arm", reward="reward", time="time")
        gap, decision = found.contrast(1, 0), found.decision
        truth = true_contrast(cell, found.scale, mean)
        held = gap.low is not None and gap.high is not None and gap.low <= truth <= gap.high
        named = decision.names_winner
        total += 1, found.bins is not None, held, named and decision.best == 1, named and decision.best == 0
    return total


def draw(cell: UnlabelledCell, seed: int, run: int) -> tuple[Ints, Floats, Floats]:
    """Simulate a log without environment labels, and return the arm and the reward of each row.

    Also return the first arm's mean at the time of each row.
    """
    random = np.random.default_rng((seed, run, zlib.crc32(cell.name.encode())))
    N = cell.rows
    arm, part = random.integers(2, size=N), np.arange(N) / N
    tide = np.zeros(N)
    if cell.tide == "drifts":
        tide = np.cumsum(random.normal(0.0, 1.5 / np.sqrt(N), N))
    elif cell.tide == "jumps":
        tide = random.normal(0.0, 1.0, _JUMPS)[(part * _JUMPS).astype(np.int64)]
    if cell.adds:
        noise = _NOISES[cell.rewards](random, cell.level, N)
        return arm, noise + 3.0 * tide + _LEAD * arm, 3.0 * tide
    factor = np.exp(0.3 * np.clip(tide, -2.0, 2.0))
    if cell.rewards == "conversions":  # a rate must stay below 1
        factor = np.minimum(factor, 0.95 / (cell.level * (1.0 + _LIFT)))
    reward, one = _REWARDS[cell.rewards](random, cell.level, factor * (1.0 + _LIFT * arm))
    return arm, reward, one * factor


def true_contrast(cell: UnlabelledCell, scale: str, mean: Floats) -> float:
    """Return the true effect of the second arm relative to the first, on the scale used to compare arms.

    It is in the units of `Contrast.estimate`.
    """
    if cell.adds:
        return _LEAD
    if scale == "difference":
        return _LIFT * float(mean.mean())
    if scale == "odds":
        more = mean * (1.0 + _LIFT)
        return float(np.expm1(np.mean(np.log(more / (1.0 - more)) - np.log(mean / (1.0 - mean)))))
    return _LIFT


def _conversions(random: Random, rate: float, factor: Floats) -> tuple[Floats, float]:
    return (random.random(factor.size) < rate * factor).astype(np.float64), rate


def _counts(random: Random, rate: float, factor: Floats) -> tuple[Floats, float]:
    return random.poisson(rate * factor).astype(np.float64), rate


def _money(random: Random, rate: float, factor: Floats) -> tuple[Floats, float]:
    spent = np.exp(random.normal(0.0, _TAIL, factor.size))
    return np.where(random.random(factor.size) < rate * factor, spent, 0.0), rate * float(
        np.exp(0.5 * _TAIL**2)
    )


def _lognormal(random: Random, sd: float, factor: Floats) -> tuple[Floats, float]:
    return factor * np.exp(random.normal(0.0, sd, factor.size)), float(np.exp(0.5 * sd**2))


_NOISES: dict[str, Callable[[Random, float, int], Floats]] = {
    "normal": lambda random, sd, N: random.normal(0.0, sd, N),
    "t5": lambda random, sd, N: sd * random.standard_t(5, N),
    "skewed": lambda random, sd, N: np.exp(random.normal(0.0, sd, N)) / sd,
}
_REWARDS: dict[str, Callable[[Random, float, Floats], tuple[Floats, float]]] = {
    "conversions": _conversions,
    "counts": _counts,
    "money": _money,
    "lognormal": _lognormal,
}


def table(found: Sequence[UnlabelledRow]) -> Table:
    """Return a table with the counts and the shares of confidence intervals that cover the truth."""
    return columns(
        [
            row.cell._asdict()
            | {
                "logs": row.logs,
                "binned": round(100.0 * row.binned / row.logs, 1),
                "cover": round(100.0 * row.held / row.logs, 2),
                "low": round(100.0 * row.interval()[0], 2),
                "high": round(100.0 * row.interval()[1], 2),
                "right": round(100.0 * row.right / row.logs, 1),
                "wrong": round(100.0 * row.wrong / row.logs, 2),
                "kept": row.kept,
            }
            for row in found
        ]
    )


def summary_lines(found: Sequence[UnlabelledRow]) -> list[str]:
    """Return lines of text with the smallest coverage of the intervals for each distribution of rewards."""
    lines = []
    for kind in dict.fromkeys(row.cell.rewards for row in found):
        mine = [row for row in found if row.cell.rewards == kind]
        least = min(mine, key=lambda row: row.held / row.logs)
        logs, binned, wrong = (
            sum(getattr(row, name) for row in mine) for name in ("logs", "binned", "wrong")
        )
        lines.append(
            f"{kind}: {format_count(len(mine), 'setting')}, {100 * binned / logs:.1f} % of logs in bins, "
            f"smallest coverage {percent(least.held / least.logs, least.interval())} ({least.cell.name}); "
            f"a wrong arm was named in {wrong:,} of {format_count(logs, 'log')}"
        )
    return lines


PART = LedgerPart(
    "95 % confidence intervals cover the truth in at least 93 % of logs without environment labels",
    500,
    ("seed", "workers"),
    lambda _: cells(),
    play_with_seed(run_cells),
    table,
    summary_lines,
)
