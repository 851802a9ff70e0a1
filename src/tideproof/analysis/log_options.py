"""Options for reading a log, shared by `fit`, `segments` and `metrics`, and a function that applies them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypedDict, Unpack

from tideproof.data import Decimal, Missing
from tideproof.data.cell_reader import ReadOptions
from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import Dataset, open_dataset
from tideproof.errors import InputError
from tideproof.stats.variance.variance_models import Variance


class LogOptions(TypedDict, total=False):
    """Options for reading a log; `fit` describes each of them."""

    n: str | None
    sample_variance: str | None
    sd: str | None
    successes: str | None
    wide: Sequence[str] | None
    table: str | None
    missing: Missing
    time_zone: str | None
    decimal: Decimal | None
    covariates: str | Sequence[str]
    unit: str | None
    cap: float | None


@contextmanager
def open_log(
    data: Any,
    arm: str | None,
    environment: str | None,
    reward: str | None,
    by: str = "",
    logs: bool | None = False,
    **options: Unpack[LogOptions],
) -> Iterator[tuple[Dataset, ColumnSpec, ReadOptions]]:
    """Open a log, and return it with its columns and options; `logs` is described in `ReadOptions`."""
    covariates = options.pop("covariates", ())
    wish = ReadOptions(
        (covariates,) if isinstance(covariates, str) else tuple(covariates),
        options.pop("unit", None) or "",
        by,
        options.pop("cap", None),
        logs,
    )
    table = options.pop("table", None)
    names: Any = options
    request = ColumnSpec.of(arm, environment, reward, variance=names.pop("sample_variance", None), **names)
    with open_dataset(data, table) as rows:
        yield rows, request, wish


def variance_with_units(variance: Variance, options: LogOptions) -> Variance:
    """Return the variance model; with a `unit` column it is always "by-unit"."""
    if not options.get("unit"):
        return variance
    if variance not in ("auto", "common", "by-unit"):
        raise InputError(f"unit= (--unit) uses variance='by-unit'; leave out variance={variance!r}")
    return "by-unit"
