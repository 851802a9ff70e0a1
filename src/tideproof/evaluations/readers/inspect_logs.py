"""Reader of evaluation logs of Inspect (inspect_ai): `.eval` archives and `.json` files.

An archive holds `header.json` and `summaries.json`, with one small record for each sample and epoch. A run
that was cut off has `_journal/start.json` and `_journal/summaries/*.json` instead. Transcripts are never
read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tideproof.errors import InputError
from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import (
    UNKNOWN_ERROR,
    LogRow,
    group_in,
    read_amount,
    read_score,
)

NAME = "Inspect (.eval, .json)"
_HEADER, _START = "header.json", "_journal/start.json"
_SUMMARIES, _JOURNAL = "summaries.json", "_journal/summaries/"


def is_format(file: LogFile) -> bool:
    """Return whether a file is an evaluation log of Inspect."""
    if file.is_zip:
        names = file.members()
        return _HEADER in names or _START in names
    found = file.document
    return isinstance(found, dict) and isinstance(found.get("eval"), dict) and "model" in found["eval"]


def read_rows(file: LogFile, group: str | None = None) -> Iterator[LogRow]:
    """Yield a row for each score of each sample in a log of Inspect; a metadata field gives the group."""
    spec, samples = (
        _read_archive(file) if file.is_zip else (file.document["eval"], file.document.get("samples") or [])
    )
    model, task = str(spec["model"]), str(spec.get("task_display_name") or spec.get("task") or "")
    for sample in samples:
        row = LogRow(
            model,
            str(sample["id"]),
            None,
            task,
            sample.get("epoch", 1),
            group_in(sample.get("metadata"), group),
            tokens=_usage(sample, model, "total_tokens"),
            seconds=read_amount(sample.get("working_time") or sample.get("total_time")),
            dollars=_usage(sample, model, "total_cost"),
        )
        if failure := _failure(sample):
            yield row._replace(error=failure)
            continue
        scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
        if not scores:
            yield row
        for grader, score in scores.items():
            value = score.get("value") if isinstance(score, Mapping) else score
            if isinstance(value, Mapping):
                for key, part in value.items():
                    yield row._replace(grader=f"{grader}/{key}", score=read_score(part))
            else:
                yield row._replace(grader=grader, score=read_score(value))


def _read_archive(file: LogFile) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the settings of an evaluation and its sample summaries, from a `.eval` archive of Inspect."""
    names = file.members()
    header = file.member(_HEADER if _HEADER in names else _START)
    if "eval" not in header:
        raise InputError(f"{file}: the header has no field 'eval'; the file may be damaged")
    if _SUMMARIES in names:
        return header["eval"], file.member(_SUMMARIES)
    parts = [name for name in names if name.startswith(_JOURNAL)]
    parts.sort(key=lambda name: int(name.removeprefix(_JOURNAL).removesuffix(".json")))
    return header["eval"], [sample for name in parts for sample in file.member(name)]


def _failure(sample: Mapping[str, Any]) -> str | None:
    """Return the error message of a sample; None if it has none and remains valid."""
    error = sample.get("error")
    if error:
        return str(error.get("message") or UNKNOWN_ERROR) if isinstance(error, Mapping) else str(error)
    return "invalidated" if sample.get("invalidation") else None


def _usage(sample: Mapping[str, Any], model: str, field: str) -> float | None:
    """Return the tokens or the cost of the evaluated model, without those of graders; None if unknown."""
    usage = sample.get("model_usage")
    if not isinstance(usage, Mapping) or not usage:
        return None
    parts = [usage[model]] if model in usage else list(usage.values())
    amounts = [read_amount(part.get(field)) for part in parts]
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None
