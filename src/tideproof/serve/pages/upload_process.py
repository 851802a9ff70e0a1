"""Process that analyzes an uploaded file, with limited memory and time.

The module is run as a program: `upload_runner` starts it with a request on standard input, and it writes its
result to standard output, both as JSON. It reads the one file with DuckDB, which may open no other.
"""

from __future__ import annotations

import contextlib
import json
import sys
from dataclasses import replace
from typing import Any, NamedTuple, cast

from tideproof.analysis.log_analysis import AnalysisObserver, LogAnalysis, analyze_log
from tideproof.analysis.log_options import (
    AnalysisOptions,
    ColumnOptions,
    ComparisonOptions,
    StatisticsOptions,
)
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.analysis.words.analysis_report import FitReport
from tideproof.data.dataset import source_dataset
from tideproof.data.sources.duckdb_files import FileGuard, open_files
from tideproof.errors import InputError, TideproofError
from tideproof.report.html_report import html_report
from tideproof.report.plots import fit_cards
from tideproof.report.report_tables import arm_columns, detail_tables
from tideproof.serve.pages.experiment_view import narrow_first
from tideproof.serve.pages.option_labels import label_of, name_by_labels
from tideproof.serve.pages.page_rendering import render_part
from tideproof.serve.pages.page_vocabulary import (
    cards_with_variants,
    columns_with_variants,
    with_variants,
)
from tideproof.stats.cells import Cells
from tideproof.stats.variance.variance_models import Variance


class UploadForm(NamedTuple):
    """Options of the web form for analyzing an uploaded log of rewards.

    A column name that is None is guessed.
    """

    arm: str | None = None
    environment: str | None = None
    reward: str | None = None
    successes: str | None = None
    n: str | None = None
    variance: str = "auto"
    scale: str = "auto"
    minimize: bool = False
    adaptive: bool = False
    drop_missing: bool = False


class UploadRequest(NamedTuple):
    """Request to the process that analyzes an uploaded file: the file and the options.

    Attributes
    ----------
    path : path of the copy of the file.
    name : name of the file, as the browser gave it.
    form : the options, as a dictionary.
    as_file : whether the result is a report to save, and not a part of a page.
    memory_bytes, cpu_seconds : limits of the process.
    arms, cells : maximum number of arms, and of pairs of an arm and an environment.
    """

    path: str
    name: str
    form: dict[str, Any]
    as_file: bool
    memory_bytes: int
    cpu_seconds: float
    arms: int
    cells: int


class SizeLimit(AnalysisObserver):
    """Observer of an analysis that refuses logs with too many arms or environments."""

    def __init__(self, arms: int, cells: int) -> None:
        self._arms, self._cells = arms, cells

    def check_cells(self, cells: Cells) -> None:
        """Raise `InputError` if a log has too many arms, or too many pairs of an arm and an environment."""
        arms, pairs = len(cells.arms), int((cells.n > 0).sum())
        instead = "tideproof analyze has no such limit"
        if arms > self._arms:
            raise InputError(f"the log has {arms:,} arms, but at most {self._arms:,} are allowed: {instead}")
        if pairs > self._cells:
            raise InputError(
                f"the log has {pairs:,} pairs of an arm and an environment, but at most {self._cells:,} are "
                f"allowed: {instead}"
            )


def analyze_file(path: str, form: UploadForm, limit: AnalysisObserver) -> LogAnalysis:
    """Analyze a log file with the options of the upload form."""
    options = AnalysisOptions(
        columns=ColumnOptions(
            arm=form.arm,
            environment=form.environment or "",
            reward=form.reward,
            successes=form.successes,
            n=form.n,
            missing="drop" if form.drop_missing else "refuse",
            guess=True,
        ),
        statistics=StatisticsOptions(
            direction="minimize" if form.minimize else "maximize",
            variance=cast(Variance, form.variance),  # `Fit` checks variance and scale
            scale=cast(ScaleChoice, form.scale),
            adaptive=form.adaptive,
        ),
        comparisons=ComparisonOptions(shorter_environments=True),
        spell=label_of,
    )
    with open_files(path, FileGuard(path)) as source:
        return analyze_log(source_dataset(source), options, limit)


def label_report(report: FitReport) -> FitReport:
    """Replace the names of options in the texts of a report by their labels in the upload form."""
    answers, notes, warnings = (
        [name_by_labels(text) for text in texts] for texts in (report.answers, report.notes, report.warnings)
    )
    return replace(report, answers=answers, notes=notes, warnings=warnings)


def _page_parts(analysis: FitReport) -> dict[str, Any]:
    """Return the analysis of an uploaded log for a web page, which calls the arms "variants"."""
    names = [*analysis.fit.cells.arms, *analysis.fit.cells.environments]
    answers, notes, warnings = (
        [with_variants(text, names) for text in texts]
        for texts in (analysis.answers, analysis.notes, analysis.warnings)
    )
    verdict = with_variants(analysis.verdict, names)
    return {
        "analysis": replace(analysis, verdict=verdict, answers=answers, notes=notes, warnings=warnings),
        "columns": columns_with_variants(narrow_first(arm_columns(analysis)), names),
        "cards": cards_with_variants(fit_cards(analysis), names),
        "details": [
            (
                with_variants(title, names),
                with_variants(caption, names),
                columns_with_variants(columns, names),
            )
            for title, caption, columns in detail_tables(analysis)
        ],
    }


def run(request: UploadRequest) -> dict[str, Any]:
    """Analyze an uploaded file, and return the result as a dictionary for JSON.

    It has the keys `title` and `result`, the HTML of a part of a page or of a report, or else `error`.
    """
    try:
        found = analyze_file(request.path, UploadForm(**request.form), SizeLimit(request.arms, request.cells))
        analysis, columns = label_report(found.report), str(found.columns)
        if request.as_file:
            return {"title": analysis.verdict, "result": html_report(analysis, request.name, columns)}
        parts = _page_parts(analysis)
        result = render_part("analysis_result", name=request.name, columns_read=columns, **parts)
        return {"title": parts["analysis"].verdict, "result": result}
    except TideproofError as error:  # its message contains the name of the temporary file
        return {"error": name_by_labels(str(error).replace(request.path, request.name))}
    except MemoryError:
        mebibytes = request.memory_bytes // 2**20
        return {"error": f"the analysis of this file needs more than {mebibytes:,} MiB of memory"}


def limit_process(memory_bytes: int, cpu_seconds: float) -> None:
    """Limit the additional memory and the processor time that this process may use.

    It cannot write files any more. On systems without such limits, only the time is limited, by the caller.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm", encoding="ascii") as text:
            used = int(text.read().split()[0]) * resource.getpagesize()
        for kind, most in (
            (resource.RLIMIT_AS, used + memory_bytes),
            (resource.RLIMIT_CPU, int(cpu_seconds) + 1),
            (resource.RLIMIT_FSIZE, 0),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    asked = UploadRequest(**json.load(sys.stdin))
    limit_process(asked.memory_bytes, asked.cpu_seconds)
    json.dump(run(asked), sys.stdout)
