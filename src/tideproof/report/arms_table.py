"""The table of arms for terminals and web pages: adjusted mean and confidence interval first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tideproof.analysis.number_formats import change_format, mean_format
from tideproof.analysis.words.fit_answers import comparison_text
from tideproof.analysis.words.fit_report import FitReport
from tideproof.report.terminal_tables import Column
from tideproof.text import format_probability, quote_if_needed

MISSING = "\N{EN DASH}"


def arm_columns(analysis: FitReport) -> list[Column]:
    """Return the columns of the table of arms; numbers have as many digits as their interval justifies."""
    fit, rows = analysis.fit, analysis.arms.to_dicts()
    means = mean_format(fit)
    points = ", points" if fit.cells.binary else ""  # percentage points

    def column(header: str, write: Callable[[dict[str, Any]], str], left: bool = False) -> Column:
        """Return a column with one text for each row."""
        return Column(header, [write(row) for row in rows], left)

    def ends(row: dict[str, Any]) -> tuple[float | None, float | None]:
        """Return the bounds of the confidence interval in a row, unknown if the fit is exact."""
        return (None, None) if fit.exact else (row["low"], row["high"])

    def mean(name: str) -> Callable[[dict[str, Any]], str]:
        """Return the function that formats a mean of a row."""
        return lambda row: MISSING if row[name] is None else means.format_estimate(row[name], *ends(row))

    columns = [
        column("arm", lambda row: quote_if_needed(row["arm"]), left=True),
        column("adjusted mean", mean("mean")),
        column(f"{100 * fit.level:g} % interval", lambda row: means.format_interval(*ends(row)) or MISSING),
    ]
    if analysis.against is not None:
        control, table = analysis.against
        compared = {row["arm"]: comparison_text(fit, row) for row in table}
        columns.append(
            column(
                f"against {quote_if_needed(control)}",
                lambda row: compared.get(row["arm"], MISSING),
                left=True,
            )
        )
    if analysis.standing == "not_comparable":  # there is no best arm of all groups
        columns.append(column("group", lambda row: str(row["group"])))
    else:
        columns.append(column("can be best", lambda row: row["can be best"], left=True))
        columns.append(column("chance to be best", lambda row: format_chance(row["p_best"])))
    return [
        *columns,
        column("raw mean", mean("raw_mean")),
        column(
            f"raw minus adjusted{points}",
            lambda row: (
                MISSING
                if row["bias"] is None
                else change_format(fit).format_estimate(row["bias"], *ends(row), "+")
            ),
        ),
        column("rewards", lambda row: f"{row['n']:,}"),
    ]


def format_chance(p: float | None) -> str:
    """Return a probability as text, or a dash if it is None."""
    return MISSING if p is None else format_probability(p)
