"""Interface of the simulations that check the statistical promises of tideproof.

A part says what it simulates, how, and how the results are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tideproof.errors import InputError
from tideproof.table import Table

Named = TypeVar("Named", bound=Any)  # an object with a `name`


class PartOptions(NamedTuple):
    """Options of the command `tideproof calibrate`, which checks statistical promises by simulation.

    None stands for the default of a kind of simulation.

    Attributes
    ----------
    runs : number of runs of each combination.
    seed : seed of the random numbers.
    workers : number of processes or threads; by default one for each core.
    worlds : number of random worlds.
    budgets : numbers of pulls at which runs end that have not stopped before.
    heavy : whether noise follows Student's t distribution with 5 degrees of freedom.
    engine : engine of the simulations.
    once : whether intervals are those for a single look.
    prior : prior of the probability of being best.
    replications : replications of each plan.
    """

    runs: int
    seed: int | None = None
    workers: int | None = None
    worlds: int | None = None
    budgets: tuple[int, ...] | None = None
    heavy: bool = False
    engine: str = "auto"
    once: bool = False
    prior: str | None = None
    replications: int | None = None

    @property
    def is_promised(self) -> bool:
        """Whether tideproof's statistical promises apply under these simulation options."""
        return not self.heavy and not self.once and self.prior in (None, "exchangeable")


class LedgerPart(NamedTuple):
    """One kind of simulation that checks a promise, as `tideproof calibrate --part` runs it.

    Attributes
    ----------
    promise : the counted promise, in words.
    runs : default number of runs of each combination.
    options : names of further options that the part accepts.
    cells : function that returns the simulated combinations, such as worlds; each has a `name`.
    play : function that simulates combinations and yields the rows of results of each.
    table : function that turns rows into a table. Columns whose name ends in `kept` hold whether a row keeps
        its promise.
    summarize : function that returns summary lines for rows.
    draw : function that draws rows to a path, if the part has a picture.
    """

    promise: str
    runs: int
    options: tuple[str, ...]
    cells: Callable[[PartOptions], Sequence[Any]]
    play: Callable[[Sequence[Any], PartOptions], Iterator[Sequence[Any]]]
    table: Callable[[Sequence[Any]], Table]
    summarize: Callable[[Sequence[Any]], Sequence[str]]
    draw: Callable[[Sequence[Any], Path], None] | None = None


def play_with_seed(
    run: Callable[[Sequence[Any], int, int, int | None], Iterator[Sequence[Any]]],
) -> Callable[[Sequence[Any], PartOptions], Iterator[Sequence[Any]]]:
    """Return the function `play` of a part whose simulation needs only runs, a seed and workers."""

    def play(cells: Sequence[Any], options: PartOptions) -> Iterator[Sequence[Any]]:
        """Simulate combinations, and yield the rows of results of each."""
        return run(cells, options.runs, options.seed or 0, options.workers)

    return play


def filter_by_name(named: Sequence[Named], pattern: str) -> list[Named]:
    """Return the objects whose name matches a pattern, in which * stands for any text."""
    return [each for each in named if fnmatchcase(each.name, pattern)]


def no_match_error(what: str, pattern: str, named: Sequence[Any]) -> InputError:
    """Return the error to raise when no name matches a pattern."""
    return InputError(
        f"no {what} matches {pattern!r}; names look like {named[0].name!r}, and * matches any text"
    )


def columns(rows: Sequence[dict[str, Any]]) -> Table:
    """Convert a list of dicts to a table with one column for each key."""
    return Table({name: [row[name] for row in rows] for name in rows[0]} if rows else {})


def percent(share: float, interval: tuple[float, float], digits: int = 2) -> str:
    """Format a share and its confidence interval in percent.

    >>> percent(0.5, (0.25, 0.75), 1)
    '50.0 % (25.0 to 75.0)'
    """
    low, high = interval
    return f"{100 * share:.{digits}f} % ({100 * low:.{digits}f} to {100 * high:.{digits}f})"


def broken_rows(table: Table) -> list[int]:
    """Return the indices of the table rows whose simulated error rates break a promise of tideproof."""
    marks = [table[name] for name in table.columns if name.endswith("kept")]
    return [row for row in range(len(table)) if not all(mark[row] for mark in marks)]
