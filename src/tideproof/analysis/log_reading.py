"""First half of the pipeline: from a source and the options to the columns and the cells of a log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from tideproof.analysis.log_options import AnalysisOptions, ColumnOptions
from tideproof.analysis.scale_selection import needs_logs
from tideproof.analysis.time_bins import TimeBins
from tideproof.analysis.unlabelled_log import TideEstimate, fit_tide_or_bins, most_rows
from tideproof.analysis.within_label_test import MOST, WithinLabelTest, compare_with_shorter
from tideproof.data.cell_reader import CellReading, ReadOptions, columns_in_name, read_cells
from tideproof.data.column_guess import ROLES, guess_columns
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import Dataset, Progress, open_dataset
from tideproof.stats.cells import Cells


@dataclass(frozen=True, slots=True)
class LogColumns:
    """The columns that were read, and which of the first three were guessed.

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
        return ", ".join(f"{role} = {name}" for role, name in said if name)

    def to_dict(self) -> dict[str, Any]:
        """Return arm, environment, reward and which of them were guessed, for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "others"}


@dataclass(frozen=True, eq=False)
class LogReading:
    """Columns and cells of a log.

    Attributes
    ----------
    columns : the columns that were read.
    found : cells of the deciding reward, of all rows and of each segment, and the winsorizing threshold.
    guardrails : cells of each further reward.
    tide, bins : estimated tide, or time bins, of a log without environments.
    inside : test whether the tide moves inside the environments; None if it was not made.
    """

    columns: LogColumns
    found: CellReading
    guardrails: dict[str, Cells] = field(default_factory=dict)
    tide: TideEstimate | None = None
    bins: TimeBins | None = None
    inside: WithinLabelTest | None = None


class AnalysisObserver:
    """Functions that an analysis calls while it runs; a command overrides them to show what happens."""

    def show_columns(self, columns: LogColumns) -> None:
        """Take note of the columns, before the log is read."""

    def reading(self) -> AbstractContextManager[Progress | None]:
        """Return a context for the time of reading, with a function that takes the percentage done."""
        return nullcontext()

    def working(self, message: str) -> AbstractContextManager[Any]:
        """Return a context for the time of a longer computation."""
        return nullcontext(message)


SILENT = AnalysisObserver()


@contextmanager
def open_log(data: Any, options: AnalysisOptions) -> Iterator[Dataset]:
    """Check the options, and open a log; one that is open already, as a `Dataset`, is used unchanged."""
    options.check()
    if isinstance(data, Dataset):
        yield data
    else:
        with open_dataset(data, options.columns.table) as rows:
            yield rows


def read_log(data: Any, options: AnalysisOptions, observer: AnalysisObserver = SILENT) -> LogReading:
    """Find the columns of a log, and group its rows into cells."""
    with open_log(data, options) as rows:
        asked, comparisons = options.columns, options.comparisons
        columns = _find_columns(rows, options)
        observer.show_columns(columns)
        request = _column_spec(columns, asked)
        logs = needs_logs(options.statistics.scale, options.variance)
        if asked.hidden_tide:
            time = str(asked.time)
            ordered = rows.timed(replace(request, environment=time, parts=(time,)), most_rows())
            cells, tide, bins = fit_tide_or_bins(ordered, logs)
            return LogReading(columns, CellReading(cells, {}, None), tide=tide, bins=bins)
        wish = ReadOptions(
            asked.covariate_columns, asked.unit or "", comparisons.by or "", options.statistics.cap, logs
        )
        with observer.reading() as progress:
            found = read_cells(rows, request, wish, progress)
            inside = _test_shorter_environments(rows, request, wish, found.cells, options)
            uncapped = replace(wish, cap=None)
            guardrails = {
                name: read_cells(rows, replace(request, reward=name), uncapped, progress).cells
                for name in comparisons.guardrails
            }
        return LogReading(columns, found, guardrails, inside=inside)


def _find_columns(rows: Dataset, options: AnalysisOptions) -> LogColumns:
    """Return the columns of a log; those that are not given are guessed if that was requested."""
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
    environment = asked.environment or None
    if not asked.guess:
        return LogColumns(asked.arm, environment, asked.reward, others=named)
    unneeded = {
        "arm": asked.wide,
        "environment": asked.environment is None or asked.hidden_tide,
        "reward": asked.wide or asked.successes,
    }
    texts = (environment or "", asked.reward or "", *options.comparisons.guardrails)
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
        needed=[role for role in ROLES if not unneeded[role]],
        taken=[name for name in taken if name],
    )
    return LogColumns(*found, others=named)


def _column_spec(columns: LogColumns, asked: ColumnOptions) -> ColumnSpec:
    """Return the specification of the columns to read; with a hidden tide the times replace environments."""
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
    """Test whether the shift changes within environments, if that is requested and the log allows it.

    A large log is tested only if a time column is given, because the test takes long.
    """
    time = options.columns.time
    if time is None and not (options.comparisons.shorter_environments and cells.n.sum() <= MOST):
        return None
    plain = not (wish.by or wish.unit or wish.covariates or wish.cap or request.n or request.wide)
    return compare_with_shorter(rows, request, cells, time) if plain and request.environment else None
