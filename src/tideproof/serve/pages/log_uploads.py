"""Analysis of an uploaded file by a DuckDB connection with limited memory and no access to other files."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from tideproof.analysis.log_analysis import LogAnalysis, analyze_log
from tideproof.analysis.log_options import (
    AnalysisOptions,
    ColumnOptions,
    ComparisonOptions,
    StatisticsOptions,
)
from tideproof.analysis.scale_choice import ScaleChoice
from tideproof.analysis.words.analysis_report import FitReport
from tideproof.data.dataset import source_dataset
from tideproof.data.sources.duckdb_files import UPLOAD_KINDS, FileGuard, open_files
from tideproof.errors import InputError, TideproofError
from tideproof.serve.pages.option_labels import label_of, name_by_labels
from tideproof.serve.problem_details import Problem
from tideproof.stats.variance.variance_models import Variance

_CHUNK = 2**20

# At most two files are read at the same time, because each may use as much memory as `FileGuard` allows
_read_slots = threading.BoundedSemaphore(2)


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


def analyze_upload(file: BinaryIO, name: str, asked: UploadForm, most: int) -> LogAnalysis:
    """Analyze an uploaded log file to find its best arm.

    The call blocks.
    """
    kind = Path(name).suffix.lower()
    if kind not in UPLOAD_KINDS:
        raise InputError(
            f"the file must be CSV, TSV, Parquet or JSON lines ({', '.join(UPLOAD_KINDS)}), "
            f"not {kind or name!r}"
        )
    if not _read_slots.acquire(timeout=10.0):
        raise Problem(
            503, "two other files are being analyzed, which is the maximum: retry later", "StoreError"
        )
    try:
        with tempfile.TemporaryDirectory(prefix="tideproof-") as folder:
            path = Path(folder) / f"upload{kind}"
            _copy(file, path, most)
            try:
                return _analyze_file(str(path), asked)
            except TideproofError as error:  # its message contains the name of the temporary file
                said = str(error).replace(str(path), Path(name).name)
                raise InputError(name_by_labels(said)) from None
    finally:
        _read_slots.release()


def label_report(report: FitReport) -> FitReport:
    """Replace the names of options in the texts of a report by their labels in the upload form."""
    answers, notes, warnings = (
        [name_by_labels(text) for text in texts] for texts in (report.answers, report.notes, report.warnings)
    )
    return replace(report, answers=answers, notes=notes, warnings=warnings)


def _copy(file: BinaryIO, path: Path, most: int) -> None:
    """Copy an uploaded file to a path, and raise an error if it is too large or empty."""
    written = 0
    with path.open("wb") as copy:
        while chunk := file.read(_CHUNK):
            written += len(chunk)
            if written > most:
                raise Problem(413, f"the file is too large: at most {most:,} bytes are allowed")
            copy.write(chunk)
    if not written:
        raise InputError("the file is empty")


def _analyze_file(path: str, asked: UploadForm) -> LogAnalysis:
    """Analyze a log file with the options of the upload form."""
    options = AnalysisOptions(
        columns=ColumnOptions(
            arm=asked.arm,
            environment=asked.environment or "",
            reward=asked.reward,
            successes=asked.successes,
            n=asked.n,
            missing="drop" if asked.drop_missing else "refuse",
            guess=True,
        ),
        statistics=StatisticsOptions(
            direction="minimize" if asked.minimize else "maximize",
            variance=cast(Variance, asked.variance),  # `Fit` checks variance and scale
            scale=cast(ScaleChoice, asked.scale),
            adaptive=asked.adaptive,
        ),
        comparisons=ComparisonOptions(shorter_environments=True),
        spell=label_of,
    )
    with open_files(path, FileGuard(path)) as source:
        return analyze_log(source_dataset(source), options)
