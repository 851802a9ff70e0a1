"""Analysis of a log without environments: shifts of all arms are estimated over time or by time bins."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from tideproof.analysis.scales.hidden_tide_scale import HiddenTideScale
from tideproof.analysis.time_bins import TimeBins, group_into_bins
from tideproof.core.kernel_state_arrays import Floats
from tideproof.data.time_ordered_rows import TimeOrderedRows
from tideproof.stats.best.student_inference import student_intervals
from tideproof.stats.cells import Cells
from tideproof.stats.scales.scale_test import ScaleDecision
from tideproof.stats.tide.hidden_tide_estimate import UnlabelledTideFit, follow_tide, moment_labels
from tideproof.stats.tide.tide_law import MOST_INTERPRETED
from tideproof.stats.tide.tide_visibility import too_coarse
from tideproof.table import Table
from tideproof.text import format_count, format_probability, format_rounded

MOST = 2_000_000  # largest number of rows without bins, if the estimation is compiled


class TideEstimate:
    """Estimate of a hidden tide (the common shift of all arms) as a curve over time with jumps.

    Attributes
    ----------
    column : the column of times.
    cells : rewards by arm and time segment.
    law : the most likely law of motion between two times: the variance of its `drift`, the `chance` of a jump
        and the variance of its `size`; variances are relative to that of the noise.
    likely : posterior probability of that law among those that were tried.
    bin : length of the bins to which times were rounded, in seconds or units of the column; 0 without bins.
    first, last : the earliest and the latest time.
    """

    def __init__(self, rows: TimeOrderedRows) -> None:
        self._followed = followed = _estimate_tide(rows)
        self.column, self.bin, self._clock = rows.column, rows.bin, rows.clock
        self.law, self.likely = followed.law, followed.likely
        self.degrees_of_freedom, self.sigma = followed.freedom, followed.sigma
        self.first, self.last = moment_labels(followed.curve.time[[0, -1]], rows.clock)
        self.on, self.cells = HiddenTideScale(followed), replace(followed.cells, dropped=rows.dropped)
        self.choice = ScaleDecision(
            "difference",
            {},
            False,
            "Arms are compared by differences, because the model adds the same shift to all arms.",
        )

    @property
    def changes(self) -> Table:
        """Table of the jumps of the estimated tide with a probability of at least 0.5, in order of time.

        Columns: time, jump (of all arms), probability.
        """
        found, time = self._followed.changes, self._followed.curve.time
        indices = [each.position for each in found]
        return Table(
            {
                "time": moment_labels(time[indices], self._clock, float(time[-1] - time[0])),
                "jump": [each.jump for each in found],
                "probability": [each.chance for each in found],
            }
        )

    def points(self, confidence: float = 0.95) -> Table:
        """Return the estimated tide as a table with one row per time segment.

        If there are few times, each is a segment. Columns: time (the start of the segment), n, shift
        (relative to the average over traffic), se, low, high.
        """
        points = self._followed.points
        nu = np.full(points.n.size, float(self.degrees_of_freedom))
        return Table(
            {
                "time": moment_labels(self._followed.curve.time[points.start], self._clock),
                "n": points.n.astype(np.int64),
                "shift": points.shift,
                **student_intervals(points.shift, points.variance, nu, confidence),
            }
        )

    @property
    def positions(self) -> list[float]:
        """Positions of the tide's jumps, counted in time segments: 2.5 is the middle of the third segment."""
        return [self._followed.points.where(each.position) for each in self._followed.changes]

    @property
    def starts(self) -> Floats:
        """Start of each time segment of the tide, in seconds since 1970 or in the unit of the time column."""
        return self._followed.curve.time[self._followed.points.start]

    @property
    def jumped(self) -> list[int]:
        """Index of the first time after each jump of the tide, among the sorted times of the log."""
        return [each.position for each in self._followed.changes]

    @property
    def expected(self) -> float:
        """Posterior expectation of the number of jumps of the tide (the common shift of all arms)."""
        return float(self._followed.curve.chance.sum())

    @property
    def said(self) -> str:
        """Short phrase for summaries, which says that a common shift was estimated over time."""
        return "common shift estimated over time"

    def said_of_changes(self) -> list[str]:
        """Return one sentence for each jump of the tide: its time, its size and its probability."""
        return [
            f"The shift changed abruptly by {_format_signed(row['jump'])} around {row['time']} (probability "
            f"{format_probability(row['probability'])})."
            for row in self.changes
        ]

    def still(self) -> bool:
        """Return whether the most likely tide is constant over time."""
        return self.law.drift == 0.0 and self.law.chance == 0.0

    def sentences(self, most: int = 5) -> list[str]:
        """Return sentences that describe how the tide was estimated and name its largest jumps."""
        said = [
            f"The common shift of all arms was estimated over time ({self.column}, from {self.first} to "
            f"{self.last})."
        ]
        if self.still():
            said.append("No change of the shift was detected.")
        found, all_said = self._followed.changes, self.said_of_changes()
        largest = sorted(range(len(found)), key=lambda i: -abs(found[i].jump))[:most]
        said += [all_said[i] for i in sorted(largest)]
        if len(found) > most:
            more = format_count(len(found) - most, "smaller abrupt change")
            are, them = ("is", "it") if len(found) - most == 1 else ("are", "them")
            said.append(f"{more} {are} not shown here; --json and Fit.tide.changes contain {them}.")
        if self.bin:
            said.append(self._binned())
        return said

    def _binned(self) -> str:
        """Return the note that times of rewards were rounded to bins, because the log has too many rows."""
        unit = " s" if self._clock else ""
        compiled = (
            ""
            if _can_compile()
            else " With numba (pip install 'tideproof[lab]'), more rows can be analyzed without bins."
        )
        return (
            f"There are too many rows to estimate the shift row by row, so times were rounded to bins of "
            f"{format_rounded(self.bin)}{unit}. Changes of the shift within a bin count as noise. Intervals "
            f"are therefore wider, and abrupt changes are located less precisely.{compiled}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the estimated tide as a dictionary of plain values, for JSON."""
        return {
            "time_column": self.column,
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
    """Statistics of the rewards in a log without environments, by arm and by time segment or time bin.

    Time segments belong to an estimated tide.
    """

    cells: Cells
    tide: TideEstimate | None
    bins: TimeBins | None


def fit_tide_or_bins(rows: TimeOrderedRows) -> UnlabelledCells:
    """Estimate the tide from a log without environments, or group the rows of the log into time bins.

    Bins are used where single rewards cannot show a tide.
    """
    if too_coarse(rows.arm, rows.mean):
        cells, bins = group_into_bins(rows)
        return UnlabelledCells(cells, None, bins)
    tide = TideEstimate(rows)
    return UnlabelledCells(tide.cells, tide, None)


def most_rows() -> int:
    """Return the largest number of rows for which shifts over time are estimated without time bins."""
    return MOST if _can_compile() else MOST_INTERPRETED


def _can_compile() -> bool:
    """Return whether numba is installed, so that the estimation of a hidden tide is compiled and fast."""
    return find_spec("numba") is not None


def _estimate_tide(rows: TimeOrderedRows) -> UnlabelledTideFit:
    """Estimate the tide (the common shift of all arms over time) from time-ordered rows of a log."""
    return follow_tide(rows.arms, rows.arm, rows.time, rows.n, rows.mean, rows.squares, rows.clock)


def _format_signed(x: float) -> str:
    """Return a number with its sign and three significant digits."""
    return f"{'+' if x >= 0.0 else ''}{format_rounded(x)}"
