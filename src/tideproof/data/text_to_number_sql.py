"""SQL for DuckDB that converts text to numbers; errors name the lines whose text is not a number.

The rules are those of `number_text`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from tideproof.data.group_by_sql import Query
from tideproof.data.number_text import (
    ABSENT,
    BITS,
    COMMA,
    FALSE,
    THOUSANDS,
    TRUE,
    ColumnText,
    Style,
    detect_style,
    not_a_number_error,
)
from tideproof.data.sql_expressions import quote_name, quote_text

if TYPE_CHECKING:
    from tideproof.data.sources.duckdb_files import Files


def number_sql(run: Query, files: Files, name: str, decimal: str) -> str:
    """Return SQL that reads a column of text as numbers, NULL for missing values.

    Raises
    ------
    InputError
        If an entry is not a number; the message names the first lines.
    """
    text = f"trim(CAST({quote_name(name)} AS VARCHAR), ' \"')"
    word = f"lower({text})"
    absent = _in_sql(word, ABSENT)
    style = detect_style(_count_kinds(run, files, text, word), name, decimal)
    number = f"CASE WHEN {absent} THEN NULL ELSE {_style_sql(text, word, style)} END"
    _check_numbers(run, files, name, text, f"({number}) IS NULL AND NOT {absent}")
    return number


def _count_kinds(run: Query, files: Files, text: str, word: str) -> ColumnText:
    """Count the entries of each kind in a text column: truth values, other words, numbers with a comma."""
    comma = f"contains({text}, ',')"
    truth = _in_sql(word, (*TRUE, *FALSE))
    others = f"NOT {_in_sql(word, (*TRUE, *FALSE, *BITS, *ABSENT))}"
    fits = [f"{comma} AND regexp_full_match({text}, {quote_text(form)})" for form in (COMMA, THOUSANDS)]
    counts = ", ".join(f"count(*) FILTER ({condition})" for condition in (truth, others, comma, *fits))
    return ColumnText(*run(f"SELECT {counts}, min({text}) FILTER ({comma}) FROM {files.rows}")[0])


def _style_sql(text: str, word: str, style: Style) -> str:
    """Return SQL for the number that a text represents, NULL if it is not a number."""
    plain = f"TRY_CAST({text} AS DOUBLE)"
    if style == "truth":
        return f"CASE WHEN {_in_sql(word, TRUE)} THEN 1 WHEN {_in_sql(word, FALSE)} THEN 0 ELSE {plain} END"
    if style == "comma":
        point = f"TRY_CAST(replace(replace({text}, '.', ''), ',', '.') AS DOUBLE)"
        return f"CASE WHEN regexp_full_match({text}, {quote_text(COMMA)}) THEN {point} END"
    if style == "thousands":
        fits = f"regexp_full_match({text}, {quote_text(THOUSANDS)})"
        return f"CASE WHEN {fits} THEN TRY_CAST(replace({text}, ',', '') AS DOUBLE) ELSE {plain} END"
    return plain


def _check_numbers(run: Query, files: Files, name: str, text: str, bad: str) -> None:
    """Raise an error if a column contains text that is not a number; the error names the first such lines."""
    count = run(f"SELECT count(*) FROM {files.rows} WHERE {bad}")[0][0]
    if not count:
        return
    path = run(f"SELECT filename FROM {files.using(filename='true').rows} WHERE {bad} LIMIT 1")[0][0]
    rows = run(
        f"SELECT row, text FROM (SELECT row_number() OVER () AS row, {text} AS text, {bad} AS bad "
        f"FROM {replace(files, paths=[path]).rows}) WHERE bad ORDER BY row LIMIT 3"
    )
    where = "line" if files.function != "read_parquet" else "row"
    places = [f"{where} {row + files.lines_before}: {text!r}" for row, text in rows]
    raise not_a_number_error(name, count, places, f" of {path!r}" if len(files.paths) > 1 else "")


def _in_sql(word: str, words: Iterable[str]) -> str:
    """Return SQL that tests whether a word is one of the given words."""
    return f"{word} IN ({', '.join(map(quote_text, words))})"
