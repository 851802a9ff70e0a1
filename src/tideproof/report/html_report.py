"""HTML report of an analysis: one self-contained file for screens, telephones and paper.

The charts are drawn by `draw.fit_charts` from numbers of the fit, which are selected and labelled here.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from tideproof._version import __version__
from tideproof.analysis import Fit
from tideproof.analysis.words.analysis_report import FitReport
from tideproof.analysis.words.fit_text import contrast_format, control_sentence, mean_format
from tideproof.draw.colour_palette import chart_css, css
from tideproof.draw.fit_charts import (
    ArmInfo,
    ChangeInfo,
    GapInfo,
    GapsInfo,
    MeetingsInfo,
    ShiftInfo,
    draw_arms,
    draw_gaps,
    draw_meetings,
    draw_tide,
)
from tideproof.draw.svg_elements import Axis, Interval, shorten
from tideproof.report.report_tables import arm_columns, detail_tables
from tideproof.report.table_layout import SCRIPT, Column, html_table
from tideproof.stats.scales.scale_properties import SCALE_PROPERTIES
from tideproof.stats.solve.least_squares import link_weights

MOST = 30  # largest number of arms in a chart
POINTS = 240  # largest number of environments in a chart, or of groups of consecutive environments


class Card(NamedTuple):
    """A chart in a report, with a title and an explanation."""

    title: str
    words: str
    picture: str


def html_report(analysis: FitReport, source: str, columns: str) -> str:
    """Return the report of a log's analysis as an HTML page.

    `source` and `columns` describe the data.
    """
    parts = ReportParts(
        source=f"{source} · {columns}",
        sentence=analysis.verdict,
        standing=analysis.standing,
        below=_control_html(analysis),
        warnings=analysis.warnings,
        columns=arm_columns(analysis),
        legend=legend(analysis),
        notes=[*analysis.answers, *analysis.notes],
        cards=list(cards(analysis)),
        details=detail_tables(analysis),
        model=model_text(analysis.fit),
    )
    return report_page(parts)


class ReportParts(NamedTuple):
    """Parts of the page of a report, from which `report_page` makes HTML.

    Attributes
    ----------
    source : description of the data.
    sentence, standing : the main statement and its kind, which sets its colour.
    below : HTML below the main statement.
    warnings, notes : sentences.
    columns, legend : table of arms, empty if there is none; explanation of its columns.
    cards : charts.
    details : title, explanation and columns of each table that is collapsed at first.
    model : statement of the statistical model, as HTML.
    """

    source: str
    sentence: str
    standing: str
    below: str = ""
    warnings: Sequence[str] = ()
    columns: list[Column] = []  # noqa: RUF012  never changed
    legend: str = ""
    notes: Sequence[str] = ()
    cards: Sequence[Card] = ()
    details: Iterable[tuple[str, str, list[Column]]] = ()
    model: str = ""


def report_page(parts: ReportParts) -> str:
    """Return a report as one self-contained HTML page."""
    style = (
        css()
        + files("tideproof.report").joinpath("html_report.css").read_text(encoding="utf-8")
        + chart_css()
    )
    warned = "".join(f'<p class="warning">{html.escape(text)}</p>' for text in parts.warnings)
    noted = "".join(f"<li>{html.escape(text)}</li>" for text in parts.notes)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(parts.sentence.split(":")[0])}</title>
<style>{style}</style>
</head>
<body>
<header>
<p class="source">{html.escape(parts.source)}</p>
<h1 class="{parts.standing}">{html.escape(_with_full_stop(parts.sentence))}</h1>
{parts.below}</header>
{warned}
{html_table(parts.columns) if parts.columns else ""}
<p class="legend">{html.escape(parts.legend)}</p>
<ul class="notes">{noted}</ul>
<main>{"".join(map(_card_html, parts.cards))}</main>
{"".join(_collapsed_html(*each) for each in parts.details)}
<footer>tideproof {__version__}. {parts.model}</footer>
<script>{SCRIPT}</script>
</body>
</html>
"""


def _with_full_stop(text: str) -> str:
    """Return a text that ends with a full stop."""
    return text if text.endswith(".") else text + "."


def _control_html(analysis: FitReport) -> str:
    """Return the HTML paragraph that compares the arms with the control arm.

    It is empty without a control arm.
    """
    if analysis.against is None:
        return ""
    return f'<p class="control">{html.escape(control_sentence(analysis.fit, analysis.against))}</p>\n'


