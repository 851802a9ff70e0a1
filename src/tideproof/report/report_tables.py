"""Tables of the report on an analyzed log, and messages in the terminal during the analysis.

Terminals and web pages show the same tables: arms, shifts and further details.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tideproof.analysis import Fit
from tideproof.analysis.interaction_summary import InteractionSummary
from tideproof.analysis.log_analysis import AnalysisObserver, LogColumns
from tideproof.analysis.words.analysis_report import FitReport
from tideproof.analysis.words.fit_text import (
    change_format,
    contrast_format,
    control_comparison,
    control_sentence,
    mean_format,
)
from tideproof.data.group_by_sql import Progress
from tideproof.progress import progress_bar
from tideproof.report.table_layout import Column, make_tables
from tideproof.stats.solve.adjusted_means import can_leave_one_out
from tideproof.table import Table
from tideproof.text import (
    PERCENT,
    PLAIN,
    NumberFormat,
    escape_control_characters,
    format_count,
    format_probability,
    quote_if_needed,
)

MISSING = "\N{EN DASH}"
ENVIRONMENTS = 500  # largest number of rows in a table of environments
MULTIPLE_COMPARISONS = "Each arm against the best other arm, simultaneous confidence intervals"
_COLOURS = {
    "winner": "bold green",
    "winner_on_these": "bold cyan",
    "open": "bold yellow",
    "not_comparable": "bold red",
}
_CAPTIONS = {
    MULTIPLE_COMPARISONS: "These are constrained simultaneous intervals (Hsu's multiple comparisons with the "
    "best): by construction, each contains 0 or ends at 0. They can therefore differ from the interval in "
    "the verdict.",
}  # explanation of a table, by its title

_SHORT_HEADERS = {  # for lines of 80 characters
    "probability of being best": "prob. of being best",
    "can be best in similar environments": "can be best in others",
    "confidence interval of the mean": "interval of the mean",
}
# an option in Python, and then in brackets on the command line: "scale='ratio' (--scale ratio)"
_BOTH_SPELLINGS = re.compile(r"\b[a-z_]+=\S*(?: with [a-z_]+=\S*)* \((--[^()]+)\)")


class Heading(NamedTuple):
    """Heading of a table column, and the format of the numbers in this column.

    A column without a format contains text.
    """

    text: str
    figures: NumberFormat | None = None
    sign: str = ""


Headings = Mapping[str, Heading]  # the heading of each column


def arm_columns(analysis: FitReport) -> list[Column]:
    """Return the columns of the table of arms in a report.

    Numbers have as many digits as their intervals justify.
    """
    fit, rows = analysis.fit, analysis.arms.to_dicts()
    means = mean_format(fit)
    points = ", percentage points" if fit.cells.binary else ""

    def column(header: str, write: Callable[[dict[str, Any]], str], left: bool = False) -> Column:
        """Return a table column with one text for each row."""
        return Column(header, [write(row) for row in rows], left)

    def ends(row: dict[str, Any]) -> tuple[float | None, float | None]:
        """Return the bounds of the confidence interval of an arm's mean.

        The result is (None, None) if the noise is unknown.
        """
        return (None, None) if fit.exact else (row["low"], row["high"])

    def mean(name: str) -> Callable[[dict[str, Any]], str]:
        """Return a function that formats the mean in column `name` of a table row."""
        return lambda row: MISSING if row[name] is None else means.format_estimate(row[name], *ends(row))

    columns = [
        column("arm", lambda row: quote_if_needed(row["arm"]), left=True),
        column("adjusted mean", mean("mean")),
        column(
            f"{100 * fit.confidence:g} % confidence interval of the mean",
            lambda row: means.format_interval(*ends(row)) or MISSING,
        ),
    ]
    if analysis.against is not None:
        control, table = analysis.against
        compared = {row["arm"]: control_comparison(fit, row) for row in table}
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
        columns.append(column(_candidate_name(fit), lambda row: row["can be best"], left=True))
        if any(row["p_best"] is not None for row in rows):
            columns.append(column("probability of being best", lambda row: format_chance(row["p_best"])))
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


def _candidate_name(fit: Fit) -> str:
    """Return the name of the column that says which arms can be best.

    It contains the scope if the verdict is about others: if it names a winner in these environments only.
    """
    elsewhere = fit.decision.doubt == "other environments"
    return "can be best in similar environments" if elsewhere else "can be best"


def _bias_name(fit: Fit) -> str:
    """Return the name of the bias of raw means by shifts, which does not contain the effect of covariates."""
    return "raw minus adjusted" if fit.cells.slope is None else "bias of the raw mean by shifts"


def name_options(text: str) -> str:
    """Keep only the command-line spelling of options that a text spells in both ways.

    >>> name_options("Use variance='auto' with scale='auto' (--variance auto --scale auto).")
    'Use --variance auto --scale auto.'
    >>> name_options("name their column by unit= (--unit)")
    'name their column by --unit'
    """
    return _BOTH_SPELLINGS.sub(r"\1", text)


def format_chance(p: float | None) -> str:
    """Return a probability as text, or a dash if it is None."""
    return MISSING if p is None else format_probability(p)


def detail_tables(analysis: FitReport) -> list[tuple[str, str, list[Column]]]:
    """Return the tables of details in a report, such as the table of shifts.

    Each table is a title, a caption (perhaps empty) and columns.
    """
    fit = analysis.fit
    means, gaps = mean_format(fit), contrast_format(fit)
    changes, points = change_format(fit), ", percentage points" if fit.cells.binary else ""
    averages: Headings = {
        "arm": Heading("arm"),
        "mean": Heading("adjusted mean", means),
        "raw_mean": Heading("raw mean", means),
        "raw_bias": Heading(f"{_bias_name(fit)}{points}", changes, "+"),
        "period_mean": Heading("period-weighted mean", means),
        "period_bias": Heading(f"period-weighted minus adjusted{points}", changes, "+"),
    }
    shift = Heading("factor", PLAIN) if fit.lifts else Heading("shift", gaps, "+")
    shifts: Headings = {
        "environment": Heading("environment" if fit.tide is None else "start of the time segment"),
        "shift": shift,
        "interval": shift._replace(text=f"{100 * fit.confidence:g} % confidence interval"),
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
            "estimate": Heading("difference from the best other arm", gaps, "+"),
            "interval": Heading("simultaneous confidence interval", gaps, "+"),
            "candidate": Heading(_candidate_name(fit)),
        }
        tables.append((MULTIPLE_COMPARISONS, fit.comparisons, best))
        if fit.interaction is not None and fit.interaction.one_winner is not None:
            days: Headings = {
                "arm": Heading("arm"),
                "environments_led": Heading("environments in which it leads", PLAIN),
                "interval": Heading(f"{100 * fit.confidence:g} % confidence interval", PLAIN),
                "p_leads_in_new": Heading("probability of leading in a new environment", PERCENT),
                "omega": Heading("omega (standard deviation of interactions)", contrast_format(fit)),
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
            title = "Influence of environments: the lead if one environment is left out"
            tables.append((title, fit.influence(), left_out))
    return [_limit_rows(*each) for each in tables]


def _averages_with_intervals(fit: Fit) -> Table:
    """Return the table of the raw and the adjusted mean of each arm.

    It contains interval bounds, with which the number of decimals is chosen.
    """
    columns = {name: fit.averages[name] for name in fit.averages.columns}
    return Table(columns | {name: fit.arms[name] for name in ("low", "high")})


def _leading_days_table(found: InteractionSummary) -> Table:
    """Return the table of the number of environments in which each arm leads."""
    names = ("arm", "environments_led", "p_leads_in_new", "omega", "low", "high")
    return Table({name: found.arms[name] for name in names})


def _limit_rows(title: str, table: Table, headings: Headings) -> tuple[str, str, list[Column]]:
    """Shorten a long table of environments for a report, and format its cells.

    Return the title, the caption and the columns of text.

    At most the first `ENVIRONMENTS` environments are shown, but always all arms.
    """
    most = None if "arm" in headings else ENVIRONMENTS
    cut = _CAPTIONS.get(title, "")
    if most is not None and len(table) > most:
        cut = (
            f"The table shows the first {most:,} of {len(table):,} rows. tideproof analyze --json lists all "
            f"rows."
        )
    return title, cut, format_columns(table, headings, most)


def format_columns(table: Table, headings: Headings, most: int | None = None) -> list[Column]:
    """Return the first `most` rows of a table as columns of text.

    Numbers have three significant digits, or as many as their interval in the columns `low` and `high`
    justifies. The heading "interval" joins these two columns.
    """
    rows = [row for row, _ in zip(table, repeat(None) if most is None else range(most), strict=False)]
    return [
        Column(heading.text, [_format_cell(row, name, heading) for row in rows], heading.figures is None)
        for name, heading in headings.items()
    ]


def _format_cell(row: dict[str, Any], name: str, heading: Heading) -> str:
    """Return the text of one cell of a table."""
    low, high, figures = row.get("low"), row.get("high"), heading.figures
    if name == "interval":
        return (figures.format_interval(low, high, heading.sign) if figures else "") or MISSING
    value = row[name]
    if value is None or (isinstance(value, float) and math.isinf(value)):
        return MISSING
    if figures is None:
        return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return figures.format_estimate(value, low, high, heading.sign)


class TerminalObserver(AnalysisObserver):
    """Messages on stderr while a log is analyzed: guessed columns, and the progress.

    The progress is shown if stderr is a terminal or a notebook.
    """

    def __init__(self, *, progress: bool = True) -> None:
        self._messages = Console(stderr=True)
        self._moving = progress and (self._messages.is_terminal or self._messages.is_jupyter)

    def show_columns(self, columns: LogColumns) -> None:
        """Print which columns of the log are read, if some were guessed."""
        if columns.guessed:
            guessed = ", ".join(columns.guessed)
            message = f"columns: {columns} (guessed: {guessed}; options such as --arm override them)"
            self._messages.print(
                escape_control_characters(message), style="dim", highlight=False, markup=False
            )

    def reading(self) -> AbstractContextManager[Progress | None]:
        """Show a progress bar in the terminal while a log is read."""
        return progress_bar("reading", 100.0) if self._moving else nullcontext()

    def working(self, message: str) -> AbstractContextManager[Any]:
        """Show a message in the terminal during a longer computation."""
        return self._messages.status(message) if self._moving else nullcontext()

    def note(self, message: str) -> None:
        """Print a message on stderr."""
        self._messages.print(message, highlight=False, markup=False)


def print_report(report: FitReport) -> None:
    """Print the report of an analysis: the verdict, the table of arms, answers, warnings and notes."""
    console = Console()
    verdict = escape_control_characters(name_options(f"{report.verdict}."))
    console.print(Text(verdict, style=_COLOURS[report.standing]))
    if report.against is not None:
        console.print(Text(escape_control_characters(control_sentence(report.fit, report.against))))
    console.print()
    for table in _arm_tables(report, console.width):
        console.print(table)
    for answer in report.answers:
        console.print(Text(escape_control_characters(name_options(answer))))
    for warning in report.warnings:
        console.print(
            Text("Warning: ", style="bold red")
            + Text(escape_control_characters(name_options(warning)), style="not bold")
        )
    for note in report.notes:
        console.print(Text(escape_control_characters(name_options(note)), style="dim"))


def _shorten_header(header: str) -> str:
    """Return a table heading for lines of 80 characters.

    >>> _shorten_header("95 % confidence interval of the mean")
    '95 % interval of the mean'
    """
    for long, short in _SHORT_HEADERS.items():
        header = header.replace(long, short)
    return header


def _arm_tables(report: FitReport, width: int, most: int = 100) -> Iterator[RichTable]:
    """Return tables of the arms, the best first; a narrow terminal needs several tables."""
    first, *others = (
        column._replace(
            header=_shorten_header(column.header),
            cells=[escape_control_characters(cell) for cell in column.cells[:most]],
        )
        for column in arm_columns(report)
    )
    more = len(report.arms) - most
    hidden = f"{format_count(more, 'more arm')} {'is' if more == 1 else 'are'} not shown"
    caption = f"{hidden}; --html and --json show all arms" if more > 0 else None
    return make_tables(first, others, width, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
