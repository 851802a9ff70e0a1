"""The steps of the analysis of a log: options, columns, statistics by arm, estimates, decision, report.

`tp.fit`, `tideproof analyze` and the upload page call `analyze_log`. `tp.segments`, `tp.metrics` and
`plan --from` need only some of its results. `log_options` contains the options and checks them, and `words`
the sentences.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tideproof.analysis.arm_comparisons import Decision
from tideproof.analysis.arm_lookup import find_arm, match_arm
from tideproof.analysis.fit_result import Fit
from tideproof.analysis.log_options import AnalysisOptions, ColumnOptions
from tideproof.analysis.log_without_environments import TideEstimate, fit_tide_or_bins, most_rows
from tideproof.analysis.look_record import LookRecord
from tideproof.analysis.time_bins import TimeBins
from tideproof.analysis.within_label_test import MOST, WithinLabelTest, compare_with_shorter
from tideproof.data.cell_reader import CellReading, ReadOptions, columns_in_name, read_cells
from tideproof.data.column_guess import ROLES, guess_columns
from tideproof.data.column_spec import ColumnSpec, shorter_environments
from tideproof.data.dataset import Dataset, open_dataset
from tideproof.data.date_order import split_date_order
from tideproof.data.group_by_sql import Progress
from tideproof.errors import InputError
from tideproof.stats.cells import Cells
from tideproof.stats.looks.look_plan import without_record
from tideproof.text import format_count, quote_if_needed

if TYPE_CHECKING:
    from tideproof.analysis.segments import Segments
    from tideproof.analysis.several_metrics import Metrics
    from tideproof.analysis.versus_control import ControlComparison
    from tideproof.analysis.words.analysis_report import FitReport


@dataclass(frozen=True, slots=True)
class LogColumns:
    """The columns that were read from a log, and which columns (arm, environment, reward) were guessed.

    Attributes
    ----------
    others : further columns, by their role.
    """

    arm: str | None
    environment: str | None
    reward: str | None
    guessed: tuple[str, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        said = [*zip(ROLES, (self.arm, self.environment, self.reward), strict=True), *self.others]
        return ", ".join(f"{role} = {quote_if_needed(name)}" for role, name in said if name)

    def to_dict(self) -> dict[str, Any]:
        """Return the column names of arm, environment and reward, and which were guessed, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "others"}


@dataclass(frozen=True, eq=False)
class LogReading:
    """The columns that were read from a log, and the statistics of each arm in each environment.

    Attributes
    ----------
    columns : the columns that were read.
    found : cells of the deciding reward, of all rows and of each segment, and the winsorizing threshold.
    guardrails : cells of each further reward.
    tide, bins : estimated tide, or time bins, of a log without environments.
    inside : test whether the tide moves inside the environments; None if it was not made.
    notes : sentences on rows that were left out, for the report.
    """

    columns: LogColumns
    found: CellReading
    guardrails: dict[str, Cells] = field(default_factory=dict)
    tide: TideEstimate | None = None
    bins: TimeBins | None = None
    inside: WithinLabelTest | None = None
    notes: tuple[str, ...] = ()


class LogSource(ABC):
    """Base class of logs with known columns and default options, such as evaluation logs."""

    @abstractmethod
    def complete_options(self, options: AnalysisOptions) -> AnalysisOptions:
        """Return the analysis options with this kind of log's defaults for those that the user left open."""

    @abstractmethod
    def read_log(self, options: AnalysisOptions) -> LogReading | None:
        """Return reward statistics by arm and environment; None if the log is to be read like any table."""


class AnalysisObserver:
    """Methods that an analysis calls while it runs; subclasses override them to show the progress."""

    def show_columns(self, columns: LogColumns) -> None:
        """Do nothing: subclasses override this method to show the columns that are about to be read."""

    def reading(self) -> AbstractContextManager[Progress | None]:
        """Return a context manager that yields a function to show the progress of reading a log.

        It may yield None instead, so that no progress is shown. The function takes the percentage done.
        """
        return nullcontext()

    def check_cells(self, cells: Cells) -> None:
        """Do nothing: subclasses override this method to refuse a log with too many arms or environments."""

    def working(self, message: str) -> AbstractContextManager[Any]:
        """Return a context manager for the duration of a long computation, which `message` describes."""
        return nullcontext(message)


SILENT = AnalysisObserver()


@contextmanager
def open_log(data: Any, options: AnalysisOptions) -> Iterator[Dataset]:
    """Check the options of an analysis, and open its log (such as a file) unless it is open already."""
    options.check()
    if isinstance(data, Dataset):
        yield data
    else:
        with open_dataset(data, options.columns.table) as rows:
            yield rows


