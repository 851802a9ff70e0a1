"""Collapsed detail tables of an HTML report."""

from __future__ import annotations

import html

from tideproof.analysis import Fit
from tideproof.analysis.interaction_summary import InteractionSummary
from tideproof.analysis.number_formats import change_format, contrast_format, mean_format
from tideproof.analysis.words.fit_report import FitReport
from tideproof.report.html_tables import Heading, Headings, format_columns, html_table
from tideproof.report.terminal_tables import Column
from tideproof.stats.solve.environment_influence import can_leave_one_out
from tideproof.table import Table
from tideproof.text import PERCENT, PLAIN

ENVIRONMENTS = 500  # largest number of rows in a table of environments


def details_html(analysis: FitReport) -> str:
    """Return the detail tables as HTML, each collapsed."""
    return "".join(_collapsed_html(*each) for each in detail_tables(analysis))


def detail_tables(analysis: FitReport) -> list[tuple[str, str, list[Column]]]:
    """Return the detail tables: for each the title, a note on omitted rows, and the columns."""
    fit = analysis.fit
    means, gaps = mean_format(fit), contrast_format(fit)
    changes, points = change_format(fit), ", points" if fit.cells.binary else ""
    averages: Headings = {
        "arm": Heading("arm"),
        "mean": Heading("adjusted mean", means),
        "raw_mean": Heading("raw mean", means),
        "raw_bias": Heading(f"raw minus adjusted{points}", changes, "+"),
        "period_mean": Heading("period-weighted mean", means),
        "period_bias": Heading(f"period-weighted minus adjusted{points}", changes, "+"),
    }
    shift = Heading("factor", PLAIN) if fit.lifts else Heading("shift", gaps, "+")
    shifts: Headings = {
        "environment": Heading("environment" if fit.tide is None else "from"),
        "shift": shift,
        "interval": shift._replace(text=f"{100 * fit.level:g} % interval"),
        "n": Heading("rewards", PLAIN),
        "arms": Heading("arms", PLAIN),
    }
    tables: list[tuple[str, Table, Headings]] = [
        ("Raw and period-weighted means", _averages_with_intervals(fit), averages),
        ("Shifts", fit.shifts, shifts),
    ]
    if analysis.standing != "not_comparable":
        best: Headings = {
            "arm": Heading("arm"),
            "estimate": Heading("above the best other arm", gaps, "+"),
            "interval": Heading("simultaneous interval", gaps, "+"),
            "candidate": Heading("can be best"),
        }
        tables.append(
            ("Each arm against the best of the others, simultaneous intervals", fit.comparisons, best)
        )
        if fit.interaction is not None and fit.interaction.one_winner is not None:
            days: Headings = {
                "arm": Heading("arm"),
                "days": Heading("leads in", PLAIN),
                "interval": Heading(f"{100 * fit.level:g} % interval", PLAIN),
                "to_come": Heading("probability of leading in a new one", PERCENT),
                "omega": Heading("omega", contrast_format(fit)),
            }
            title = f"In how many of {fit.interaction.environments:,} environments each arm leads"
            tables.append((title, _leading_days_table(fit.interaction), days))
        if fit.tide is None and can_leave_one_out(fit.cells):
            left_out: Headings = {
                "environment": Heading("environment"),
                "best": Heading("best without it"),
                "lead": Heading("lead without it", gaps, "+"),
                "change": Heading("change of the lead", gaps, "+"),
                "n": Heading("rewards", PLAIN),
            }
            title = "Influence of environments: the lead without each of them"
            tables.append((title, fit.influence(), left_out))
    return [_limit_rows(*each) for each in tables]


def _averages_with_intervals(fit: Fit) -> Table:
    """Return the table of averages with the intervals of adjusted means, which determine the digits."""
    columns = {name: fit.averages[name] for name in fit.averages.columns}
    return Table(columns | {name: fit.arms[name] for name in ("low", "high")})


def _leading_days_table(found: InteractionSummary) -> Table:
    """Return the table of how many environments each arm leads in."""
    columns = {name: found.arms[name] for name in ("arm", "days", "to_come", "omega")}
    return Table(columns | {"low": found.arms["days_low"], "high": found.arms["days_high"]})


def _limit_rows(title: str, table: Table, headings: Headings) -> tuple[str, str, list[Column]]:
    """Return a table with all arms, or with at most the first `ENVIRONMENTS` environments and a note."""
    most = None if "arm" in headings else ENVIRONMENTS
    cut = ""
    if most is not None and len(table) > most:
        cut = f"The first {most:,} of {len(table):,}; --json lists all."
    return title, cut, format_columns(table, headings, most)


def _collapsed_html(title: str, cut: str, columns: list[Column]) -> str:
    """Return a collapsed table as HTML."""
    said = f'<p class="legend">{cut}</p>' if cut else ""
    return f"<details><summary>{html.escape(title)}</summary>{said}{html_table(columns)}</details>"
