"""What a part of the ledger is: cells that are played, a row or more for each, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tideproof.errors import InputError
from tideproof.table import Table

Named = TypeVar("Named", bound=Any)  # has a name


class PartOptions(NamedTuple):
    """How a part is to be played; None is what the part usually does.

    Attributes
    ----------
    runs : of each cell.
    seed : another one, another draw.
    workers : processes or threads side by side; one a core unless given.
    worlds : how many are drawn.
    caps : pulls at which runs end that did not stop.
    heavy : whether noise has the tails of Student's t with 5 degrees of freedom.
    engine : where the lab plays.
    once : whether limits are those of one look.
    prior : of "best with probability".
    replications : of a plan.
    """

    runs: int
    seed: int | None = None
    workers: int | None = None
    worlds: int | None = None
    caps: tuple[int, ...] | None = None
    heavy: bool = False
    engine: str = "auto"
    once: bool = False
    prior: str | None = None
    replications: int | None = None

    @property
    def promised(self) -> bool:
        """Whether anything is promised of what is played: else it is for comparison."""
        return not self.heavy and not self.once and self.prior in (None, "exchangeable")


class LedgerPart(NamedTuple):
    """A part of the ledger.

    Attributes
    ----------
    promise : what is counted, in words.
    runs : of each cell, unless told.
    options : what else can be asked of it, by name.
    cells : what there is to play, each with a name.
    play : (cells, asked) -> the rows of each cell in turn.
    table : rows -> a table; its column `kept`, or those that end in it, say whether a row keeps its promise.
    said : rows -> the lines that sum them up.
    draw : (rows, path), a picture of them, if there is one.
    """

    promise: str
    runs: int
    options: tuple[str, ...]
    cells: Callable[[PartOptions], Sequence[Any]]
    play: Callable[[Sequence[Any], PartOptions], Iterator[Sequence[Any]]]
    table: Callable[[Sequence[Any]], Table]
    said: Callable[[Sequence[Any]], Sequence[str]]
    draw: Callable[[Sequence[Any], Path], None] | None = None


def matching(named: Sequence[Named], pattern: str) -> list[Named]:
    """Return those whose name matches a pattern in which * stands for anything."""
    return [each for each in named if fnmatchcase(each.name, pattern)]


def nothing_matches(what: str, pattern: str, named: Sequence[Any]) -> InputError:
    """Return the error for a pattern that nothing matches."""
    return InputError(f"no {what} is called {pattern!r}; one is {named[0].name!r}, * stands for anything")


def columns(rows: Sequence[dict[str, Any]]) -> Table:
    """Return rows as a table."""
    return Table({name: [row[name] for row in rows] for name in rows[0]} if rows else {})


def percent(share: float, limits: tuple[float, float], digits: int = 2) -> str:
    """Return a share with its limits, in percent.

    >>> percent(0.5, (0.25, 0.75), 1)
    '50.0 % (25.0 to 75.0)'
    """
    low, high = limits
    return f"{100 * share:.{digits}f} % ({100 * low:.{digits}f} to {100 * high:.{digits}f})"


def broken(table: Table) -> list[int]:
    """Return the rows that do not keep a promise."""
    marks = [table[name] for name in table.columns if name.endswith("kept")]
    return [row for row in range(len(table)) if not all(mark[row] for mark in marks)]
