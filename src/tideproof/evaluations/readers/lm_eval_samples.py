"""Reader of sample logs of lm-evaluation-harness: `samples_TASK_DATE.jsonl`.

The file has one line for each document and filter. The name of the model stands only in `results_DATE.json`
beside it, and, with changed characters, in the name of the folder. The metrics of a line are the fields that
`metrics` lists. Metrics of a corpus, such as perplexity, are lists and no scores.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import LogRow, group_in, read_score

NAME = "lm-evaluation-harness (samples_*.jsonl)"
_METRICS = ("acc", "acc_norm", "exact_match", "pass@1", "f1")  # of versions that do not list metrics
_DATE = re.compile(r"_(\d{4}-\d\d-\d\dT[\d\-.:]+)$")


def is_format(file: LogFile) -> bool:
    """Return whether a file is a log of samples of lm-evaluation-harness."""
    first = file.first_record
    return isinstance(first, dict) and "doc_id" in first and ("resps" in first or "filtered_resps" in first)


def read_rows(file: LogFile, group: str | None = None) -> Iterator[LogRow]:
    """Yield a row for each metric of each document in a log of lm-evaluation-harness."""
    stem = file.path.name.removesuffix(".gz").removesuffix(".jsonl").removeprefix("samples_")
    task, model = _DATE.sub("", stem), _model_name(file.path, stem)
    for line in file.records():
        names = line.get("metrics") or [name for name in _METRICS if name in line]
        chosen = str(line.get("filter") or "none")
        doc = line.get("doc")
        row = LogRow(model, f"{line['doc_id']}{_short_hash(line)}", None, task, group=group_in(doc, group))
        if not names:
            yield row
        for name in names:
            grader = name if chosen == "none" else f"{name},{chosen}"
            yield row._replace(grader=grader, score=read_score(line.get(name)))


def _short_hash(line: Mapping[str, Any]) -> str:
    """Return the first digits of a document's hash, so that changed data sets are not mixed up."""
    found = line.get("doc_hash")
    return f"-{found[:8]}" if isinstance(found, str) else ""


def _model_name(path: Path, stem: str) -> str:
    """Return the name of the evaluated model, from the results file or the name of the folder."""
    folder, date = path.absolute().parent, _DATE.search(stem)
    results = folder / f"results_{date[1]}.json" if date else None
    if results is not None and results.is_file():
        try:
            found = json.loads(results.read_text(encoding="utf-8"))
        except ValueError:
            found = {}
        if isinstance(found, dict) and found.get("model_name"):
            return str(found["model_name"])
    return folder.name
