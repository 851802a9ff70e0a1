"""The pipeline from a log to a decision in words: options, columns, cells, fit, decision, report.

`tp.fit`, `tideproof analyze` and the upload page call `analyze_log`. `tp.segments`, `tp.metrics` and
`plan --from` need only some of its results. `log_options` contains the options and checks them, `log_reading`
the first half of the pipeline, and `words` the sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tideproof.analysis.decision import Decision
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_options import AnalysisOptions
from tideproof.analysis.log_reading import SILENT, AnalysisObserver, LogColumns, LogReading, read_log
from tideproof.errors import InputError, UnknownName
from tideproof.stats.cells import Cells
from tideproof.text import format_count

if TYPE_CHECKING:
    from tideproof.analysis.segments import Segments
    from tideproof.analysis.several_metrics import Metrics
    from tideproof.analysis.versus_control import ControlComparison
    from tideproof.analysis.words.fit_report import FitReport


@dataclass(frozen=True, eq=False)
class LogAnalysis:
    """A log, analyzed: its columns, cells, fit, decision and report.

    Attributes
    ----------
    options : the options of the analysis.
    reading : the columns and the cells of the log.
    fit : the fit of the deciding reward.
    guardrails : the fit of each further reward.
    """

    options: AnalysisOptions
    reading: LogReading
    fit: Fit
    guardrails: dict[str, Fit]

    @property
    def columns(self) -> LogColumns:
        """The columns that were read."""
        return self.reading.columns

    @property
    def cells(self) -> Cells:
        """The cells of the deciding reward, before outlying cells were excluded."""
        return self.reading.found.cells

    @property
    def decision(self) -> Decision:
        """The decision which arm is best, and if no winner can be named, the reason."""
        return self.fit.decision

    @cached_property
    def control(self) -> Any:
        """The arm with which all others are compared; None without one."""
        control = self.options.comparisons.control
        return None if control is None else find_arm(control, self.fit.cells.arms)

    @cached_property
    def against(self) -> ControlComparison | None:
        """The comparison of all other arms with the control; None without one."""
        if self.control is None:
            return None
        from tideproof.analysis.versus_control import ControlComparison, against

        return ControlComparison(self.control, against(self.fit, self.control))

    @cached_property
    def metrics(self) -> Metrics | None:
        """The comparison of all rewards; None if there is only one."""
        if not self.guardrails:
            return None
        from tideproof.analysis.several_metrics import combine_metrics

        return combine_metrics({str(self.columns.reward): self.fit, **self.guardrails}, self.control)

    @cached_property
    def segments(self) -> Segments | None:
        """The fits of the segments; None without segments."""
        if self.options.comparisons.by is None:
            return None
        from tideproof.analysis.segments import fit_segments

        return fit_segments(self.reading.found, self.options, self.fit.direction)

    @cached_property
    def expected(self) -> dict[Any, float] | None:
        """The intended share of each arm; None if none were given."""
        shares, arms = self.options.comparisons.expected, self.fit.cells.arms
        if shares is None:
            return None
        if not isinstance(shares, Sequence):
            return {find_arm(arm, arms): share for arm, share in shares.items()}
        if len(shares) != len(arms):
            said, listed = ":".join(f"{share:g}" for share in shares), ", ".join(map(str, arms[:20]))
            name = self.options.spell("expected")
            raise InputError(
                f"{name} {said} has {len(shares)} shares, but there are {len(arms)} arms: {listed}"
            )
        return dict(zip(arms, shares, strict=True))

    @cached_property
    def report(self) -> FitReport:
        """The decision in words: verdict, notes, warnings and answers."""
        from tideproof.analysis.words.fit_report import ExtraParts, describe_fit

        expected = self.expected
        extra = ExtraParts(
            against=self.against,
            metrics=self.metrics,
            segments=self.segments,
            sample_ratio=None if expected is None else self.fit.sample_ratio(expected),
            cap=self.reading.found.cap,
            single_rows=True,
        )
        return describe_fit(self.fit, extra)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dictionary of plain values, for JSON."""
        return self.report.to_dict() | {"columns": self.columns.to_dict()}


def analyze_log(data: Any, options: AnalysisOptions, observer: AnalysisObserver = SILENT) -> LogAnalysis:
    """Read a log from any source and fit its arms; the report is written when it is first used."""
    reading = read_log(data, options, observer)
    low, reward = options.comparisons.low, reading.columns.reward
    lower = options.statistics.direction == "minimize" or reward in low
    with observer.working(f"comparing {format_count(len(reading.found.cells.arms), 'arm')}"):
        fit = _fit_cells(reading.found.cells, options, lower, reading)
        guardrails = {
            name: _fit_cells(cells, options, name in low) for name, cells in reading.guardrails.items()
        }
    return LogAnalysis(options, reading, fit, guardrails)


def _fit_cells(cells: Cells, options: AnalysisOptions, lower: bool, reading: LogReading | None = None) -> Fit:
    """Fit cells; low rewards are good if `lower`, and `reading` holds what else is known of the log."""
    asked = options.statistics
    return Fit(
        cells,
        direction="minimize" if lower else asked.direction if reading else "maximize",
        adaptive=asked.adaptive,
        level=asked.level,
        variance=options.variance,
        scale=asked.scale,
        prior=asked.prior,
        anytime=asked.anytime,
        tide=None if reading is None else reading.tide,
        bins=None if reading is None else reading.bins,
        inside=None if reading is None else reading.inside,
        robust=asked.robust,
    )


def find_arm(name: Any, arms: Sequence[Any]) -> Any:
    """Return the arm `name`, or the arm whose text form is `name`.

    >>> find_arm("2", [1, 2]), find_arm("A", ["A", "B"])
    (2, 'A')
    """
    for arm in arms:
        if arm == name or str(arm) == name:
            return arm
    raise UnknownName.with_suggestion("arm", name, arms)
