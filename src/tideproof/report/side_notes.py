"""Additional parts of a report: control, guardrail metrics, segments, traffic shares, influential rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tideproof.analysis import Fit
from tideproof.analysis.number_formats import contrast_format
from tideproof.analysis.segments import Segments
from tideproof.analysis.several_metrics import Metrics
from tideproof.analysis.versus_control import against
from tideproof.data.cell_reader import WinsorizingThreshold
from tideproof.report.analysis_report import ALARM, Analysis, format_p, warn_of_labels
from tideproof.report.control_report import ControlComparison
from tideproof.report.decisive_row import decisive_row, decisive_row_warning
from tideproof.stats.diagnostics.sample_ratio import SampleRatio
from tideproof.table import to_json_values
from tideproof.text import format_rounded, join_names, quote_if_needed

_MOST = 40  # largest number of segments with a line of their own


@dataclass(frozen=True, slots=True, eq=False)
class ExtraParts:
    """Additional parts that a user requested for a report; None for parts that were not.

    Attributes
    ----------
    control : the arm with which the others are compared.
    metrics : several metrics, the first of which decides.
    segments : the fits of segments.
    expected : the intended shares of the traffic of each arm.
    cap : the winsorizing threshold of the rewards.
    """

    control: Any = None
    metrics: Metrics | None = None
    segments: Segments | None = None
    expected: Mapping[Any, float] | None = None
    cap: WinsorizingThreshold | None = None


def add_extra_parts(analysis: Analysis, asked: ExtraParts) -> tuple[Analysis, dict[str, Any]]:
    """Return the analysis with additional sentences, and the additional parts as plain values for JSON."""
    fit, more = analysis.fit, {}
    answers, notes, warnings, compared = [*analysis.answers], [], [], analysis.against
    if asked.control is not None:
        compared = ControlComparison(asked.control, against(fit, asked.control))
        more["against"] = {"control": asked.control, "arms": compared.table.to_dicts()}
    if asked.metrics is not None:
        answers += [f"{asked.metrics.verdict}."] if asked.metrics.verdict else []
        warnings += _harm_warning(asked.metrics)
        more["metrics"] = asked.metrics.to_dict()
    if asked.segments is not None:
        answers += segment_lines(asked.segments)
        more["segments"] = asked.segments.to_dict()
    if asked.cap is not None:
        share = f"{100 * asked.cap.share:g} %"
        notes.append(
            f"Rewards above {format_rounded(asked.cap.at)}, their {share} quantile, were replaced by it."
        )
        more["cap"] = asked.cap._asdict()
    if asked.expected is not None:
        ratio = fit.sample_ratio(asked.expected)
        warnings += _share_warning(ratio)
        more["sample_ratio"] = to_json_values(ratio)
    row = decisive_row(fit)
    if row is not None:
        warnings.append(decisive_row_warning(row, fit, asked.cap is not None))
        more["single_row"] = row._asdict()
    labels = warn_of_labels(fit)  # first, as they may invalidate everything else
    changed = replace(
        analysis,
        against=compared,
        answers=answers,
        notes=[*notes, *analysis.notes],
        warnings=[*labels, *warnings, *(said for said in analysis.warnings if said not in labels)],
    )
    return changed, more


def segment_lines(found: Segments) -> list[str]:
    """Return one line for each segment on its best arm, after a line on whether segments differ."""
    lines = [f"By {found.by}: {found.verdict}."]
    lines += [
        f"{row['segment']}: {_segment_text(row, found.fits[row['segment']])}."
        for row in found.table.to_dicts()[:_MOST]
    ]
    if unlike := [segment for segment, fit in found.fits.items() if fit.lifts != found.pooled.lifts]:
        own, other = ("differences", "ratios") if found.pooled.lifts else ("ratios", "differences")
        lines.append(f"Compared by {own}, because {other} do not fit their rewards: {join_names(unlike)}.")
    lines += [f"{segment}: left out, {why}." for segment, why in list(found.left_out.items())[:_MOST]]
    return lines


def _segment_text(row: dict[str, Any], fit: Fit) -> str:
    """Return the best arm of a segment and its lead as text."""
    if row["best"] is None:
        return "no best arm, because some arms share no environment"
    figures, low, high = contrast_format(fit), row["low"], row["high"]
    interval = figures.format_interval(low, high, "+")
    estimate = figures.format_estimate(row["estimate"], low, high, "+")
    lead = f"{estimate} against {quote_if_needed(row['runner_up'])}"
    lead += f" ({interval})" if interval else ""
    if row["standing"] == "winner":
        return f"{quote_if_needed(row['best'])} is best, {lead}"
    return f"open, {quote_if_needed(row['best'])} leads, {lead}; candidates {row['candidates']}"


def _harm_warning(found: Metrics) -> list[str]:
    """Return a warning if the best arm is worse in a guardrail metric."""
    if not found.harmed:
        return []
    than = "the best of the others" if found.control is None else f"{found.control}, the control"
    return [f"{found.deciding.best} is worse than {than} in {join_names(found.harmed)}."]


def _share_warning(ratio: SampleRatio) -> list[str]:
    """Return a warning if arms did not get their intended shares of the traffic."""
    if ratio.p >= ALARM:
        return []
    got = [f"{row['arm']} {row['n']:,} instead of {row['expected']:,.0f}" for row in ratio.arms]
    p = format_p(ratio.p)
    return [f"Arms did not receive their intended shares ({p}): {join_names(got)}; find out why."]
