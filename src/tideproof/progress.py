"""Progress on the screen: one bar for all that takes long, on stderr, gone at its end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Protocol

SECONDS_BEFORE_BAR = 2.0  # seconds of what may be over soon, before a bar is shown


class ProgressCallback(Protocol):
    """What a bar gives to those who work."""

    def __call__(self, done: float, doing: str | None = None, /) -> None:
        """Say how much is done in all and, if that changes, what is being done."""


def is_stderr_interactive() -> bool:
    """Tell whether somebody may look at stderr: it is a terminal or a notebook."""
    from rich.console import Console

    console = Console(stderr=True)
    return console.is_terminal or console.is_jupyter


@contextmanager
def progress_bar(
    doing: str, total: float, unit: str = "", first: str | None = None, after: float = 0.0
) -> Iterator[ProgressCallback]:
    """Show a bar and the time left, if somebody looks.

    Parameters
    ----------
    doing
        What is being done, as the bar says it.
    total
        How much there is to do.
    unit
        Of what: the bar then says how many of how many, else the percentage.
    first
        What the bar says until something is done.
    after
        Seconds without a bar.
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
        speed_estimate_period=300,  # parts of one run may be of very different speed
    )
    task = bar.add_task(doing if first is None else first, total=total)

    def show(done: float, now: str | None = None, /) -> None:
        bar.update(task, completed=min(done, total), description=doing if now is None else now)

    timer = Timer(after, bar.start)
    timer.daemon = True
    try:
        if after:
            timer.start()
        else:
            bar.start()
        yield show
    finally:
        if after:
            timer.cancel()
            timer.join()
        if bar.live.is_started:
            bar.stop()
