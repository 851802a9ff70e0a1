"""Result of a race: which command is fastest, by how much, and all times."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from tideproof.races.race import EndOfRace, TimingRace
from tideproof.races.race_comparison import RaceComparison
from tideproof.races.race_options import RaceOptions
from tideproof.table import Table, render_notebook_html

if TYPE_CHECKING:
    from tideproof.draw.matplotlib_figure import Figure

RaceStanding = Literal["fastest", "same", "undecided", "slower", "not slower"]


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
    fastest : the commands that may be the fastest; with a gate, those that are not decided yet.
    reference : the command with which the others are compared: the fastest so far, or the baseline of a gate.
    comparisons : the other commands compared with the reference, by the deciding clock first.
    runs : all runs, with round, position in the round, command, wall, user, system (seconds) and memory
        (bytes).
    warmup : the runs that do not count.
    rounds, seconds : rounds and duration of the race without its warm-up.
    end : "decided", or why the race ended before: "max_time", "max_rounds", "interrupted" or "failed".
    parameters : the values of the parameters of each command, by its name.
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
    parameters: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

    @cached_property
    def sentence(self) -> str:
        """The result of a race in one sentence."""
        from tideproof.races.race_text import result_sentence

        return result_sentence(self)

    @cached_property
    def hints(self) -> list[str]:
        """Hints about weaknesses of the race's measurements, such as commands that are too short."""
        from tideproof.races.race_hints import find_hints

        return find_hints(self)

    @cached_property
    def table(self) -> Table:
        """Table with one row per raced command: median times, peak memory, runs, and the comparison."""
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
        """Return the wall times of all runs of one command as a table, with a column of CPU times."""
        rows = [row for row in self.runs if row["command"] == name]
        columns = [each for each in self.runs.columns if each != "command"]
        return Table(
            {each: [row[each] for row in rows] for each in columns}
            | {"cpu": [row["user"] + row["system"] for row in rows]}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the result of a race as plain values for JSON, in the format of hyperfine."""
        from tideproof.races.race_export import result_json

        return result_json(self)

    def to_markdown(self) -> str:
        """Return the result of a race as Markdown, for a comment on a pull request."""
        from tideproof.races.race_export import result_markdown

        return result_markdown(self)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the differences between raced commands' times with intervals, and save the picture."""
        from tideproof.races.race_export import draw_result

        return draw_result(self, path)

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.table!r}"

    def _repr_html_(self) -> str:
        return render_notebook_html("\n".join([self.sentence, *self.hints]), self.table)


def _median(values: list[float]) -> float | None:
    """Return the median of some numbers, or None if there are none."""
    return statistics.median(values) if values else None


def collect_result(race: TimingRace, memory_floor: int = 0) -> RaceResult:
    """Return the result of a race that has ended, with intervals for wall time and CPU time."""
    names = race.names
    reference = race.leader()
    other_clock: Literal["wall", "cpu"] = "cpu" if race.clock == "wall" else "wall"
    clocks = (race.clock, other_clock)
    comparisons = [
        race.compare(index, reference, clock)
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


def _standing(race: TimingRace) -> RaceStanding:
    """Return what a race has decided as a code word, such as "fastest" or "same"."""
    if race.options.gate is not None:
        others = range(1, len(race.names))
        if any(race.is_slower(each, 0, race.limit) for each in others):
            return "slower"
        return "not slower" if all(race.is_slower(0, each, -race.limit) for each in others) else "undecided"
    if race.end != "decided":
        return "undecided"
    return "fastest" if len(race.left) == 1 else "same"


def _runs_table(race: TimingRace) -> Table:
    """Return all measured runs of a race as a table."""
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


def _warmup_table(race: TimingRace) -> Table:
    """Return the uncounted warm-up runs of a race as a table."""
    rows = [(race.names[index], run) for index, runs in enumerate(race.warmup) for run in runs]
    return Table(
        {
            "command": [name for name, _ in rows],
            **{name: [getattr(run, name) for _, run in rows] for name in ("wall", "user", "system")},
        }
    )
