"""Result of a race: which command is fastest, by how much, and all times."""

from __future__ import annotations

import math
import os
import statistics
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from tideproof.races.race import EndOfRace, Race, log_time
from tideproof.races.race_options import RaceOptions
from tideproof.races.ratio_evidence import estimate_ratio, log_evidence, noise_scales, ratio_bounds
from tideproof.table import Table, render_notebook_html

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure

RaceStanding = Literal["fastest", "same", "undecided", "slower", "not slower"]


class RaceComparison(NamedTuple):
    """Time of one command compared with another, relative to the time of the other.

    Attributes
    ----------
    command, reference : the two commands; the reference is the fastest command, or the baseline of a gate.
    clock : "wall" or "cpu".
    estimate, low, high : relative difference of the times; -0.02 means that the command takes 2 % less time.
    slower, faster : whether the command surely takes more, or less, time.
    same : whether the times surely differ by less than the option `same_within`.
    over_limit, within_limit : with a gate, whether the slowdown is surely above, or below, its limit.
    rounds : number of rounds that were compared.
    """

    command: str
    reference: str
    clock: Literal["wall", "cpu"]
    estimate: float
    low: float
    high: float
    slower: bool
    faster: bool
    same: bool
    over_limit: bool
    within_limit: bool
    rounds: int


@dataclass(frozen=True, eq=False)
class RaceResult:
    """Result of a race of commands or functions, returned by `tp.bench`.

    Attributes
    ----------
    names : names of the commands, in their order.
    options : the options of the race.
    clock : the time that decided: "wall" or "cpu".
    standing : "fastest" if one command surely is; "same" if the fastest ones surely differ by less than
        `same_within`; with a gate "slower" or "not slower"; otherwise "undecided".
    fastest : the commands that may be the fastest; with a gate, the commands that may be slower than its limit.
    reference : the command with which the others are compared: the fastest so far, or the baseline of a gate.
    comparisons : the other commands compared with the reference, by the deciding clock first.
    runs : all runs, with round, position in the round, command, wall, user, system (seconds) and memory (bytes).
    rounds, seconds : rounds and duration of the race without its warm-up.
    end : "decided", or why the race ended before: "max_time", "max_rounds", "interrupted" or "failed".
    memory_floor : peaks of memory up to this number of bytes cannot be measured.
    """

    names: list[str]
    options: RaceOptions
    clock: Literal["wall", "cpu"]
    standing: RaceStanding
    fastest: list[str]
    reference: str
    comparisons: list[RaceComparison]
    runs: Table = field(repr=False)
    warmup: Table = field(repr=False)
    rounds: int
    seconds: float
    end: EndOfRace
    memory_floor: int = 0

    @cached_property
    def sentence(self) -> str:
        """The result in one sentence."""
        from tideproof.races.race_text import result_sentence

        return result_sentence(self)

    @cached_property
    def hints(self) -> list[str]:
        """Advice about what may be wrong with the measurement, such as commands that are too short."""
        from tideproof.races.race_hints import find_hints

        return find_hints(self)

    @cached_property
    def table(self) -> Table:
        """One row for each command: median times in seconds, peak memory in bytes, runs, and the comparison."""
        columns: dict[str, list[Any]] = {
            name: []
            for name in ("command", "wall", "cpu", "memory", "runs", "difference", "low", "high", "rounds")
        }
        compared = {each.command: each for each in self.comparisons if each.clock == self.clock}
        for name in self.names:
            own = self.times(name)
            other = compared.get(name)
            row = (name, _median(own["wall"]), _median(own["cpu"]), max(own["memory"], default=0), len(own))
            difference = (
                (None,) * 4 if other is None else (other.estimate, other.low, other.high, other.rounds)
            )
            for column, value in zip(columns.values(), (*row, *difference), strict=True):
                column.append(value)
        return Table(columns)

    def times(self, name: str) -> Table:
        """Return the runs of one command, with its CPU time in a column."""
        rows = [row for row in self.runs if row["command"] == name]
        columns = [each for each in self.runs.columns if each != "command"]
        return Table(
            {each: [row[each] for row in rows] for each in columns}
            | {"cpu": [row["user"] + row["system"] for row in rows]}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values, in the format of hyperfine with an object "tideproof" added."""
        from tideproof.races.race_export import result_json

        return result_json(self)

    def to_markdown(self) -> str:
        """Return the result as Markdown, for a comment on a pull request."""
        from tideproof.races.race_export import result_markdown

        return result_markdown(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the differences with their intervals, and the ratio of each round; save it if `path` is given."""
        from tideproof.races.race_export import draw_result

        return draw_result(self, path)

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.table!r}"

    def _repr_html_(self) -> str:
        return render_notebook_html("\n".join([self.sentence, *self.hints]), self.table)


