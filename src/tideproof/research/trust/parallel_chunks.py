"""Run simulations in chunks, in parallel processes, and return the results in a fixed order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import TypeVar

from tideproof.checks import require_whole_number
from tideproof.lab.executors import cores, processes

Cell = TypeVar("Cell")
Found = TypeVar("Found")


def in_chunks(
    play: Callable[[tuple[Cell, int, int]], Found],
    cells: Sequence[Cell],
    runs: int,
    workers: int | None,
    size: int,
) -> Iterator[tuple[Cell, list[Found]]]:
    """Run a simulation for each of several settings, in parallel chunks; yield each setting with its results.

    A cell is a simulated combination, such as a kind of log. `play` gets a cell, the number of the first run
    and the number after the last run. `size` is the number of runs of a chunk. `workers` defaults to one for
    each core. The results do not depend on it.
    """
    require_whole_number("runs", runs, 1)
    count = cores() if workers is None else require_whole_number("workers", workers, 1)
    parts = [(first, min(first + size, runs)) for first in range(0, runs, size)]
    tasks = [(cell, *part) for cell in cells for part in parts]
    with processes(count) if count > 1 else nullcontext() as pool:
        found = (map if pool is None else pool.map)(play, tasks)
        for cell in cells:
            yield cell, [next(found) for _ in parts]
