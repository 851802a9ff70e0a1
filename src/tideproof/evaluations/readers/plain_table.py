"""Reader of a plain table of scores: a CSV, TSV, Parquet or JSON lines file with one row per score.

A table counts as an evaluation log only if the user says so. Its columns are recognized by their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from tideproof.errors import InputError, UnknownName
from tideproof.evaluations.readers.log_file import LogFile
from tideproof.text import join_names

NAME = "table with columns model, item and score (.csv, .tsv, .parquet, .jsonl)"
TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson", ".json")
COLUMN_NAMES = {  # the names under which each column of an evaluation log is recognized
    "model": ("model", "arm", "variant", "provider", "agent", "prompt", "system", "model_name"),
    "item": (
        *("item", "item_id", "question", "question_id", "id", "sample_id", "doc_id", "example", "example_id"),
        *("instance", "instance_id", "prompt_id", "task_id"),
    ),
    "score": ("score", "correct", "is_correct", "accuracy", "acc", "exact_match", "reward", "passed", "pass"),
    "task": ("task", "dataset", "benchmark", "subject"),
    "sample": ("sample", "epoch", "trial", "seed", "repeat", "repetition", "attempt"),
    "group": ("group", "passage", "passage_id", "cluster", "document", "document_id"),
    "grader": ("grader", "judge", "annotator", "scorer", "rater", "metric"),
    "tokens": ("tokens", "total_tokens", "num_tokens"),
    "seconds": ("seconds", "latency", "duration", "time_s", "runtime"),
    "dollars": ("dollars", "cost", "usd", "price", "cost_usd"),
    "error": ("error", "exception"),
}
_NEEDED = ("model", "item", "score")


def read_columns(file: LogFile, named: Mapping[str, str] | None = None) -> dict[str, list[Any]]:
    """Return the columns of a table of scores by their roles, such as "model" and "score".

    `named` says which column has a role; the others are recognized by name.
    """
    functions = {".parquet": "read_parquet", ".jsonl": "read_json_auto", ".ndjson": "read_json_auto"}
    read = functions.get(file.suffix, "read_json_auto" if file.suffix == ".json" else "read_csv_auto")
    with duckdb.connect() as connection:
        try:
            relation = connection.sql(f"select * from {read}($path)", params={"path": str(file.path)})
            names = find_columns(relation.columns, named or {}, str(file))
            chosen = ", ".join('"' + name.replace('"', '""') + '"' for name in names.values())
            found = connection.sql(
                f"select {chosen} from {read}($path)", params={"path": str(file.path)}
            ).fetchnumpy()
        except duckdb.Error as error:
            raise InputError(f"{file} cannot be read as a table: {str(error).splitlines()[0]}") from None
    return {role: _values(found[name]) for role, name in names.items()}


def find_columns(columns: list[str], named: Mapping[str, str], where: str) -> dict[str, str]:
    """Find which column of a table has each role, such as "model"; raise an error if one is missing.

    >>> find_columns(["Model", "question_id", "correct", "passage"], {}, "a.csv")
    {'model': 'Model', 'item': 'question_id', 'score': 'correct', 'group': 'passage'}
    """
    found: dict[str, str] = {}
    small = {column.lower(): column for column in reversed(columns)}
    for role, names in COLUMN_NAMES.items():
        column = named.get(role)
        if column is not None:
            if column not in columns:
                raise UnknownName.with_suggestion("column", column, columns)
            found[role] = column
        elif role not in named:
            known = [small[name] for name in names if name in small and small[name] not in found.values()]
            if known:
                found[role] = known[0]
    missing = [role for role in _NEEDED if role not in found]
    if missing:
        lacks, has = join_names(list(map(repr, missing)), "or"), join_names(list(map(repr, columns)))
        raise InputError(f"{where} is no evaluation log: it has no column {lacks}; its columns are {has}")
    return found


def _values(column: Any) -> list[Any]:
    """Return the values of a table's column, with None for missing ones."""
    values: list[Any] = column.tolist()  # a masked array has None where a value is missing
    return values