def read_log(data: Any, options: AnalysisOptions, observer: AnalysisObserver = SILENT) -> LogReading:
    """Find the columns of a log, and group its rows by arm and environment."""
    if isinstance(data, LogSource):
        options.check()
        reading = data.read_log(options)
        if reading is not None:
            observer.show_columns(reading.columns)
            return reading
    with open_log(data, options) as rows:
        asked, comparisons = options.columns, options.comparisons
        columns = _find_columns(rows, options)
        observer.show_columns(columns)
        request = _column_spec(columns, asked)
        if asked.hidden_tide:
            time = str(asked.time)
            column, dates = (time, None) if time in rows.columns else split_date_order(time)
            timed = replace(request, environment=column, parts=(column,), dates=dates)
            ordered = rows.timed(timed, most_rows())
            cells, tide, bins = fit_tide_or_bins(ordered)
            observer.check_cells(cells)
            return LogReading(columns, CellReading(cells, {}, None), tide=tide, bins=bins)
        wish = ReadOptions(
            asked.covariate_columns,
            asked.unit or "",
            comparisons.by or "",
            options.statistics.winsorize,
            options.statistics.scale == "log",
        )
        with observer.reading() as progress:
            found = read_cells(rows, request, wish, progress)
            observer.check_cells(found.cells)
            inside = _test_shorter_environments(rows, request, wish, found.cells, options)
            unchanged = replace(wish, winsorize=None)
            guardrails = {
                name: read_cells(rows, replace(request, reward=name), unchanged, progress).cells
                for name in comparisons.guardrails
            }
        return LogReading(columns, found, guardrails, inside=inside)


def _find_columns(rows: Dataset, options: AnalysisOptions) -> LogColumns:
    """Return the names of the columns to read from a log; missing names are guessed if that was requested."""
    asked = options.columns
    others = {
        "time": asked.time,
        "wide": ",".join(asked.wide or ()) if not isinstance(asked.wide, str) else asked.wide,
        "successes": asked.successes,
        "n": asked.n,
        "variance": asked.sample_variance,
        "sd": asked.sd,
    }
    named = tuple((role, name) for role, name in others.items() if name)
    environment = None if asked.environment == "" else asked.environment
    unneeded = {
        "arm": asked.wide,
        "environment": asked.environment is None or asked.hidden_tide,
        "reward": asked.wide or asked.successes,
    }
    given = {"arm": asked.arm, "environment": environment, "reward": asked.reward}
    needed = [role for role in ROLES if not unneeded[role]]
    if not asked.guess or all(given[role] for role in needed):
        return LogColumns(asked.arm, environment, asked.reward, others=named)
    texts = (environment or "", asked.reward or "", asked.n or "", *options.comparisons.guardrails)
    taken = [
        *(asked.n, asked.sample_variance, asked.sd, asked.successes, asked.unit, asked.time),
        *(options.comparisons.by, *asked.covariate_columns, *(asked.wide or ())),
        *(name for text in texts for name in columns_in_name(text, rows.types)),
    ]
    found = guess_columns(
        rows.types,
        asked.arm,
        environment,
        asked.reward,
        needed=needed,
        taken=[name for name in taken if name],
    )
    return LogColumns(*found, others=named)


def _column_spec(columns: LogColumns, asked: ColumnOptions) -> ColumnSpec:
    """Return which columns of a log to read; without an environment column, a column of times replaces it."""
    return ColumnSpec.of(
        columns.arm,
        asked.time if asked.hidden_tide else columns.environment,
        columns.reward,
        n=asked.n,
        variance=asked.sample_variance,
        sd=asked.sd,
        successes=asked.successes,
        missing=asked.missing,
        time_zone=asked.time_zone,
        decimal=asked.decimal,
        wide=asked.wide,
    )


def _test_shorter_environments(
    rows: Dataset, request: ColumnSpec, wish: ReadOptions, cells: Cells, options: AnalysisOptions
) -> WithinLabelTest | None:
    """Test whether the mean reward of all arms changes within environments, such as during a day.

    Return None if the test is not requested, or if the options or columns of the log do not allow it.

    A large log is tested only if a time column is given, because the test takes long.
    """
    time = options.columns.time
    if time is None and not (options.comparisons.shorter_environments and cells.n.sum() <= MOST):
        return None
    plain = not (wish.by or wish.unit or wish.covariates or wish.winsorize or request.n or request.wide)
    shorter = shorter_environments(request.environment, time, rows.columns) if request.environment else []
    return compare_with_shorter(rows, request, cells, shorter) if plain and shorter else None


