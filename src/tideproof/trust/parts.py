"""The other parts of the ledger: what is promised of runs, looks, probabilities and plans, each played."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tideproof.table import Table


class Part(NamedTuple):
    """A part of the ledger.

    Attributes
    ----------
    promise : what is counted, in words.
    runs : of each cell, unless told.
    play : (runs) -> a table; its column `kept`, or those that end in it, say whether a row keeps its promise.
    """

    promise: str
    runs: int
    play: Callable[[int], Table]


def _stops(runs: int) -> Table:
    from tideproof.trust.stops import places, play, table

    return table(list(play(places(), runs)))


def _ends(runs: int) -> Table:
    from tideproof.trust.ends import panels, played, table
    from tideproof.trust.stops import places

    return table(played([*panels(), *places(40)], runs=runs))


def _looks(runs: int) -> Table:
    from tideproof.trust.looks import looks

    return looks(runs=runs)


def _chances(runs: int) -> Table:
    from tideproof.trust.chances import played, table

    return table(played(runs))


def _plans(runs: int) -> Table:
    from tideproof.trust.plans import play, table

    return table(list(play(runs=runs)))


PARTS = {
    "stops": Part("runs that stop when sure have a wrong arm in 5 % of cases at most", 20_000, _stops),
    "ends": Part("95 % limits at the end of a budget hold what they should", 2_000, _ends),
    "looks": Part("of logs that are looked at on 14 days no look is wrong, in 95 %", 1_000, _looks),
    "chances": Part("what is best with probability p is best in a share p of runs", 20_000, _chances),
    "plans": Part("a budget that was planned errs as seldom as was asked", 10_000, _plans),
}


def broken(table: Table) -> list[int]:
    """Return the rows that do not keep a promise."""
    marks = [table[name] for name in table.columns if name.endswith("kept")]
    return [row for row in range(len(table)) if not all(mark[row] for mark in marks)]