def model_text(fit: Fit) -> str:
    """Return the statement of the statistical model, for the footer of a report."""
    said = SCALE_PROPERTIES[fit.scale].model
    if fit.interaction is not None:
        said = "reward = arm + environment + interaction of the two + noise."
    noise = "" if fit.variance == "auto" else f" Standard errors: {html.escape(fit.variance)}."
    if fit.tide is not None:
        said = (
            "reward = arm + tide + noise; the tide drifts and jumps, and is added to the rewards of all arms."
        )
        noise = ""
    return f"The model: {said}{noise}"


def cards(analysis: FitReport) -> Iterator[Card]:
    """Yield the charts of a report, each with a title and an explanation."""
    fit = analysis.fit
    level = f"{100 * fit.confidence:g} % confidence interval"
    with_interval = f", with its {level}" if fit.degrees_of_freedom else ""
    bar = f"; the bar is its {level}" if fit.degrees_of_freedom else ""
    comparable = analysis.standing != "not_comparable"
    green = " Green arms can be the best." if comparable else ""
    total, few = len(analysis.arms), ""
    if total > MOST:
        few = f" Only the {'best' if comparable else 'first'} {MOST} of {total:,} arms are drawn."
    yield Card(
        "Arms",
        f"The dot is the adjusted mean{bar}. "
        f"The cross is the raw mean, which includes the shifts.{green}{few}",
        draw_arms(arms_info(analysis), means_axis(fit)),
    )
    if analysis.metrics is not None:
        from tideproof.analysis.quality_cost import quality_cost_panel

        if panel := quality_cost_panel(fit, analysis.metrics.fits):
            yield Card(*panel)
    if hidden := hidden_tide_info(fit):
        jumps = " Dashed lines mark abrupt changes." if hidden.changes else ""
        yield Card(
            "The hidden tide",
            "The common shift of all arms, estimated over time as a curve with abrupt changes"
            f"{with_interval}.{jumps}",
            draw_tide(hidden.shifts, shifts_axis(fit), "time", hidden.changes),
        )
    elif tide := tide_info(fit):
        points = f"{with_interval}."
        if tide.each > 1:
            points = (
                f". A point is the mean shift of {tide.each:,} consecutive environments; the band shows the "
                f"lowest and the highest of them."
            )
        yield Card(
            "The tide",
            f"The shift of each environment, which raises or lowers all arms alike{points}",
            draw_tide(tide.shifts, shifts_axis(fit)),
        )
    if fit.interaction is not None and fit.interaction.one_winner is not None:
        from tideproof.report.leaders_chart import draw_leads, leads_explanation

        yield Card("Which arm leads where", leads_explanation(fit.interaction), draw_leads(fit.interaction))
    if gaps := gaps_info(fit):
        scatter = (
            "Bars show only the noise within environments. "
            "If there are interactions, the dots scatter more than the bars suggest."
            if fit.variance in ("clustered", "paired") or fit.interaction is not None
            else "If environments shift all arms equally, most bars cross the line."
        )
        info, chosen = gaps.info, ""
        if len(info.gaps) < gaps.met:
            chosen = f" Only the {len(info.gaps)} most informative of {gaps.met:,} environments are drawn."
        what = "environment" if fit.tide is None else "time segment"
        if fit.tide is not None:
            scatter = "The common shift is removed."
        yield Card(
            f"{info.a} against {info.b} in each {what}",
            f"Each dot is the estimate from one {what} alone{with_interval}. "
            f"The line and the band are the estimate from all of them together. {scatter}{chosen}",
            draw_gaps(info, gaps_axis(fit, info), what),
        )
    if met := meetings_info(analysis):
        yield Card(
            "Which arms shared environments",
            "A line connects arms that ran in the same environment; a thicker line means more evidence. "
            "Arms without a line between them are compared through arms that shared environments with both."
            f"{green}",
            draw_meetings(met),
        )


def _everywhere_text(fit: Fit) -> str:
    """Return "in all environments" or, for a log without environments, "at all times"."""
    return "in all environments" if fit.tide is None else "at all times"


def _card_html(card: Card) -> str:
    """Return a chart of a report with its title and explanation as HTML."""
    said = f"<h2>{html.escape(card.title)}</h2><p>{html.escape(card.words)}</p>"
    return f"<section>{said}{card.picture}</section>"