def _median(values: list[float]) -> float | None:
    """Return the median of the values, or None if there are none."""
    return statistics.median(values) if values else None


def collect_result(race: Race, memory_floor: int = 0) -> RaceResult:
    """Return the result of a race that has ended, with intervals of wall time and CPU time."""
    names = race.names
    reference = race.leader()
    other_clock: Literal["wall", "cpu"] = "cpu" if race.clock == "wall" else "wall"
    clocks = (race.clock, other_clock)
    comparisons = [
        _compare(race, index, reference, clock)
        for clock in clocks
        for index in range(len(names))
        if index != reference and race.rounds
    ]
    return RaceResult(
        names=names,
        options=race.options,
        clock=race.clock,
        standing=_standing(race),
        fastest=[names[index] for index in sorted(race.left)],
        reference=names[reference],
        comparisons=comparisons,
        runs=_runs_table(race),
        warmup=_warmup_table(race),
        rounds=race.rounds,
        seconds=race.seconds,
        end=race.end,
        memory_floor=memory_floor,
    )


def _compare(race: Race, index: int, reference: int, clock: Literal["wall", "cpu"]) -> RaceComparison:
    """Compare one command of a race with the reference by one clock."""
    logs: dict[int, dict[int, float]] = {index: {}, reference: {}}
    for run in race.runs:
        if run.command in logs:
            logs[run.command][run.round] = log_time(run.took, clock)
    both = logs[index].keys() & logs[reference].keys()
    differences = np.array([logs[index][each] - logs[reference][each] for each in sorted(both)])
    scales = noise_scales(differences)

    def is_above(point: float, sign: float = 1.0) -> bool:
        return log_evidence(sign * differences, scales, sign * point) >= -math.log(race.alpha)

    low, high = ratio_bounds(differences, race.alpha)
    same, limit = math.log1p(race.options.same_within), math.log1p(race.options.gate or 0.0)
    return RaceComparison(
        command=race.names[index],
        reference=race.names[reference],
        clock=clock,
        estimate=_relative(min(max(estimate_ratio(differences), low), high)),
        low=_relative(low),
        high=_relative(high),
        slower=is_above(0.0),
        faster=is_above(0.0, -1.0),
        same=is_above(-same) and is_above(same, -1.0),
        over_limit=is_above(limit),
        within_limit=is_above(limit, -1.0),
        rounds=len(differences),
    )


def _relative(logarithm: float) -> float:
    """Return the relative difference of two times from the logarithm of their ratio."""
    return math.expm1(logarithm) if logarithm < 700.0 else math.inf


def _standing(race: Race) -> RaceStanding:
    """Return what a race has decided."""
    if race.options.gate is not None:
        others = range(1, len(race.names))
        if any(race.is_slower(each, 0, race.limit) for each in others):
            return "slower"
        return "not slower" if all(race.is_slower(0, each, -race.limit) for each in others) else "undecided"
    if race.end != "decided":
        return "undecided"
    return "fastest" if len(race.left) == 1 else "same"


def _runs_table(race: Race) -> Table:
    """Return all runs of a race as a table."""
    took = [run.took for run in race.runs]
    return Table(
        {
            "round": [run.round for run in race.runs],
            "position": [run.position for run in race.runs],
            "command": [race.names[run.command] for run in race.runs],
            **{
                name: [getattr(each, name) for each in took]
                for name in ("wall", "user", "system", "memory", "exit_code")
            },
        }
    )


def _warmup_table(race: Race) -> Table:
    """Return the runs of the warm-up as a table."""
    rows = [(race.names[index], run) for index, runs in enumerate(race.warmup) for run in runs]
    return Table(
        {
            "command": [name for name, _ in rows],
            **{name: [getattr(run, name) for _, run in rows] for name in ("wall", "user", "system")},
        }
    )
