"""HTML report of an analysis: one self-contained file for screens, telephones and paper."""

from __future__ import annotations

import html
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from tideproof._version import __version__
from tideproof.analysis import Fit
from tideproof.analysis.words.fit_answers import control_sentence
from tideproof.analysis.words.fit_report import FitReport
from tideproof.draw.colour_palette import chart_css, css
from tideproof.draw.fit_charts import draw_arms, draw_gaps, draw_meetings, draw_tide
from tideproof.report.chart_data import (
    MOST,
    arms_info,
    gaps_axis,
    gaps_info,
    hidden_tide_info,
    means_axis,
    meetings_info,
    shifts_axis,
    tide_info,
)
from tideproof.report.report_tables import arm_columns, detail_tables
from tideproof.report.table_layout import SCRIPT, Column, html_table


class Card(NamedTuple):
    """A picture with a title and an explanation."""

    title: str
    words: str
    picture: str


def html_report(analysis: FitReport, source: str, columns: str) -> str:
    """Return the report as HTML; `source` and `columns` describe the data."""
    style = (
        css()
        + files("tideproof.report").joinpath("html_report.css").read_text(encoding="utf-8")
        + chart_css()
    )
    warned = "".join(f'<p class="warning">{html.escape(text)}</p>' for text in analysis.warnings)
    noted = "".join(f"<li>{html.escape(text)}</li>" for text in [*analysis.answers, *analysis.notes])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(analysis.verdict.split(":")[0])}</title>
<style>{style}</style>
</head>
<body>
<header>
<p class="source">{html.escape(source)} · {html.escape(columns)}</p>
<h1 class="{analysis.standing}">{html.escape(_with_full_stop(analysis.verdict))}</h1>
{_control_html(analysis)}</header>
{warned}
{html_table(arm_columns(analysis))}
<p class="legend">{_legend_html(analysis)}</p>
<ul class="notes">{noted}</ul>
<main>{"".join(map(_card_html, cards(analysis)))}</main>
{_details_html(analysis)}
<footer>tideproof {__version__}. {_model_text(analysis.fit)}</footer>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _with_full_stop(text: str) -> str:
    """Return a text that ends with a full stop."""
    return text if text.endswith(".") else text + "."


def _control_html(analysis: FitReport) -> str:
    """Return the paragraph on the comparison with the control; empty without a control."""
    if analysis.against is None:
        return ""
    return f'<p class="control">{html.escape(control_sentence(analysis.fit, analysis.against))}</p>\n'


def _model_text(fit: Fit) -> str:
    """Return the statement of the statistical model, for the footer."""
    said = {
        "difference": "reward = arm + environment + noise; an environment adds the same amount to all arms.",
        "ratio": "mean reward = arm * environment; an environment multiplies all arms by the same factor.",
        "odds": "odds of a 1 = arm * environment; an environment multiplies all arms by the same factor.",
        "log": "reward = arm * environment * noise; an environment multiplies all arms by the same factor.",
    }[fit.scale]
    if fit.interaction is not None:
        said = "reward = arm + environment + interaction of the two + noise."
    noise = "" if fit.variance == "auto" else f" Standard errors: {html.escape(fit.variance)}."
    if fit.tide is not None:
        said, noise = "reward = arm + tide + noise; the tide drifts and jumps, and adds to all arms.", ""
    return f"The model: {said}{noise}"


