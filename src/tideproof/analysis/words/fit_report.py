"""Report of a fit: the verdict, the table of arms, notes, warnings and answers.

The terminal, HTML reports, web pages and JSON all show these contents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tideproof.analysis.decision import Standing
from tideproof.analysis.decisive_row import decisive_row
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.words.fit_answers import interaction_sentences, segment_lines
from tideproof.analysis.words.fit_notes import exclusion_sentences, fit_notes, winsorizing_note
from tideproof.analysis.words.fit_warnings import (
    decisive_row_warning,
    failed_additivity,
    fit_warnings,
    harm_warning,
    share_warning,
    warn_of_labels,
)
from tideproof.data.cell_reader import WinsorizingThreshold
from tideproof.stats.diagnostics.sample_ratio import SampleRatio
from tideproof.table import Table, to_json_values

if TYPE_CHECKING:
    from tideproof.analysis.segments import Segments
    from tideproof.analysis.several_metrics import Metrics
    from tideproof.analysis.versus_control import ControlComparison


@dataclass(frozen=True, slots=True, eq=False)
class ExtraParts:
    """Optional parts of a report, such as segments; parts that are None or False are omitted.

    Attributes
    ----------
    against : comparison of each other arm with the control.
    metrics : several metrics, the first of which decides.
    segments : the fits of segments.
    sample_ratio : test of the intended shares of the traffic.
    cap : the winsorizing threshold of the rewards.
    single_rows : whether to look for a single row that decides the lead.
    """

    against: ControlComparison | None = None
    metrics: Metrics | None = None
    segments: Segments | None = None
    sample_ratio: SampleRatio | None = None
    cap: WinsorizingThreshold | None = None
    single_rows: bool = False


@dataclass(frozen=True, slots=True)
class FitReport:
    """Contents of the report of a fit, as texts and tables.

    Attributes
    ----------
    fit : the fit that is reported.
    standing : "winner" (one arm can be the best), "open" (several can), "not_comparable".
    verdict : one sentence that names the best arm, its lead, and the confidence level.
    arms : table with one row per arm, the best first: adjusted mean, low, high; whether it can be the best
        and p_best, or its group if arms cannot be compared; raw mean, bias, n.
    notes : sentences about the data that need no action.
    warnings : sentences about assumptions that are violated.
    answers : sentences that answer further questions, such as how metrics and segments compare.
    against : comparison of each other arm with the control, if there is one.
    parts : results of the additional parts as plain values, for JSON.
    """

    fit: Fit
    standing: Standing
    verdict: str
    arms: Table
    notes: list[str]
    warnings: list[str]
    answers: list[str]
    against: ControlComparison | None = None
    parts: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a dictionary of plain values, for JSON."""
        said = {"answers": self.answers, "notes": self.notes, "warnings": self.warnings}
        return self.fit.to_dict() | said | self.parts


def describe_fit(fit: Fit, extra: ExtraParts | None = None) -> FitReport:
    """Return the contents of the report of a fit, with the additional parts that were requested."""
    extra = ExtraParts() if extra is None else extra
    standing = fit.decision.standing
    comparable = standing != "not_comparable"
    misfit = failed_additivity(fit) if comparable else None
    row = decisive_row(fit) if extra.single_rows else None
    excluded = exclusion_sentences(fit.left_out) if fit.left_out is not None and fit.left_out.notable else []
    warnings = [
        *warn_of_labels(fit),  # first, as they may invalidate everything else
        *([] if extra.metrics is None else harm_warning(extra.metrics)),
        *([] if extra.sample_ratio is None else share_warning(extra.sample_ratio)),
        *([] if row is None else [decisive_row_warning(row, fit, extra.cap is not None)]),
        *excluded,
        *(fit_warnings(fit, misfit) if comparable else []),
    ]
    answers = [
        *(interaction_sentences(fit) if comparable else []),
        *([] if extra.metrics is None or not extra.metrics.verdict else [f"{extra.metrics.verdict}."]),
        *([] if extra.segments is None else segment_lines(extra.segments)),
    ]
    notes = [*([] if extra.cap is None else [winsorizing_note(extra.cap)]), *fit_notes(fit, misfit)]
    parts = {
        "against": None if extra.against is None else extra.against.to_dict(),
        "metrics": None if extra.metrics is None else extra.metrics.to_dict(),
        "segments": None if extra.segments is None else extra.segments.to_dict(),
        "cap": None if extra.cap is None else extra.cap._asdict(),
        "sample_ratio": None if extra.sample_ratio is None else to_json_values(extra.sample_ratio),
        "single_row": None if row is None else row._asdict(),
    }
    known = {name: value for name, value in parts.items() if value is not None}
    return FitReport(
        fit, standing, fit.verdict, _arms_table(fit), notes, warnings, answers, extra.against, known
    )


def _arms_table(fit: Fit) -> Table:
    """Return the table of arms, the best first."""
    rows = {row["arm"]: row for row in fit.arms}
    bias = dict(zip(fit.averages["arm"], fit.averages["raw_bias"], strict=True))
    group = {arm: g for g, arms in enumerate(fit.ranking) for arm in arms}
    order = list(group)
    columns: dict[str, list[Any]] = {"arm": order}
    for name in ("mean", "low", "high"):
        columns[name] = [rows[arm][name] for arm in order]
    if len(fit.groups) > 1:
        columns["group"] = [group[arm] + 1 for arm in order]
    else:
        may = set(fit.candidates)
        columns["can be best"] = ["yes" if arm in may else "no" for arm in order]
        few = (
            fit.decision.doubt == "too few events"
        )  # the verdict names no best arm, so probabilities are omitted
        columns["p_best"] = [None if few else rows[arm]["p_best"] for arm in order]
    columns["raw_mean"] = [rows[arm]["raw_mean"] for arm in order]
    largest = float(abs(fit.cells.mean).max())
    columns["bias"] = [_remove_rounding(bias[arm], largest) for arm in order]
    columns["n"] = [rows[arm]["n"] for arm in order]
    return Table(columns)


def _remove_rounding(x: float | None, largest: float) -> float | None:
    """Return a difference of numbers of size `largest`, with 0 for a pure rounding error.

    >>> [_remove_rounding(x, 3.5) for x in (-4.4e-16, 1e-9, None)], _remove_rounding(1e-9, 1e5)
    ([0.0, 1e-09, None], 0.0)
    """
    return 0.0 if x is not None and abs(x) <= 1e-13 * largest else x
