"""HTML report of a live experiment, which says what the page of the experiment says."""

from __future__ import annotations

from typing import NamedTuple

from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import describe_fit
from tideproof.analysis.words.fit_text import ADAPTIVE, contrast_format
from tideproof.experiment.read_model import ExperimentStatus, ReadModel
from tideproof.experiment.recommendation_text import headline
from tideproof.experiment.state.hidden_tide_fit import TideFit
from tideproof.report.event_text import format_time
from tideproof.report.hidden_tide_report import TIDE_LEGEND, OrderedRewards, tide_card, tide_columns
from tideproof.report.html_report import ReportParts, legend, model_text, report_page
from tideproof.report.plots import fit_cards
from tideproof.report.report_tables import arm_columns, detail_tables
from tideproof.text import PLAIN, as_sentence, format_count, join_names, quote_if_needed


class Verdict(NamedTuple):
    """Main statement about an experiment, and its kind: "winner", "open" or "not_comparable"."""

    sentence: str
    standing: str


def experiment_verdict(found: ReadModel, progress: str = "") -> Verdict:
    """Return the main statement about an experiment, for its page and its report.

    `progress` says how far an experiment without a winner is. An arm is called the best only by the promise
    of the stopping rule, not by the interval of a single inspection.
    """
    recommended, fit = found.recommendation, found.fit
    figures = contrast_format(fit) if isinstance(fit, Fit) else PLAIN
    standing = "winner" if recommended.sure else "open" if recommended.arm else "not_comparable"
    return Verdict(headline(recommended, figures, progress, found.status.state), standing)


def decision_sentences(status: ExperimentStatus) -> tuple[str, str]:
    """Return which arm visitors get because of a decision, and who stopped the experiment, when and why.

    Both are empty while there is no decision.
    """
    shipped = quote_if_needed(status.shipped) if status.shipped is not None else ""
    stop = status.stop
    if stop is None:
        return (f"Visitors without a pending reward get the arm {shipped}." if shipped else "", "")
    by, why = (f" by {stop.by}" if stop.by else ""), (f": {stop.why}" if stop.why else ".")
    nothing = "No arm is shipped: visitors get the default in the calling code."
    said = f"Every visitor gets the arm {shipped}." if shipped else nothing
    return said, f"Stopped{by}, {format_time(stop.at)} UTC{why}"


def live_report(found: ReadModel, fit: Fit | TideFit | None, name: str = "A live experiment") -> str:
    """Return the HTML report of a live experiment.

    `fit` is the fit of its rewards, and None while there is none. Statistical warnings come after all other
    warnings.
    """
    status, counts = found.status, found.facts
    lost = f"{status.lost:,} cancelled or expired"
    pulls = f"{format_count(counts.pulls, 'pull')}, {counts.pending:,} pending, {lost}"
    verdict = experiment_verdict(found)
    decided = [text for text in decision_sentences(status) if text]
    parts = ReportParts(
        source=f"{name} · policy = {status.policy}, {pulls}",
        sentence=verdict.sentence,
        standing=verdict.standing,
        warnings=[as_sentence(remark) for remark in found.warnings],
        notes=decided,
    )
    if isinstance(fit, Fit):
        analysis = describe_fit(fit)
        adaptive = [as_sentence(ADAPTIVE)] if fit.adaptive else []
        parts = parts._replace(
            warnings=[*parts.warnings, *analysis.warnings],
            notes=[*decided, *analysis.answers, *analysis.notes, *adaptive],
            columns=arm_columns(analysis),
            legend=legend(analysis),
            cards=fit_cards(analysis),
            details=detail_tables(analysis),
            model=model_text(fit),
        )
    elif fit is not None and found.recommendation.arm is not None:
        told = OrderedRewards(*found.inputs.rewards_in_order())
        card = tide_card(fit, told)
        parts = parts._replace(
            columns=tide_columns(fit, told.raw_means(len(fit.names))),
            legend=TIDE_LEGEND,
            cards=[] if card is None else [card],
        )
    else:
        arms = f"Arms: {join_names(map(quote_if_needed, status.arms))}."
        empty = [] if status.recorded else ["Estimates appear with the first rewards."]
        parts = parts._replace(notes=[*decided, arms, *empty])
    return report_page(parts)
