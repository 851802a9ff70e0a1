"""Progress bar on stderr for long computations, removed when it is complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

SECONDS_BEFORE_BAR = 2.0  # shorter computations show no bar


class ProgressCallback(Protocol):
    """Function that a computation calls to report its progress."""

    def __call__(self, done: float, doing: str | None = None, /) -> None:
        """Report the progress of a computation: how much is done in total.

        `doing` describes the current step; it is given if it has changed.
        """


def is_stderr_interactive() -> bool:
    """Return whether stderr is a terminal or a notebook, so that a person may see a progress bar."""
    from rich.console import Console

    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


@contextmanager
def progress_bar(
    doing: str, total: float, unit: str = "", first: str | None = None, after: float = 0.0
) -> Iterator[ProgressCallback]:
    """Context manager that shows a progress bar with the remaining time if stderr is interactive.

    Parameters
    ----------
    doing
        Description of the computation.
    total
        Amount of work.
    unit
        Unit of the amount. With it the bar shows counts ("3/20"), without it a percentage.
    first
        Description that is shown until the first report.
    after
        Seconds to wait before the bar is shown.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn() if unit else TaskProgressColumn(),
        TextColumn(f"{unit}, time left" if unit else "time left"),
        TimeRemainingColumn(),
    )
    bar = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        disable=not is_stderr_interactive(),
        speed_estimate_period=300,  # the speed of one run may vary much between its parts
    )
    task = bar.add_task(doing if first is None else first, total=total)

    def report(done: float, step: str | None = None, /) -> None:
        bar.update(task, completed=min(done, total), description=doing if step is None else step)

    timer = Timer(after, bar.start)
    timer.daemon = True
    try:
        if after:
            timer.start()
        else:
            bar.start()
        yield report
    finally:
        if after:
            timer.cancel()
            timer.join()
        if bar.live.is_started:
            bar.stop()