def legend(analysis: FitReport) -> str:
    """Return the explanation of the columns of the table of arms."""
    level = f"{100 * analysis.fit.confidence:g} %"
    others = analysis.fit.decision.doubt == "other environments"
    where = " on average over other, similar environments" if others else ""
    who = (
        "Group: arms can be compared only with arms of the same group."
        if analysis.standing == "not_comparable"
        else f"Can be best: whether the data leave open that this arm is the best{where} "
        f"(confidence level {level}; method: multiple comparisons with the best)."
    )
    return (
        f"Adjusted mean: estimated mean of the arm if it had run {_everywhere_text(analysis.fit)}, each "
        f"weighted by its traffic. "
        f"Raw minus adjusted: the effect of the {'environments' if analysis.fit.tide is None else 'times'} "
        f"in which the arm ran{'' if analysis.fit.cells.slope is None else ', and of the covariates'}. {who} "
        "Click a heading to sort."
    )


def _collapsed_html(title: str, cut: str, columns: list[Column]) -> str:
    """Return a table as HTML that is collapsed until the reader opens it."""
    said = f'<p class="legend">{cut}</p>' if cut else ""
    return f"<details><summary>{html.escape(title)}</summary>{said}{html_table(columns)}</details>"


def arms_info(analysis: FitReport) -> list[ArmInfo]:
    """Return the data of the chart of arms: their means and confidence intervals.

    At most 30 arms are shown, and only arms with rewards.
    """
    return [
        ArmInfo(str(row["arm"]), row["mean"], _row_bounds(row), row["raw_mean"], _can_be_best(row))
        for row in analysis.arms.to_dicts()[:MOST]
        if _finite(row["mean"]) is not None
    ]


def means_axis(fit: Fit) -> Axis:
    """Return the axis of adjusted means in a chart of arms.

    For rates, it ends at 0 and 1.
    """
    if fit.cells.binary:
        return Axis("share of rewards that are 1", mean_format(fit), 0.0, 1.0)
    return Axis("mean reward", mean_format(fit), 0.0 if fit.cells.mean.min() >= 0.0 else -math.inf)


def gaps_axis(fit: Fit, info: GapsInfo) -> Axis:
    """Return the axis of a chart for the difference or lift of one arm over another."""
    label = SCALE_PROPERTIES[fit.scale].contrast_label
    name = label.format(a=shorten(info.a, 16), b=shorten(info.b, 16), unit=_unit(fit))
    return Axis(name, contrast_format(fit), lifts=fit.lifts)


def shifts_axis(fit: Fit) -> Axis:
    """Return the axis of a chart for the shifts of environments."""
    name = SCALE_PROPERTIES[fit.scale].shift_label.format(unit=_unit(fit))
    return Axis(name, contrast_format(fit), lifts=fit.lifts)


def _unit(fit: Fit) -> str:
    """Return the unit in an axis label of a chart: percentage points for 0/1 rewards, else none."""
    return ", percentage points" if fit.cells.binary else ""


class ShiftChart(NamedTuple):
    """Data of the chart that shows the shift of each environment.

    If there are many environments, each point stands for a group of consecutive ones. `each` is the
    number of environments of a group. The point of a group is the mean of its shifts, and the interval
    spans their range.
    """

    shifts: list[ShiftInfo]
    each: int


