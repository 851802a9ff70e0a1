"""The function `read_evals`, which reads evaluation logs of any known format into one table."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tideproof.errors import InputError, UnknownName
from tideproof.evaluations.evaluation_log import COSTS, EvaluationLog
from tideproof.evaluations.readers.format_registry import detect_format, unknown_format_error
from tideproof.evaluations.readers.log_file import LogFile
from tideproof.evaluations.readers.log_row import LogRow
from tideproof.evaluations.readers.plain_table import TABLE_SUFFIXES, read_columns
from tideproof.text import join_names

ALL_GRADERS = "all"
_PATTERNS = ("*.eval", "samples_*.jsonl", "*.json", "*.jsonl")  # what a folder of logs may hold
PathLike = str | os.PathLike[str]


def read_evals(
    paths: PathLike | Iterable[PathLike] | Mapping[str, PathLike | Iterable[PathLike]],
    *,
    grader: str | None = None,
    group: str | None = None,
    repeats: bool = False,
    columns: Mapping[str, str] | None = None,
) -> EvaluationLog:
    r"""Read evaluation logs of language models into one table of scores, which `fit` analyzes.

    The format of each file is detected: Inspect (`.eval`, also compressed with Zstandard, and `.json`),
    lm-evaluation-harness (`samples_*.jsonl`), promptfoo, OpenAI evals, DeepEval and HELM; or a plain table
    (CSV, TSV, Parquet or JSON lines) with columns such as model, item and score. Samples with an error, and
    samples without a score, have no score in the table, and are counted in `EvaluationLog.counts`.

    Parameters
    ----------
    paths
        A file, a folder, a glob pattern, or several of them. A mapping gives arms their names, for example
        different prompts of one model: `{"short": "a.eval", "long": "b.eval"}`.
    grader
        Name of the scorer or metric whose scores are read; "all" for all of them, as judges of the same item.
        By default the first one of each task.
    group
        Field of the items, in their metadata, document or variables, that names the group of an item, such as
        its passage. Items of one group may depend on each other.
    repeats
        Whether several runs of the same model are repeated samples. Otherwise they are refused.
    columns
        For plain tables: which column is the model, item, score, and so on, such as `{"model": "name"}`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "scores.csv")
    >>> _ = path.write_text("model,item,score\na,1,0\nb,1,1\na,2,1\nb,2,\n")
    >>> read_evals(path)
    model  item  score
    a         1  0.000
    b         1  1.000
    a         2  1.000
    b         2      –
    """
    named = paths.items() if isinstance(paths, Mapping) else [(None, paths)]
    rows: list[LogRow] = []
    tables: list[dict[str, Sequence[Any]]] = []
    found = [(name, file) for name, part in named for file in find_files(part)]
    if not found:
        raise InputError("read_evals needs at least one path; there is none")
    for name, file in found:
        kind = detect_format(file)
        if kind is not None:
            own: Iterable[LogRow] = kind.read_rows(file, group)
            rows += own if name is None else (row._replace(model=name) for row in own)
        elif file.suffix in TABLE_SUFFIXES and not file.is_folder:
            named_columns = dict(columns or {}) | ({"group": group} if group else {})
            table: dict[str, Sequence[Any]] = dict(read_columns(file, named_columns))
            tables.append(table if name is None else table | {"model": [name] * len(table["score"])})
        else:
            raise unknown_format_error(file)
    if tables and rows:
        raise InputError("plain tables and logs of an evaluation harness cannot be read together")
    if tables:
        return _from_tables(tables, grader, repeats)
    if not rows:
        raise InputError(f"the evaluation log {found[0][1]} is empty: it has no sample")
    if group is not None and all(row.group is None for row in rows):
        raise InputError(f"no sample of the evaluation logs has a field {group!r} that names its group")
    return _from_rows(rows, grader, repeats)


def find_files(paths: PathLike | Iterable[PathLike]) -> list[LogFile]:
    """Return the evaluation log files at a path, in a folder, or at one or several glob patterns."""
    if isinstance(paths, str | os.PathLike):
        return list(_expand(os.fspath(paths)))
    return [file for path in paths for file in _expand(os.fspath(path))]


def is_evaluation_log(path: str) -> bool:
    """Return whether a path, folder or glob pattern holds logs of a known evaluation harness."""
    if "://" in path or path == "-":
        return False
    try:
        files = list(_expand(path))
    except (InputError, OSError):
        return False
    return bool(files) and detect_format(files[0]) is not None


def _expand(path: str) -> Iterator[LogFile]:
    """Yield the files for one path: the file itself, the logs in a folder, or those a pattern matches."""
    whole = LogFile(Path(path))
    if not whole.path.exists():
        names = sorted(glob.glob(path, recursive=True))
        if not names:
            raise InputError(
                f"{path} does not exist: give the path of an evaluation log, a folder or a pattern"
            )
        for name in names:
            yield from _expand(name)
    elif not whole.is_folder or detect_format(whole) is not None:
        yield whole
    else:
        inside = sorted({found for pattern in _PATTERNS for found in whole.path.rglob(pattern)})
        folders = sorted({found.parent for found in whole.path.rglob("per_instance_stats.json")})
        files = [LogFile(folder) for folder in folders]
        files += [LogFile(found) for found in inside if found.parent not in folders]
        logs = [file for file in files if detect_format(file) is not None]
        if not logs:
            raise InputError(f"the folder {path} contains no evaluation log of a known format")
        yield from logs


def _from_rows(rows: list[LogRow], grader: str | None, repeats: bool) -> EvaluationLog:
    """Return an evaluation log of the scores by one grader for each task."""
    remarks = []
    graders: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.grader:
            graders.setdefault(row.task, {})[row.grader] = None
    every = list(dict.fromkeys(name for names in graders.values() for name in names))
    if grader is not None and grader != ALL_GRADERS:
        if grader not in every:
            raise UnknownName.with_suggestion("grader", grader, [*every, ALL_GRADERS])
        rows = [row for row in rows if row.grader in ("", grader)]
    elif grader is None:
        first = {task: next(iter(names)) for task, names in graders.items()}
        rows = [row for row in rows if not row.grader or row.grader == first[row.task]]
        if len(every) > len(set(first.values())):
            chosen = join_names(list(dict.fromkeys(map(repr, first.values()))))
            left = join_names([repr(name) for name in every if name not in first.values()])
            remarks.append(
                f"Scores are those of {chosen}; the log also has {left}, which grader= (--grader) chooses."
            )
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in ("model", "item", "sample")
    }
    for name in ("group", "task", "grader", "score", *COSTS, "error"):
        values = [getattr(row, name) for row in rows]
        if name == "score" or any(value not in (None, "") for value in values):
            columns[name] = values
    if "grader" in columns and len(set(columns["grader"]) - {""}) == 1:
        del columns["grader"]
    if repeats:
        columns["sample"] = _renumber(columns)
    return EvaluationLog(columns, remarks)


def _renumber(columns: Mapping[str, list[Any]]) -> list[int]:
    """Number the scores of the same model, item and grader: 1, 2, ..."""
    seen: dict[tuple[Any, ...], int] = {}
    found, names = [], ("model", "task", "group", "item", "grader")
    for key in zip(*(columns[name] for name in names if name in columns), strict=True):
        seen[key] = seen.get(key, 0) + 1
        found.append(seen[key])
    return found


def _from_tables(tables: list[dict[str, Sequence[Any]]], grader: str | None, repeats: bool) -> EvaluationLog:
    """Join plain tables of scores, and keep the scores of one grader."""
    names = list(dict.fromkeys(name for table in tables for name in table))
    columns = {
        name: [value for table in tables for value in table.get(name, [None] * len(table["score"]))]
        for name in names
    }
    if grader is not None and grader != ALL_GRADERS:
        known = list(dict.fromkeys(columns.get("grader", [])))
        if grader not in known:
            raise UnknownName.with_suggestion("grader", grader, [*known, ALL_GRADERS])
        kept = [i for i, name in enumerate(columns["grader"]) if name == grader]
        columns = {name: [values[i] for i in kept] for name, values in columns.items()}
    if repeats:
        columns["sample"] = _renumber(columns)
    return EvaluationLog(columns)
