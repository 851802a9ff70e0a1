"""Reader of test runs of DeepEval (JSON files in DEEPEVAL_RESULTS_FOLDER).

A test case has one entry for each metric. The evaluated model is no field of its own: it is the
hyperparameter "model", or else the name of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import LogRow, group_in, read_amount, read_score

NAME = "DeepEval (test_run .json)"
_CASES = ("testCases", "test_cases")
_METRICS = ("metricsData", "metrics_data")


def is_format(file: LogFile) -> bool:
    """Return whether a file holds a test run of DeepEval."""
    return isinstance(file.document, dict) and _cases(_run(file.document)) is not None


def read_rows(file: LogFile, group: str | None = None) -> Iterator[LogRow]:
    """Yield a row for each metric of each test case in a DeepEval file; a metadata field gives the group."""
    run = _run(file.document)
    settings = run.get("hyperparameters")
    named = settings.get("model") if isinstance(settings, Mapping) else None
    model = str(named or file.path.stem)
    seen: Counter[str] = Counter()
    for case in _cases(run) or []:
        item = str(case.get("input") or case.get("name"))
        seen[item] += 1
        fields = case.get("additionalMetadata") or case.get("additional_metadata")
        row = LogRow(
            model,
            item,
            None,
            str(run.get("testFile") or run.get("identifier") or ""),
            seen[item],
            group_in(fields, group),
            tokens=read_amount(case.get("tokenCost")),
            seconds=read_amount(case.get("completionTime")),
        )
        metrics = _first(case, _METRICS) or []
        if not metrics:
            yield row
        for metric in metrics:
            error = metric.get("error")
            grader = str(metric.get("name") or "")
            if error:
                yield row._replace(grader=grader, error=str(error))
            else:
                yield row._replace(grader=grader, score=read_score(metric.get("score")))


def _run(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the test run that a JSON document of DeepEval contains."""
    inner = document.get("testRunData")
    return inner if isinstance(inner, dict) else document


def _cases(run: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return the test cases of a DeepEval run; None if it has none."""
    found = _first(run, _CASES)
    return found if isinstance(found, list) else None


def _first(fields: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """Return the value of the first of several fields that a JSON object has; None without any."""
    return next((fields[name] for name in names if name in fields), None)