@dataclass(frozen=True, eq=False)
class LogAnalysis:
    """Result of the analysis of a log: its columns, statistics, estimates of the arms, decision and report.

    Attributes
    ----------
    options : the options of the analysis.
    reading : the columns and the cells of the log.
    fit : the fit of the deciding reward.
    guardrails : the fit of each further reward.
    """

    options: AnalysisOptions
    reading: LogReading
    fit: Fit
    guardrails: dict[str, Fit]

    @property
    def columns(self) -> LogColumns:
        """The columns that were read from the log."""
        return self.reading.columns

    @property
    def cells(self) -> Cells:
        """Statistics by arm and environment of the metric that decides, before outliers are excluded."""
        return self.reading.found.cells

    @property
    def decision(self) -> Decision:
        """The decision on the best arm, with the reason if no winner can be named, as the report says it."""
        return self.report.fit.decision

    @cached_property
    def control(self) -> Any:
        """The arm with which all other arms are compared, or None if no control arm was given."""
        control = self.options.comparisons.control
        return None if control is None else find_arm(control, self.fit.cells.arms)

    @cached_property
    def against(self) -> ControlComparison | None:
        """The comparison of all other arms with the control arm, or None if no control arm was given."""
        if self.control is None:
            return None
        from tideproof.analysis.versus_control import ControlComparison, against

        return ControlComparison(self.control, against(self.fit, self.control))

    @cached_property
    def metrics(self) -> Metrics | None:
        """The comparison of arms in several reward columns; None if there is only one reward column."""
        if not self.guardrails:
            return None
        from tideproof.analysis.several_metrics import combine_metrics

        return combine_metrics({str(self.columns.reward): self.fit, **self.guardrails}, self.control)

    @cached_property
    def segments(self) -> Segments | None:
        """The separate analyses of segments of the rows, such as countries; None if not requested."""
        if self.options.comparisons.by is None:
            return None
        from tideproof.analysis.segments import fit_segments

        return fit_segments(self.reading.found, self.options, self.fit.direction)

    @cached_property
    def expected(self) -> dict[Any, float] | None:
        """The intended share of each arm in the traffic; None if no shares were given."""
        shares, arms = self.options.comparisons.expected, self.fit.cells.arms
        if shares is None:
            return None
        if not isinstance(shares, Sequence):
            return {match_arm(arm, arms): share for arm, share in shares.items()}
        if len(shares) != len(arms):
            said, listed = (
                ":".join(f"{share:g}" for share in shares),
                ", ".join(map(quote_if_needed, arms[:20])),
            )
            name = self.options.spell("expected")
            raise InputError(
                f"{name} {said} has {len(shares)} shares, but there are {len(arms)} arms: {listed}"
            )
        return dict(zip(arms, shares, strict=True))

    @cached_property
    def report(self) -> FitReport:
        """The report of the analysis in words: verdict, notes, warnings, and answers to usual questions."""
        from tideproof.analysis.words.analysis_report import ExtraParts, describe_fit

        expected = self.expected
        extra = ExtraParts(
            against=self.against,
            metrics=self.metrics,
            segments=self.segments,
            sample_ratio=None if expected is None else self.fit.sample_ratio(expected),
            winsorizing=self.reading.found.winsorizing,
            single_rows=True,
        )
        return describe_fit(self.fit, extra)

    def to_dict(self) -> dict[str, Any]:
        """Return all results of the analysis of a log as a dictionary of plain values, for JSON."""
        return self.report.to_dict() | {"columns": self.columns.to_dict()}


def analyze_log(data: Any, options: AnalysisOptions, observer: AnalysisObserver = SILENT) -> LogAnalysis:
    """Read a log from any source and estimate the mean of each arm; the report is made on its first use."""
    if isinstance(data, LogSource):
        options = data.complete_options(options)
    reading = read_log(data, options, observer)
    low, reward = options.comparisons.low, reading.columns.reward
    lower = options.statistics.direction == "minimize" or reward in low
    with observer.working(f"comparing {format_count(len(reading.found.cells.arms), 'arm')}"):
        options = _record_look(reading, options, lower)
        fit = _fit_cells(reading.found.cells, options, lower, reading)
        guardrails = {
            name: _fit_cells(cells, options, name in low) for name, cells in reading.guardrails.items()
        }
    return LogAnalysis(options, reading, fit, guardrails)


def _record_look(reading: LogReading, options: AnalysisOptions, lower: bool) -> AnalysisOptions:
    """Add this analysis of a growing log to a file of planned analyses; return options with the past ones."""
    asked = options.statistics
    if asked.looks is None or asked.looks.file is None:
        return options
    once = replace(options, statistics=replace(asked, looks=None))
    variances = _fit_cells(reading.found.cells, once, lower, reading).pair_variances()
    record = LookRecord.open(asked.looks, asked.confidence)
    plan = record.resolve(asked.looks, variances)
    record.with_look(plan, variances).save(asked.looks.file)
    return replace(options, statistics=replace(asked, looks=plan))


def _fit_cells(cells: Cells, options: AnalysisOptions, lower: bool, reading: LogReading | None = None) -> Fit:
    """Estimate the arm means from statistics of one reward column.

    `lower` says whether low rewards are good. `reading` is given for the deciding reward only: its tide, time
    bins and direction do not apply to guardrails, which are maximized unless `lower`.
    """
    asked = options.statistics
    return Fit(
        cells,
        direction="minimize" if lower else asked.direction if reading else "maximize",
        adaptive=asked.adaptive,
        confidence=asked.confidence,
        variance=options.variance,
        scale=asked.scale,
        prior=asked.prior,
        anytime=asked.anytime,
        tide=None if reading is None else reading.tide,
        bins=None if reading is None else reading.bins,
        inside=None if reading is None else reading.inside,
        robust=asked.robust,
        about=options.about,
        looks=asked.looks if reading is not None or asked.looks is None else without_record(asked.looks),
        winsorized=reading is not None and reading.found.winsorizing is not None,
        notes=() if reading is None else reading.notes,
    )
