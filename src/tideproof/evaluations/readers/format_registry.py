"""List of the supported formats of evaluation logs, and detection of the format of a file."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Protocol, cast

from tideproof.errors import InputError
from tideproof.evaluations.readers import (
    deepeval_runs,
    helm_runs,
    inspect_logs,
    lm_eval_samples,
    openai_evals_records,
    plain_table,
    promptfoo_results,
)
from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import LogRow


class LogFormat(Protocol):
    """Protocol of the reader of one evaluation log format: functions that recognize and read a file."""

    NAME: str

    def is_format(self, file: LogFile, /) -> bool:
        """Return whether a file has the evaluation log format of this reader."""

    def read_rows(self, file: LogFile, group: str | None = None, /) -> Iterator[LogRow]:
        """Yield the scores in an evaluation log file; `group` is the field with the group of an item."""


_MODULES: tuple[ModuleType, ...] = (
    inspect_logs, helm_runs, lm_eval_samples, openai_evals_records, promptfoo_results, deepeval_runs,
)  # fmt: skip
FORMATS: tuple[LogFormat, ...] = tuple(cast(LogFormat, module) for module in _MODULES)


def detect_format(file: LogFile) -> LogFormat | None:
    """Return the evaluation log format of a file or folder; None if it has no known format."""
    return next((each for each in FORMATS if each.is_format(file)), None)


def unknown_format_error(file: LogFile) -> InputError:
    """Return the error for a file of an unknown format, which lists the known ones."""
    known = "; ".join([*(each.NAME for each in FORMATS), plain_table.NAME])
    return InputError(f"{file} is no evaluation log of a known format. Known formats: {known}")
