"""Simulate and analyze logs of many kinds in parallel, and count right and wrong conclusions.

The counts do not depend on the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from contextlib import nullcontext
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from tideproof.checks import require_whole_number
from tideproof.lab.executors import cores, processes
from tideproof.progress import progress_bar
from tideproof.research.trust.log_settings import Setting
from tideproof.research.trust.outcome_counts import OutcomeCount, play
from tideproof.research.trust.reference_tests import PairedTests, run_paired_tests

_CHUNK = 50  # logs that a process simulates between two reports of progress


class CalibrationCounts(NamedTuple):
    """Counts of right and wrong conclusions that tideproof drew from simulated logs.

    Attributes
    ----------
    logs : number of logs of each setting.
    tallies : counts of each setting.
    power_tests : for each setting with two arms, the tests of its logs and of logs with equal arms instead.
    """

    logs: int
    tallies: dict[Setting, OutcomeCount]
    power_tests: dict[Setting, tuple[PairedTests, PairedTests]]


def calibrate(
    settings: Sequence[Setting],
    power_settings: Sequence[Setting],
    logs: int,
    workers: int | None = None,
    progress: bool = False,
) -> CalibrationCounts:
    """Simulate and analyze logs of each kind, and count right and wrong conclusions.

    `workers` defaults to one process for each core.

    `power_settings` are the settings with two arms whose power is compared with a reference test.
    """
    require_whole_number("logs", logs, 1)
    count = cores() if workers is None else require_whole_number("workers", workers, 1)
    equal_settings = {setting: setting._replace(truth="equal", lift=0.0) for setting in power_settings}
    tasks: list[tuple[Callable[..., Any], Setting]] = [(play, setting) for setting in settings]
    tasks += [(run_paired_tests, setting) for pair in equal_settings.items() for setting in pair]
    parts = _run_in_chunks(tasks, logs, count, progress)
    tallies = {setting: reduce(OutcomeCount.__add__, parts[play, setting]) for setting in settings}
    power_tests = {
        setting: (
            _concatenate(parts[run_paired_tests, setting]),
            _concatenate(parts[run_paired_tests, equal]),
        )
        for setting, equal in equal_settings.items()
    }
    return CalibrationCounts(logs, tallies, power_tests)


def _run_in_chunks(
    tasks: Sequence[tuple[Callable[..., Any], Setting]], logs: int, workers: int, progress: bool
) -> dict[tuple[Callable[..., Any], Setting], list[Any]]:
    """Run functions on chunks of simulated logs in parallel; return the results of each function in order."""
    chunks = [(first, min(first + _CHUNK, logs)) for first in range(0, logs, _CHUNK)]
    watch = progress_bar("simulating", len(tasks) * logs, "logs") if progress else nullcontext(lambda _: None)
    with watch as show, processes(workers) as pool:
        parts = {(do, it): [pool.submit(do, it, *chunk) for chunk in chunks] for do, it in tasks}
        futures = [future for part in parts.values() for future in part]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()  # raises the error of a failed chunk at once
            show(done * _CHUNK)
        return {task: [future.result() for future in part] for task, part in parts.items()}


def _concatenate(parts: Sequence[PairedTests]) -> PairedTests:
    return PairedTests(*(np.concatenate(column) for column in zip(*parts, strict=True)))
