"""Tables of a race in a terminal: while it runs, on stderr, and at its end."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING

from tideproof.progress import is_stderr_interactive
from tideproof.races.race import RaceObserver, TimingRace
from tideproof.races.race_export import format_seconds, summary_rows
from tideproof.report.table_layout import PLAIN, Column, make_tables

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.live import Live

    from tideproof.races.race_result import RaceResult

_SECONDS_BETWEEN = 0.5  # updates; they happen between rounds, so that they delay no run


class LiveTable(RaceObserver):
    """Observer that shows the state of a race in a terminal, at most twice a second and between rounds."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._next = 0.0

    def after_warmup(self, race: TimingRace) -> None:
        """Show in the terminal that the warm-up of a race is over."""
        self._live.update(f"warm-up done; up to {race.options.max_time:g} s", refresh=True)

    def after_round(self, race: TimingRace) -> None:
        """Show the state of the race in the terminal, unless it was shown a moment ago."""
        now = time.monotonic()
        if now >= self._next:
            self._live.update(live_rows(race), refresh=True)
            self._next = time.monotonic() + _SECONDS_BETWEEN


@contextmanager
def live_table(wanted: bool) -> Iterator[RaceObserver]:
    """Context manager that yields an observer, which shows the race on stderr if it is a terminal."""
    if not wanted or not is_stderr_interactive():
        yield RaceObserver()
        return
    from rich.console import Console
    from rich.live import Live

    with Live("warming up", console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield LiveTable(live)


def live_rows(race: TimingRace) -> Group:
    """Return the state of a race as a table: median times, and differences from the fastest so far."""
    from rich.console import Console, Group

    leader = race.leader()
    rows = []
    for index, name in enumerate(race.names):
        taken = [run.took for run in race.runs if run.command == index]
        difference = "" if index == leader else f"{100.0 * math.expm1(race.estimate(leader, index)):+.1f} %"
        state = "in the race" if index in race.left else "decided"
        rows.append(
            (
                name,
                format_seconds(median(each.wall for each in taken)),
                format_seconds(median(each.cpu for each in taken)),
                difference,
                state,
            )
        )
    columns = list(zip(*rows, strict=True))
    others = [
        Column("wall time", columns[1]),
        Column("CPU time", columns[2]),
        Column(f"against {race.names[leader]}", columns[3]),
        Column("", columns[4], left=True),
    ]
    caption = f"round {race.rounds}, {race.seconds:.0f} of {race.options.max_time:g} s"
    width = Console(stderr=True).width
    return Group(
        *make_tables(Column("command", columns[0], left=True), others, width, caption=caption, **PLAIN)
    )


def print_result(console: Console, result: RaceResult) -> None:
    """Print the result of a race: a sentence, a table, and hints about the measurement."""
    from rich.text import Text

    from tideproof.text import escape_control_characters

    style = {"slower": "bold red", "undecided": "bold yellow"}.get(result.standing, "bold green")
    console.print(Text(escape_control_characters(result.sentence), style=style))
    if not result.rounds:
        return
    console.print()
    header, *rows = summary_rows(result)
    columns = [
        Column(title, [escape_control_characters(cell) for cell in cells], left=number == 0)
        for number, (title, cells) in enumerate(zip(header, zip(*rows, strict=True), strict=True))
    ]
    level = f"{100.0 * result.options.confidence:g} %"
    caption = (
        f"{result.rounds} rounds, {result.seconds:.1f} s; intervals hold together with {level} confidence"
    )
    for table in make_tables(columns[0], columns[1:], console.width, caption=caption, **PLAIN):
        console.print(table)
    for hint in result.hints:
        console.print(Text(escape_control_characters(f"* {hint}")))
