"""Error rates of analyses that combine options, such as units, covariates, or traffic from a policy.

Each module of `MODULES` contributes settings. It has two functions:

* `settings()` returns named tuples that can be pickled; each has a `name`, such as "units, money, once".
* `play(setting, number)` simulates one log of a setting and returns whether the analysis was wrong, such as
  a false winner; or None if the log allows no analysis. The number is the seed of the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from tideproof.core.kernel_state_arrays import Ints
from tideproof.research.trust.ledger_part import LedgerPart, columns, percent, play_with_seed
from tideproof.research.trust.parallel_chunks import in_chunks
from tideproof.research.trust.promised_error_rates import ERROR, Promise

MODULES: tuple[str, ...] = (
    "unit_calibration",
    "share_calibration",
    "covariate_calibration",
    "adaptive_calibration",
    "environment_calibration",
    "tail_calibration",
)
_CHUNK = 50


class CombinedSetting(NamedTuple):
    """One kind of simulated log: the module that simulates it, and its description for that module."""

    module: str
    setting: Any

    @property
    def name(self) -> str:
        """Name of this kind of simulated log, by which the option `--only` selects it."""
        return str(self.setting.name)


def cells() -> list[CombinedSetting]:
    """Return all kinds of simulated logs that the modules of this package define."""
    return [CombinedSetting(module, setting) for module in MODULES for setting in _load(module).settings()]


def run_cells(
    what: Sequence[CombinedSetting], runs: int, seed: int = 0, workers: int | None = None
) -> Iterator[list[dict[str, Any]]]:
    """Simulate logs of each kind, and yield a row with the share of wrong analyses.

    The share has an exact 95 % interval, and is `kept` if it does not contradict the promised 5 %.
    """
    tasks = [(seed, cell) for cell in what]
    for (_, cell), parts in in_chunks(_play, tasks, runs, workers, _CHUNK):
        wrong, logs = np.sum(parts, axis=0).tolist()
        promise = Promise("wrong", wrong, logs, ERROR)
        low, high = promise.interval
        yield [
            {"setting": cell.name, "runs": runs, "logs": logs, "wrong": wrong, "share": promise.share}
            | {"low": low, "high": high, "kept": promise.kept}
        ]


def _play(task: tuple[tuple[int, CombinedSetting], int, int]) -> Ints:
    """Simulate and analyze logs of one kind; return the numbers of wrong analyses and of all analyses."""
    (seed, cell), first, last = task
    play, total = _load(cell.module).play, np.zeros(2, np.int64)
    for number in range(first, last):
        wrong = play(cell.setting, seed * 1_000_000 + number)
        total += (bool(wrong), wrong is not None)
    return total


def _load(module: str) -> Any:
    """Import a module that defines kinds of simulated logs."""
    return import_module(f"tideproof.research.trust.combinations.{module}")


def summary_lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return a line of text for each kind of simulated log, with the share of wrong analyses."""
    return [
        f"{row['setting']}: wrong in {percent(row['share'], (row['low'], row['high']), 1)} "
        f"of {row['logs']:,} logs"
        for row in rows
    ]


PART = LedgerPart(
    "with combinations of options, at most 5 % of logs with equal arms or correct shares have a false alarm",
    2_000,
    ("seed", "workers"),
    lambda _: cells(),
    play_with_seed(run_cells),
    columns,
    summary_lines,
)
