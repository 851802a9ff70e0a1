"""HTML report of a live experiment."""

from __future__ import annotations

from dataclasses import replace

from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.analysis.words.fit_text import ADAPTIVE
from tideproof.errors import InputError
from tideproof.experiment.read_model import ReadModel
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.report.html_report import html_report
from tideproof.text import format_count


def live_report(found: ReadModel, fit: Fit | TideFit) -> str:
    """Return the HTML report of a live experiment.

    Statistical warnings come after all other warnings.
    """
    if not isinstance(fit, Fit):
        raise InputError(
            f"a report needs environment labels: with tide={found.status.tide!r}, use recommend() and fit()"
        )
    analysis, counts = describe_fit(fit), found.facts
    remarks = [remark[0].upper() + remark[1:] + "." for remark in found.warnings]
    adaptive = [ADAPTIVE[0].upper() + ADAPTIVE[1:] + "."] if fit.adaptive else []
    analysis = replace(analysis, notes=[*analysis.notes, *adaptive], warnings=[*remarks, *analysis.warnings])
    lost = f"{found.status.lost:,} cancelled or expired"
    pulls = f"{format_count(counts.pulls, 'pull')}, {counts.pending:,} pending, {lost}"
    return html_report(analysis, "A running experiment", f"policy = {found.status.policy}, {pulls}")
