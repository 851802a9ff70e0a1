"""Reader of evaluation logs of OpenAI evals: JSON lines with a specification first, then events.

Scores are events of type "match" (field `correct`) and "metrics" (one number or more). Repeated samples of an
item have the same `sample_id`. Events of type "sampling" may hold the tokens of a sample.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import (
    UNKNOWN_ERROR,
    LogRow,
    group_in,
    read_amount,
    read_score,
)

NAME = "OpenAI evals (.jsonl)"


def is_format(file: LogFile) -> bool:
    """Return whether a file is an evaluation log of OpenAI evals."""
    first = file.first_record
    return (
        isinstance(first, dict) and isinstance(first.get("spec"), dict) and "completion_fns" in first["spec"]
    )


def read_rows(file: LogFile, group: str | None = None) -> Iterator[LogRow]:
    """Yield a row for each score of each sample in a log of OpenAI evals; a data field gives the group."""
    records = file.records()
    spec = next(records)["spec"]
    functions = spec["completion_fns"]
    model = ",".join(functions) if isinstance(functions, list) else str(functions)
    task = str(spec.get("eval_name") or spec.get("base_eval") or "")
    tokens: dict[str, float] = defaultdict(float)
    errors: dict[str, str] = {}
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for event in records:
        sample, data, kind = event.get("sample_id"), event.get("data"), event.get("type")
        if sample is None or not isinstance(data, Mapping):
            continue
        if kind == "sampling":
            tokens[sample] += _tokens(data) or 0.0
        elif kind == "error":
            errors[sample] = str(data.get("message") or data.get("error") or UNKNOWN_ERROR)
        for grader, value in _scores(kind, data):
            seen[sample, grader] += 1
            row = LogRow(model, str(sample), read_score(value), task, seen[sample, grader], grader=grader)
            rows.append((sample, row._replace(group=group_in(data, group))))
    scored = {sample for sample, _ in rows}
    for sample, row in rows:
        count = seen[sample, row.grader]
        yield row._replace(tokens=tokens[sample] / count if tokens.get(sample) else None)
    for sample, message in errors.items():
        if sample not in scored:
            yield LogRow(model, str(sample), None, task, error=message)


def _scores(kind: Any, data: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the named scores in an event of an OpenAI evals log; empty for events without scores."""
    if kind == "match":
        return [("match", data.get("correct"))]
    if kind == "metrics":
        return [(name, value) for name, value in data.items() if read_score(value) is not None]
    return []


def _tokens(data: Mapping[str, Any]) -> float | None:
    """Return the tokens of a recorded call of the model; None if they are unknown."""
    usage = data.get("usage")
    return read_amount(usage.get("total_tokens")) if isinstance(usage, Mapping) else None
