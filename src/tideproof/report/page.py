"""The HTML report: one file that needs nothing else, readable on a telephone and on paper."""

from __future__ import annotations

import html
from importlib.resources import files

from tideproof._version import __version__
from tideproof.report import plots
from tideproof.report.analysis import Analysis
from tideproof.table import Table


def page(analysis: Analysis, source: str, columns: str) -> str:
    """Return the report as HTML; `source` and `columns` say what was read."""
    fit, order = analysis.fit, analysis.arms["arm"]
    style = files("tideproof.report").joinpath("page.css").read_text(encoding="utf-8")
    cards = [
        _card(
            "Arms",
            "Dot and bar: the adjusted mean, had the arm run in every environment, with its "
            f"{100 * fit.level:g} % interval. Cross: the raw mean, tide included.",
            plots.arms(fit, order),
        ),
        _card(
            "The tide",
            "How far each environment lifted or lowered all arms alike, with its 95 % interval.",
            plots.tide(fit),
        ),
    ]
    if analysis.standing != "not_comparable":
        best, second = _pair(analysis)
        cards.append(
            _card(
                f"{best} minus {second}, environment by environment",
                "If one shift for all arms describes the data, the points scatter around the line by their "
                "bars and no more.",
                plots.gaps(fit, best, second),
            )
        )
    cards.append(
        _card(
            "Who met whom",
            "Arms are joined if they ran in the same environment; a thick line is a lot of direct evidence.",
            plots.graph(fit, order),
        )
    )
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
<main>{"".join(cards)}</main>
{_more(analysis)}
<footer>tideproof {__version__}. The model: a reward is arm + environment + noise; the environment adds one
unknown amount to all arms. Standard errors: {html.escape(fit.variance)}.</footer>
</body>
</html>
"""


def _sentence(text: str) -> str:
    return text if text.endswith(".") else text + "."


def _card(title: str, words: str, picture: str) -> str:
    if not picture:
        return ""
    return f"<section><h2>{html.escape(title)}</h2><p>{html.escape(words)}</p>{picture}</section>"


def _pair(analysis: Analysis) -> tuple[object, object]:
    best, second = analysis.arms["arm"][:2]
    return best, second


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
