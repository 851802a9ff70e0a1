"""The HTML report: one file that needs nothing else, readable on a telephone and on paper."""

from __future__ import annotations

import html
from collections.abc import Iterator
from importlib.resources import files

from tideproof._version import __version__
from tideproof.draw.arms import draw_arms
from tideproof.draw.gaps import draw_gaps
from tideproof.draw.meetings import draw_meetings
from tideproof.draw.palette import css
from tideproof.draw.tide import draw_tide
from tideproof.report.analysis import Analysis
from tideproof.report.pictures import MOST, arms_info, gaps_info, meetings_info, tide_info
from tideproof.table import Table


def html_report(analysis: Analysis, source: str, columns: str) -> str:
    """Return the report as HTML; `source` and `columns` say what was read."""
    fit = analysis.fit
    style = css() + files("tideproof.report").joinpath("html_report.css").read_text(encoding="utf-8")
    warned = "".join(f'<p class="warning">{html.escape(text)}</p>' for text in analysis.warnings)
    noted = "".join(f"<li>{html.escape(text)}</li>" for text in analysis.notes)
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
<h1 class="{analysis.standing}">{html.escape(_sentence(analysis.verdict))}</h1>
</header>
{warned}
<ul class="notes">{noted}</ul>
<div class="scroll">{analysis.arms._repr_html_()}</div>
<p class="legend">{_legend(analysis)}</p>
<main>{"".join(_cards(analysis))}</main>
{_more(analysis)}
<footer>tideproof {__version__}. The model: a reward is arm + environment + noise; the environment adds one
unknown amount to all arms. Standard errors: {html.escape(fit.variance)}.</footer>
</body>
</html>
"""


def _sentence(text: str) -> str:
    return text if text.endswith(".") else text + "."


def _cards(analysis: Analysis) -> Iterator[str]:
    """Yield the pictures, each with a title and how to read it."""
    fit = analysis.fit
    limits = f", with its {100 * fit.level:g} % interval" if fit.freedom else ""
    bar = " and bar" if fit.freedom else ""
    comparable = analysis.standing != "not_comparable"
    green = " Green: can be the best." if comparable else ""
    total, few = len(analysis.arms), ""
    if total > MOST:
        few = f" Only the {'best' if comparable else 'first'} {MOST} of {total} arms are drawn."
    yield _card(
        "Arms",
        f"Dot{bar}: the adjusted mean, had the arm run in every environment{limits}. "
        f"Cross: the raw mean, tide included.{green}{few}",
        draw_arms(arms_info(analysis)),
    )
    if shifts := tide_info(fit):
        yield _card(
            "The tide",
            f"How far each environment lifted or lowered all arms alike{limits}.",
            draw_tide(shifts),
        )
    if gaps := gaps_info(fit):
        scatter = (
            "Bars allow for the noise inside environments only: "
            "where shifts differ between arms, the points scatter by more."
            if fit.variance == "clustered"
            else "If one shift for all arms describes the data, "
            "the points scatter around the line by their bars and no more."
        )
        yield _card(
            f"{gaps.a} minus {gaps.b}, environment by environment",
            f"Dot and bar: one environment alone{limits}. Line and band: all of them together. {scatter}",
            draw_gaps(gaps),
        )
    yield _card(
        "Who met whom",
        "Arms are joined if they ran in the same environment; a thick line is a lot of direct evidence."
        f"{green}{few}",
        draw_meetings(meetings_info(analysis)),
    )


def _card(title: str, words: str, picture: str) -> str:
    return f"<section><h2>{html.escape(title)}</h2><p>{html.escape(words)}</p>{picture}</section>"


def _legend(analysis: Analysis) -> str:
    level = f"{100 * analysis.fit.level:g} %"
    who = (
        "group: arms can be compared only with arms of the same group."
        if analysis.standing == "not_comparable"
        else f"can be best: the best arm is among those with “yes” with probability {level} at least "
        "(multiple comparisons with the best)."
    )
    return html.escape(
        "mean: adjusted for shifts. bias: raw mean minus adjusted mean, the average shift that the arm met. "
        + who
    )


def _more(analysis: Analysis) -> str:
    """Return the tables that few will open."""
    fit = analysis.fit
    tables: dict[str, Table] = {"What other averages say": fit.averages, "Shifts": fit.shifts}
    if analysis.standing != "not_comparable":
        tables["Each arm against the best of the others, simultaneous intervals"] = fit.comparisons
        tables["Environments by influence: what if one were left out?"] = fit.influence()
    return "".join(
        f"<details><summary>{html.escape(title)}</summary>"
        f'<div class="scroll">{table._repr_html_()}</div></details>'
        for title, table in tables.items()
    )
