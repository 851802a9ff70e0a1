"""Export of the results of races: JSON as of hyperfine, Markdown, and a picture."""

from __future__ import annotations

import os
import statistics
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tideproof._version import __version__
from tideproof.races.race_options import CLOCK_NAMES
from tideproof.races.race_text import difference_text, interval_text
from tideproof.table import to_json_values

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure
    from tideproof.races.race_result import RaceResult


_MISSING = "\N{EN DASH}"


def result_json(result: RaceResult) -> dict[str, Any]:
    """Return the result of a race as JSON in hyperfine's format, with an object "tideproof" added."""
    return {
        "results": [_command_json(result, name) for name in result.names],
        "tideproof": {
            "version": __version__,
            "sentence": result.sentence,
            "standing": result.standing,
            "fastest": result.fastest,
            "reference": result.reference,
            "clock": result.clock,
            "rounds": result.rounds,
            "seconds": result.seconds,
            "end": result.end,
            "options": asdict(result.options),
            "comparisons": [to_json_values(each._asdict()) for each in result.comparisons],
            "hints": result.hints,
        },
    }


def _command_json(result: RaceResult, name: str) -> dict[str, Any]:
    """Return one command's results as in hyperfine's JSON, with the round and position of each run."""
    runs = result.times(name)
    times = runs["wall"]
    summary: dict[str, Any] = {"command": name}
    if name in result.parameters:
        summary["parameters"] = result.parameters[name]
    if times:
        summary |= {
            "mean": statistics.fmean(times),
            "stddev": statistics.stdev(times) if len(times) > 1 else None,
            "median": statistics.median(times),
            "user": statistics.fmean(runs["user"]),
            "system": statistics.fmean(runs["system"]),
            "min": min(times),
            "max": max(times),
        }
    return summary | {
        "times": times,
        "memory_usage_byte": runs["memory"],
        "exit_codes": runs["exit_code"],
        "user_times": runs["user"],
        "system_times": runs["system"],
        "rounds": runs["round"],
        "positions": runs["position"],
    }


def format_seconds(seconds: float | None) -> str:
    """Return a duration as text with three significant digits.

    >>> format_seconds(0.0123), format_seconds(12.3456), format_seconds(4.2e-6), format_seconds(None)
    ('12.3 ms', '12.3 s', '4.20 us', '–')
    """
    if seconds is None:
        return _MISSING
    units = (("s", 1.0), ("ms", 1e3), ("us", 1e6))
    unit, factor = next((each for each in units if seconds * each[1] >= 1.0), ("ns", 1e9))
    number = seconds * factor
    return f"{number:.0f} {unit}" if number >= 100.0 else f"{number:#.3g} {unit}"


def format_memory(memory: int, floor: int) -> str:
    """Return a process's peak memory as text, marked if it is too small to be measured.

    >>> format_memory(80_000_000, 30_000_000), format_memory(30_000_000, 30_000_000), format_memory(0, 0)
    ('80 MB', 'below 30 MB', '–')
    """
    if memory == 0:
        return _MISSING
    number = f"{max(memory, floor) / 1e6:.0f} MB"
    return number if memory > 1.01 * floor else f"below {number}"


def summary_rows(result: RaceResult) -> list[list[str]]:
    """Return the result of a race as a table of text: a header, and one row for each command."""
    compared = {each.command: each for each in result.comparisons if each.clock == result.clock}
    against = "base" if result.options.gate is not None else "fastest"
    rows = [
        [
            "command",
            "wall time",
            "CPU time",
            "memory",
            "runs",
            f"{CLOCK_NAMES[result.clock]} against {against}",
        ]
    ]
    for row in result.table:
        other = compared.get(row["command"])
        said = (
            ""
            if other is None
            else difference_text(other)
            if other.slower or other.faster
            else interval_text(other)
        )
        rows.append(
            [
                row["command"],
                format_seconds(row["wall"]),
                format_seconds(row["cpu"]),
                format_memory(row["memory"], result.memory_floor),
                f"{row['runs']:,}",
                said,
            ]
        )
    return rows


def result_markdown(result: RaceResult) -> str:
    """Return the result of a race as Markdown: a sentence, a table, and hints."""
    header, *rows = [[cell.replace("|", "\\|") for cell in row] for row in summary_rows(result)]
    rule = ["---", *["---:"] * 4, "---"]
    lines = [f"| {' | '.join(row)} |" for row in (header, rule, *([f"`{row[0]}`", *row[1:]] for row in rows))]
    notes = [f"* {hint}" for hint in result.hints]
    level = f"{100 * result.options.confidence:g} % confidence"
    end = f"{result.rounds} rounds in random order, {result.seconds:.1f} s, {level}."
    return "\n".join([f"**{result.sentence}**", "", *lines, "", end, *([""] if notes else []), *notes, ""])


def draw_result(result: RaceResult, path: str | os.PathLike[str] | None) -> Figure:
    """Draw the result of a race as a picture with an interval for each command."""
    from tideproof.draw.race_picture import RaceBar, draw_race

    bars = [
        RaceBar(each.command, CLOCK_NAMES[each.clock], each.estimate, each.low, each.high)
        for each in result.comparisons
    ]
    return draw_race(bars, result.reference, result.sentence, path)
