"""HTML report of a live experiment."""

from __future__ import annotations

from dataclasses import replace

from tideproof.analysis import Fit
from tideproof.analysis.words.fit_report import describe_fit
from tideproof.analysis.words.verdict_text import ADAPTIVE
from tideproof.experiment.experiment_diagnostics import Diagnostics
from tideproof.report.html_report import html_report
from tideproof.text import format_count


def live_report(fit: Fit, found: Diagnostics, policy: str) -> str:
    """Return the HTML report of a live experiment; its usage warnings come before those of the fit."""
    analysis = describe_fit(fit)
    remarks = [remark[0].upper() + remark[1:] + "." for remark in found.remarks]
    adaptive = [ADAPTIVE[0].upper() + ADAPTIVE[1:] + "."] if fit.adaptive else []
    analysis = replace(analysis, notes=[*analysis.notes, *adaptive], warnings=[*remarks, *analysis.warnings])
    pulls = f"{format_count(found.asked, 'pull')}, {found.out:,} pending, {found.lost:,} lost"
    return html_report(analysis, "A running experiment", f"policy = {policy}, {pulls}")
