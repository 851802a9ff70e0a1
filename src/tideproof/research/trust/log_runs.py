"""All settings played, in processes side by side; the same numbers for any number of them."""

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
from tideproof.research.trust.reference_tests import Duel, duel

_CHUNK = 50  # logs that a process plays before it says so


class Played(NamedTuple):
    """What was counted.

    Attributes
    ----------
    logs : of each setting.
    tallies : of each setting.
    duels : of each setting with two arms: its own logs, and those of the same setting with equal arms.
    """

    logs: int
    tallies: dict[Setting, OutcomeCount]
    duels: dict[Setting, tuple[Duel, Duel]]


def calibrate(
    settings: Sequence[Setting],
    duels: Sequence[Setting],
    logs: int,
    workers: int | None = None,
    progress: bool = False,
) -> Played:
    """Play so many logs of each setting, and fight so many duels; one worker a core unless told."""
    require_whole_number("logs", logs, 1)
    count = cores() if workers is None else require_whole_number("workers", workers, 1)
    fought = {setting: setting._replace(truth="equal", lift=0.0) for setting in duels}
    tasks: list[tuple[Callable[..., Any], Setting]] = [(play, setting) for setting in settings]
    tasks += [(duel, setting) for pair in fought.items() for setting in pair]
    parts = _in_parts(tasks, logs, count, progress)
    tallies = {setting: reduce(OutcomeCount.__add__, parts[play, setting]) for setting in settings}
    whole_duels = {
        setting: (_joined(parts[duel, setting]), _joined(parts[duel, equal]))
        for setting, equal in fought.items()
    }
    return Played(logs, tallies, whole_duels)


def _in_parts(
    tasks: Sequence[tuple[Callable[..., Any], Setting]], logs: int, workers: int, progress: bool
) -> dict[tuple[Callable[..., Any], Setting], list[Any]]:
    """Do every task for all logs, chunk by chunk; return its parts in order."""
    chunks = [(first, min(first + _CHUNK, logs)) for first in range(0, logs, _CHUNK)]
    watch = progress_bar("playing", len(tasks) * logs, "logs") if progress else nullcontext(lambda _: None)
    with watch as show, processes(workers) as pool:
        parts = {(do, it): [pool.submit(do, it, *chunk) for chunk in chunks] for do, it in tasks}
        futures = [future for part in parts.values() for future in part]
        for done, future in enumerate(as_completed(futures), 1):
            future.result()  # an error ends it all
            show(done * _CHUNK)
        return {task: [future.result() for future in part] for task, part in parts.items()}


def _joined(parts: Sequence[Duel]) -> Duel:
    return Duel(*(np.concatenate(column) for column in zip(*parts, strict=True)))
