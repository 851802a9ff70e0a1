"""Hints about weaknesses of a race's measurements, such as short commands, slow first runs or outliers."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from tideproof.text import format_count

if TYPE_CHECKING:
    from tideproof.races.race_result import RaceResult

_SHORT = 0.005  # seconds
_SLOW_START = 1.3  # first runs beside the median of later runs
_OUTLIER = 1.5  # beside the median
_MANY_OUTLIERS = 0.1
_WAITING = 0.25  # share of wall time in which a command did not compute
_LAYOUT = 0.05  # differences that another layout of the same program can make


def find_hints(result: RaceResult) -> list[str]:
    """Return hints about the commands of a race, and about what its result does not show."""
    if not result.rounds:
        return []
    found = []
    for name in result.names:
        found += _command_hints(result, name)
    differences = [abs(each.estimate) for each in result.comparisons if each.clock == result.clock]
    if result.standing in ("fastest", "slower") and min(differences) < _LAYOUT:
        found.append(
            "a difference below 5 % may come from the layout of the program in memory, which changes with "
            "every build: confirm it with several builds"
        )
    return found


def _command_hints(result: RaceResult, name: str) -> list[str]:
    """Return hints about the measurement of one command in a race."""
    runs = result.times(name)
    wall, cpu = runs["wall"], runs["cpu"]
    median = statistics.median(wall)
    first = [row["wall"] for row in result.warmup if row["command"] == name][:1] or wall[:1]
    found = []
    if median < _SHORT and result.memory_floor:
        found.append(f"{name} takes {1e3 * median:.2g} ms, of which starting a process takes about 0.5 ms")
    if first[0] > _SLOW_START * median and first[0] > _SHORT:
        counted = "warm-up runs do not count" if result.options.warmup else "--warmup leaves it out"
        found.append(
            f"the first run of {name} took {first[0] / median:.1f} times as long as later ones; {counted}"
        )
    slow = sum(each > _OUTLIER * median for each in wall)
    if slow > _MANY_OUTLIERS * len(wall):
        found.append(
            f"{format_count(slow, 'run')} of {len(wall)} of {name} took more than {_OUTLIER:g} times the "
            f"median: the machine was busy or changed its speed"
        )
    idle = 1.0 - statistics.median(cpu) / median
    if idle > _WAITING and result.clock == "wall":
        found.append(
            f"{name} was waiting {100.0 * idle:.0f} % of the wall time; --time cpu decides sooner if this is "
            f"caused by other programs"
        )
    return found