def cards(analysis: FitReport) -> Iterator[Card]:
    """Yield the pictures of the report, each with a title and an explanation."""
    fit = analysis.fit
    limits = f", with its {100 * fit.level:g} % interval" if fit.freedom else ""
    bar = " and bar" if fit.freedom else ""
    comparable = analysis.standing != "not_comparable"
    green = " Green: can be the best." if comparable else ""
    total, few = len(analysis.arms), ""
    if total > MOST:
        few = f" Only the {'best' if comparable else 'first'} {MOST} of {total:,} arms are drawn."
    yield Card(
        "Arms",
        f"Dot{bar}: the adjusted mean, as if the arm had run {_everywhere_text(fit)}{limits}. "
        f"Cross: the raw mean, which includes the tide.{green}{few}",
        draw_arms(arms_info(analysis), means_axis(fit)),
    )
    if hidden := hidden_tide_info(fit):
        jumps = " Dashed lines: jumps." if hidden.changes else ""
        yield Card(
            "The hidden tide",
            f"The tide, estimated over time as a curve with jumps{limits}.{jumps}",
            draw_tide(hidden.shifts, shifts_axis(fit), "time", hidden.changes),
        )
    elif tide := tide_info(fit):
        reach = limits
        if tide.each > 1:
            reach = (
                f"; a point is the mean of {tide.each:,} consecutive environments, and the band their range"
            )
        yield Card(
            "The tide",
            f"The shift of each environment, which raises or lowers all arms alike{reach}.",
            draw_tide(tide.shifts, shifts_axis(fit)),
        )
    if fit.interaction is not None and fit.interaction.one_winner is not None:
        from tideproof.report.leaders_chart import draw_leads, leads_explanation

        yield Card("Which arm leads where", leads_explanation(fit.interaction), draw_leads(fit.interaction))
    if gaps := gaps_info(fit):
        scatter = (
            "Bars show only the noise within environments; "
            "where shifts differ between arms, the points scatter more widely."
            if fit.variance == "clustered" or fit.interaction is not None
            else "If one shift for all arms describes the data, "
            "the points scatter around the line no more than their bars suggest."
        )
        info, chosen = gaps.info, ""
        if len(info.gaps) < gaps.met:
            chosen = f" Only the {len(info.gaps)} most informative of {gaps.met:,} environments are drawn."
        what = "environment" if fit.tide is None else "time segment"
        if fit.tide is not None:
            scatter = "The tide is removed."
        yield Card(
            f"{info.a} against {info.b}, {what} by {what}",
            f"Dot and bar: one {what} alone{limits}. Line and band: all of them together. {scatter}{chosen}",
            draw_gaps(info, gaps_axis(fit, info), what),
        )
    if met := meetings_info(analysis):
        yield Card(
            "Which arms shared environments",
            "Arms are connected if they ran in the same environment; a thicker line means more evidence. "
            f"Other pairs are compared through a third arm.{green}",
            draw_meetings(met),
        )


def _everywhere_text(fit: Fit) -> str:
    """Return "in every environment" or, for a log without environments, "at all times"."""
    return "in every environment" if fit.tide is None else "at all times"


def _card_html(card: Card) -> str:
    """Return a picture with its title and explanation as HTML."""
    said = f"<h2>{html.escape(card.title)}</h2><p>{html.escape(card.words)}</p>"
    return f"<section>{said}{card.picture}</section>"


def _legend_html(analysis: FitReport) -> str:
    """Return the explanation of the columns of the table of arms."""
    level = f"{100 * analysis.fit.level:g} %"
    who = (
        "Group: arms can be compared only with arms of the same group."
        if analysis.standing == "not_comparable"
        else f"Can be best: with a probability of at least {level}, the best arm is one of those with “yes” "
        "(multiple comparisons with the best)."
    )
    return html.escape(
        f"Adjusted mean: as if the arm had run {_everywhere_text(analysis.fit)}, in proportion to traffic. "
        f"Raw minus adjusted: the effect of the {'environments' if analysis.fit.tide is None else 'times'} "
        f"in which the arm ran. {who} "
        "Click a heading to sort."
    )


def _details_html(analysis: FitReport) -> str:
    """Return the detail tables as HTML, each collapsed."""
    return "".join(_collapsed_html(*each) for each in detail_tables(analysis))


def _collapsed_html(title: str, cut: str, columns: list[Column]) -> str:
    """Return a collapsed table as HTML."""
    said = f'<p class="legend">{cut}</p>' if cut else ""
    return f"<details><summary>{html.escape(title)}</summary>{said}{html_table(columns)}</details>"
