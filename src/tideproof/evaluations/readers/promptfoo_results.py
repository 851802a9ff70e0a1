"""Reader of evaluation results of promptfoo (`promptfoo eval -o results.json`).

An arm is a provider, with its prompt if there are several. Repetitions have an index of their own, so the
item is the text of its variables. `failureReason` 2 is an error, such as a failed call, and not a failed
test.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import (
    UNKNOWN_ERROR,
    LogRow,
    group_in,
    read_amount,
    read_score,
    text_of,
)

NAME = "promptfoo (results .json)"
_ERROR = 2
_LONGEST = 60  # characters of a prompt in the name of an arm


def is_format(file: LogFile) -> bool:
    """Return whether a file holds evaluation results of promptfoo."""
    found = file.document
    return isinstance(found, dict) and bool(_results(found)) and "provider" in _results(found)[0]


def read_rows(file: LogFile, group: str | None = None) -> Iterator[LogRow]:
    """Yield a row for each result in a promptfoo file; a variable or metadata field gives the group."""
    results = _results(file.document)
    several = len({result.get("promptIdx", 0) for result in results}) > 1
    seen: Counter[tuple[str, str]] = Counter()
    for result in results:
        test = result.get("testCase") or {}
        fields = result.get("vars") or test.get("vars") or {}
        model = _provider(result["provider"])
        if several:
            model = f"{model} | {_prompt(result)}"
        named = fields or text_of(result.get("description") or test.get("description"))
        item = json.dumps(named if named else result.get("testIdx"), sort_keys=True, default=str)
        seen[model, item] += 1
        response = result.get("response")
        response = response if isinstance(response, Mapping) else {}
        usage = response.get("tokenUsage") or result.get("tokenUsage") or {}
        latency = read_amount(result.get("latencyMs"))
        row = LogRow(
            model,
            item,
            None,
            sample=seen[model, item],
            group=group_in(fields, group) or group_in(test.get("metadata"), group),
            tokens=read_amount(usage.get("total")),
            seconds=None if latency is None else latency / 1000.0,
            dollars=read_amount(result.get("cost")),
        )
        if result.get("failureReason") == _ERROR or ("score" not in result and result.get("error")):
            yield row._replace(error=str(result.get("error") or UNKNOWN_ERROR))
        else:
            yield row._replace(score=read_score(result.get("score", result.get("success"))))


def _results(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the list of results in a promptfoo document of any version; empty for other documents."""
    found = document.get("results")
    if isinstance(found, dict):
        found = found.get("results")
    return found if isinstance(found, list) and found and isinstance(found[0], dict) else []


def _provider(provider: Any) -> str:
    """Return the label of a model provider in a promptfoo file, or its ID."""
    if isinstance(provider, Mapping):
        return str(provider.get("label") or provider.get("id"))
    return str(provider)


def _prompt(result: Mapping[str, Any]) -> str:
    """Return a short name of the prompt of a result: the beginning of its label, or its number."""
    prompt = result.get("prompt")
    label = prompt.get("label") or prompt.get("raw") if isinstance(prompt, Mapping) else None
    number = f"prompt {result.get('promptIdx', 0) + 1}"
    return f"{number}: {str(label)[:_LONGEST]}" if label else number
