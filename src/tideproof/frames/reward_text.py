"""Rewards that a file holds as text: read as numbers, or refused with the lines that are none."""

from __future__ import annotations

from dataclasses import replace

from tideproof.errors import InputError
from tideproof.frames.group_by import Query
from tideproof.frames.readers import Files
from tideproof.frames.sql import literal, quoted
from tideproof.words import counted

_ABSENT = ("", "na", "n/a", "#n/a", "nan", "null", "none")  # of a reward, whatever their case


def as_number(name: str) -> str:
    """Return SQL for a column of text as numbers, NULL for what is absent."""
    text = _text(name)
    return f"TRY_CAST(CASE WHEN {_absent(text)} THEN NULL ELSE {text} END AS DOUBLE)"


def check_text(run: Query, files: Files, name: str) -> None:
    """Refuse text that is no number, its first lines named."""
    text = _text(name)
    bad = f"TRY_CAST({text} AS DOUBLE) IS NULL AND NOT {_absent(text)}"
    count = run(f"SELECT count(*) FROM {files.rows} WHERE {bad}")[0][0]
    if not count:
        return
    path = run(f"SELECT filename FROM {files.using(filename='true').rows} WHERE {bad} LIMIT 1")[0][0]
    rows = run(
        f"SELECT row, text FROM (SELECT row_number() OVER () AS row, {text} AS text, {bad} AS bad "
        f"FROM {replace(files, paths=[path]).rows}) WHERE bad ORDER BY row LIMIT 3"
    )
    where, offset = ("row", 0) if files.function == "read_parquet" else ("line", bool(files.header))
    first = ", ".join(f"{where} {row + offset}: {text!r}" for row, text in rows)
    first += ", …" if count > len(rows) else ""
    of = f" of {path!r}" if len(files.paths) > 1 else ""
    raise InputError(
        f"column {name!r} must be numeric; it holds text in {counted(count, 'row')} ({first}{of})"
    )


def _text(name: str) -> str:
    return f"trim(CAST({quoted(name)} AS VARCHAR), ' \"')"


def _absent(text: str) -> str:
    return f"lower({text}) IN ({', '.join(map(literal, _ABSENT))})"
