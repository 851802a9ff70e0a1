"""A log without an environment column: its tide is followed by time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.scales.hidden_tide_scale import FollowedDifference
from tideproof.analysis.time_bins import TimeBins, into_bins
from tideproof.core.array_layout import Floats
from tideproof.data.time_ordered_rows import Timed
from tideproof.errors import InputError
from tideproof.stats.best.student_inference import limits
from tideproof.stats.cells import Cells
from tideproof.stats.scales.scale_choice import Choice
from tideproof.stats.tide.tide_law import MOST_INTERPRETED
from tideproof.stats.tide.tide_visibility import too_coarse
from tideproof.stats.tide.unlabelled_tide import TideFit, follow_tide, moment_labels
from tideproof.table import Table
from tideproof.text import format_probability, format_rounded, join_names

MOST = 2_000_000  # rows that are followed one by one, compiled


class TideEstimate:
    """A tide that nobody announced, as a smooth curve with jumps.

    Attributes
    ----------
    column : where moments were read.
    cells : rewards by arm and piece of time.
    law : how it moves between two moments, as is likeliest: variance of its `drift`, `chance` of a jump and
        variance of its `size`, variances in those of the noise.
    likely : the probability of that law among those that were tried.
    bin : length of the bins that moments were rounded to, in seconds or in the column's numbers; 0: none.
    first, last : the outermost moments.
    """

    def __init__(self, rows: Timed) -> None:
        self._followed = followed = _followed(rows)
        self.column, self.bin, self._clock = rows.column, rows.bin, rows.clock
        self.law, self.likely = followed.law, followed.likely
        self.freedom, self.sigma = followed.freedom, followed.sigma
        self.first, self.last = moment_labels(followed.curve.time[[0, -1]], rows.clock)
        self.on, self.cells = FollowedDifference(followed), replace(followed.cells, dropped=rows.dropped)
        self.choice = Choice(
            "difference", {}, False, "Differences are compared: a hidden tide adds to all arms."
        )

    @property
    def changes(self) -> Table:
        """Where it jumped, with a probability of 0.5 or more, in the order of time.

        Columns: time, jump (of all arms), probability.
        """
        found, time = self._followed.changes, self._followed.curve.time
        places = [each.place for each in found]
        return Table(
            {
                "time": moment_labels(time[places], self._clock, float(time[-1] - time[0])),
                "jump": [each.jump for each in found],
                "probability": [each.chance for each in found],
            }
        )

    def points(self, level: float = 0.95) -> Table:
        """Return the curve: the tide of each piece of time, of each moment if there are few.

        Columns: time (its start), n, shift (relative to the average over traffic), se, low, high.
        """
        points = self._followed.points
        nu = np.full(points.n.size, float(self.freedom))
        return Table(
            {
                "time": moment_labels(self._followed.curve.time[points.start], self._clock),
                "n": points.n.astype(np.int64),
                "shift": points.shift,
                **limits(points.shift, points.variance, nu, level),
            }
        )

    @property
    def places(self) -> list[float]:
        """Where among the `points` each of the changes lies: 2.5 is in the middle of the third."""
        return [self._followed.points.where(each.place) for each in self._followed.changes]

    @property
    def starts(self) -> Floats:
        """When each of the `points` begins: seconds since 1970, or the column's numbers."""
        return self._followed.curve.time[self._followed.points.start]

    @property
    def jumped(self) -> list[int]:
        """Which of all moments, by number, each of the changes comes before."""
        return [each.place for each in self._followed.changes]

    @property
    def expected(self) -> float:
        """How many jumps there were, as expected."""
        return float(self._followed.curve.chance.sum())

    @property
    def said(self) -> str:
        """What stands where environments are counted otherwise."""
        return "tide: hidden, followed by time"

    def said_of_changes(self) -> list[str]:
        """Return a sentence on each of the changes."""
        return [
            f"Around {row['time']} the tide jumped by {_signed(row['jump'])} (probability "
            f"{format_probability(row['probability'])})."
            for row in self.changes
        ]

    def still(self) -> bool:
        """Tell whether the likeliest tide does not move at all."""
        return self.law.drift == 0.0 and self.law.chance == 0.0

    def sentences(self, most: int = 5) -> list[str]:
        """Say how the tide was followed, and name its largest jumps."""
        said = [f"Tide: hidden, followed by time ({self.column}, from {self.first} to {self.last})."]
        if self.still():
            said.append("It does not seem to move.")
        found, all_said = self._followed.changes, self.said_of_changes()
        largest = sorted(range(len(found)), key=lambda i: -abs(found[i].jump))[:most]
        said += [all_said[i] for i in sorted(largest)]
        if len(found) > most:
            said.append(f"{len(found) - most:,} smaller jumps are listed by --json and Fit.tide.changes.")
        if self.bin:
            said.append(self._binned())
        return said

    def _binned(self) -> str:
        unit = " s" if self._clock else ""
        compiled = "" if _compiles() else " pip install 'tideproof[lab]' follows more rows one by one."
        return (
            f"There are too many rows to follow one by one: they are in bins of "
            f"{format_rounded(self.bin)}{unit}. "
            f"Inside a bin the tide counts as still: what it moves there is taken for noise, which makes "
            f"limits wider, and a jump is located no better.{compiled}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it in plain values."""
        return {
            "followed_by": self.column,
            "first": self.first,
            "last": self.last,
            "drift": self.law.drift,
            "chance_of_a_jump": self.law.chance,
            "size_of_a_jump": self.law.size if self.law.chance else None,
            "probability": self.likely,
            "bin": self.bin or None,
            "jumps_expected": self.expected,
            "changes": self.changes.to_dicts(),
        }


class UnlabelledCells(NamedTuple):
    """A log without environments: its cells, and the tide that was followed or the bins it was put into."""

    cells: Cells
    tide: TideEstimate | None
    bins: TimeBins | None


def unlabelled(rows: Timed, logs: bool | None = False) -> UnlabelledCells:
    """Follow the tide row by row or, where single rewards cannot show it, in bins; `logs` as in `Wish`."""
    if too_coarse(rows.arm, rows.mean):
        cells, bins = into_bins(rows, logs)
        return UnlabelledCells(cells, None, bins)
    tide = TideEstimate(rows)
    return UnlabelledCells(tide.cells, tide, None)


def most_rows() -> int:
    """Return how many rows are followed one by one."""
    return MOST if _compiles() else MOST_INTERPRETED


def check_hidden(*, scale: str, variance: str, anytime: bool, others: Mapping[str, Any]) -> None:
    """Refuse what is not known of hidden tides."""
    given = [name for name, value in others.items() if value]
    if scale not in ("auto", "difference"):
        given.append(f"scale={scale!r}")
    if variance not in ("auto", "common"):
        given.append(f"variance={variance!r}")
    if anytime:
        given.append("anytime")
    if given:
        raise InputError(
            f"a tide that is followed by time needs rows of arm, time and reward, nothing else: leave out "
            f"{join_names(given)}, or give the environment"
        )


def unusable(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked for that a followed tide cannot have."""
    read = ("table", "missing", "decimal")
    return {name: value for name, value in options.items() if name not in read}


def _compiles() -> bool:
    return find_spec("numba") is not None


def _followed(rows: Timed) -> TideFit:
    return follow_tide(rows.arms, rows.arm, rows.time, rows.n, rows.mean, rows.squares, rows.clock)


def _signed(x: float) -> str:
    return f"{'+' if x >= 0.0 else ''}{format_rounded(x)}"