def tide_info(fit: Fit) -> ShiftChart | None:
    """Return the data of the chart that shows the shift of each environment.

    If arms are compared by lifts, shifts are lifts, too.

    Return None if each group of arms has a single environment, whose shift is 0 by definition.
    """
    one = 1.0 if fit.lifts else 0.0  # the shift of an average environment
    table = fit.shifts
    columns = (table[name] for name in ("environment", "n", "shift", "low", "high"))
    shifts = [
        ShiftInfo(str(environment), n, above, _bounds(low, high, one))
        for environment, n, shift, low, high in zip(
            *columns, strict=True
        )  # by column, which is fast for many environments
        if (above := _finite(shift, one)) is not None
    ]
    pulls = dict(zip(fit.arms["arm"], fit.arms["n"], strict=True))
    groups = sum(pulls[group[0]] > 0 for group in fit.groups)  # an arm without rewards is a group by itself
    if len(shifts) <= groups:
        return None
    each = -(-len(shifts) // POINTS)
    parts = [shifts[i : i + each] for i in range(0, len(shifts), each)]
    return ShiftChart(shifts if each == 1 else [_merge_points(part) for part in parts], each)


def _merge_points(part: list[ShiftInfo]) -> ShiftInfo:
    """Merge the shifts of neighbouring environments into one point of a chart.

    The point is their mean, and its interval spans their range.
    """
    n = sum(each.n for each in part)
    mean = sum(each.n * each.shift for each in part) / n
    ends = min(each.shift for each in part), max(each.shift for each in part)
    name = part[0].environment if len(part) == 1 else f"{part[0].environment} to {part[-1].environment}"
    return ShiftInfo(name, n, mean, ends)


class HiddenTideChart(NamedTuple):
    """Data of the chart of a tide that is estimated without environments: its curve and its jumps."""

    shifts: list[ShiftInfo]
    changes: list[ChangeInfo]


def hidden_tide_info(fit: Fit) -> HiddenTideChart | None:
    """Return the data of the chart of a tide that is estimated without environments.

    The result is None for a log with environment labels.
    """
    if fit.tide is None:
        return None
    rows = fit.tide.points(fit.confidence).to_dicts()
    shifts = [ShiftInfo(str(row["time"]), row["n"], row["shift"], _row_bounds(row)) for row in rows]
    changes = [ChangeInfo(*each) for each in zip(fit.tide.positions, fit.tide.said_of_changes(), strict=True)]
    return HiddenTideChart(shifts, changes)


class GapChart(NamedTuple):
    """Data of the chart that compares two arms in each environment.

    `met` is the number of environments that the two arms shared.
    """

    info: GapsInfo
    met: int


def gaps_info(fit: Fit) -> GapChart | None:
    """Return the data of the chart that compares the best arm with its runner-up in each environment.

    If there are too many environments, those with the smallest standard errors are chosen. Return None if
    arms cannot be compared or no interval is known.
    """
    a, b = fit.decision.best, fit.decision.runner_up
    if fit.decision.standing == "not_comparable":
        return None
    rows = [row for row in fit.gaps(a, b) if _finite(row["estimate"]) is not None]
    said = sorted(range(len(rows)), key=lambda i: math.inf if rows[i]["se"] is None else rows[i]["se"])
    gaps = [
        GapInfo(str(rows[i]["environment"]), rows[i]["estimate"], _row_bounds(rows[i]))
        for i in sorted(said[:POINTS])
    ]
    overall = fit.lead_contrast
    if not any(gap.interval for gap in gaps) or _finite(overall.estimate) is None:
        return None
    line = GapInfo(
        "all rewards" if fit.tide else "all environments", overall.estimate, _row_bounds(asdict(overall))
    )
    return GapChart(GapsInfo(str(a), str(b), gaps, line), len(rows))


def meetings_info(analysis: FitReport) -> MeetingsInfo | None:
    """Return the data of the chart that shows which arms shared environments.

    The evidence for a pair is the sum of n_i n_k/m_j over environments. Return None if all pairs shared
    environments, if there are too many arms, or if the tide is hidden.
    """
    rows, c = analysis.arms.to_dicts(), analysis.fit.cells
    if len(rows) > MOST or analysis.fit.tide is not None:
        return None
    order = [c.arms.index(row["arm"]) for row in rows]
    known = link_weights(c)[np.ix_(order, order)]
    pairs = list(combinations(range(len(order)), 2))
    evidence = {(i, k): float(known[i, k]) for i, k in pairs if known[i, k] > 0.0}
    if len(evidence) == len(pairs):
        return None
    return MeetingsInfo([str(row["arm"]) for row in rows], [_can_be_best(row) for row in rows], evidence)


def _row_bounds(row: Mapping[str, Any]) -> Interval:
    """Return the bounds of the confidence interval in a table row, or None if one is unknown."""
    return _bounds(row["low"], row["high"])


def _bounds(low: float | None, high: float | None, one: float = 0.0) -> Interval:
    """Subtract the neutral value (1 for ratios, else 0) from the bounds of an interval.

    The result is None if a bound is unknown or infinite.
    """
    low, high = _finite(low, one), _finite(high, one)
    return None if low is None or high is None else (low, high)


def _finite(x: float | None, one: float = 0.0) -> float | None:
    """Subtract the neutral value (1 for ratios, else 0) from a number.

    The result is None if the number is unknown or infinite.
    """
    return None if x is None or not math.isfinite(x) else x - one


def _can_be_best(row: dict[str, Any]) -> bool:
    """Return whether the data allow the arm of a table row to be the best."""
    return row.get("can be best") == "yes"
