"""Report of a log's analysis in a terminal, and messages while a log is analyzed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from tideproof.analysis.log_analysis import AnalysisObserver, LogColumns
from tideproof.analysis.words.analysis_report import FitReport
from tideproof.analysis.words.fit_text import control_sentence
from tideproof.data.group_by_sql import Progress
from tideproof.progress import progress_bar
from tideproof.report.report_tables import arm_columns
from tideproof.report.table_layout import make_tables
from tideproof.text import escape_control_characters, format_count

_SHORT_HEADERS = {"probability of being best": "prob. of being best"}  # for lines of 80 characters
_COLOURS = {
    "winner": "bold green",
    "winner_on_these": "bold cyan",
    "open": "bold yellow",
    "not_comparable": "bold red",
}


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
    verdict = escape_control_characters(f"{report.verdict}.")
    console.print(Text(verdict, style=_COLOURS[report.standing]))
    if report.against is not None:
        console.print(Text(escape_control_characters(control_sentence(report.fit, report.against))))
    console.print()
    for table in _arm_tables(report, console.width):
        console.print(table)
    for answer in report.answers:
        console.print(Text(escape_control_characters(answer)))
    for warning in report.warnings:
        console.print(
            Text("Warning: ", style="bold red") + Text(escape_control_characters(warning), style="not bold")
        )
    for note in report.notes:
        console.print(Text(escape_control_characters(note), style="dim"))


def _arm_tables(report: FitReport, width: int, most: int = 100) -> Iterator[RichTable]:
    """Return tables of the arms, the best first; a narrow terminal needs several tables."""
    first, *others = (
        column._replace(
            header=_SHORT_HEADERS.get(column.header, column.header),
            cells=[escape_control_characters(cell) for cell in column.cells[:most]],
        )
        for column in arm_columns(report)
    )
    more = len(report.arms) - most
    hidden = f"{format_count(more, 'more arm')} {'is' if more == 1 else 'are'} not shown"
    caption = f"{hidden}; --html and --json show all arms" if more > 0 else None
    return make_tables(first, others, width, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
