"""CSV, TSV, Parquet and JSON lines files through DuckDB: one, a glob of them, compressed.

The dialect of a CSV file is read off its first line and not guessed from the rest, so that a line that
does not fit is an error with its number and never skipped.
"""

from __future__ import annotations

import csv
import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tideproof.errors import InputError, MissingFile, UnknownName
from tideproof.frames.duck import MEAN, kinds_of, phrased, session
from tideproof.frames.request import Request
from tideproof.frames.sql import Source, base, quoted
from tideproof.words import counted

if TYPE_CHECKING:
    from tideproof.frames.duck import Query

T = TypeVar("T")

_TEXT = (".csv", ".tsv", ".tab", ".txt", ".psv", ".log", ".dat", "")
_JSON = {".jsonl": "newline_delimited", ".ndjson": "newline_delimited", ".json": "auto"}
_PARQUET = (".parquet", ".pq")
_PACKED = (".gz", ".zst")
_DELIMITERS = (",", "\t", ";", "|")
_ABSENT = ("", "na", "n/a", "#n/a", "nan", "null", "none")  # of a reward, whatever their case


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind, and how DuckDB reads them.

    Attributes
    ----------
    paths : the files, sorted.
    reader : a table function of DuckDB.
    options : its named arguments, as SQL.
    header : the names on the first line of a CSV file.
    """

    paths: list[str]
    reader: str
    options: dict[str, str] = field(default_factory=dict)
    header: list[str] = field(default_factory=list)

    @property
    def rows(self) -> str:
        """What stands after FROM."""
        listed = ", ".join(literal(path) for path in self.paths)
        options = "".join(f", {name} = {value}" for name, value in self.options.items())
        return f"{self.reader}([{listed}]{options})"

    def using(self, **options: str) -> Files:
        """Return the same files read with other options."""
        return replace(self, options=self.options | options)


def visit_files(
    place: str,
    visit: Callable[[Source], T],
    request: Request | None,
    progress: Callable[[float], None] | None,
) -> T:
    """Show the rows of the file or files at `place`."""
    import duckdb

    with session(progress=progress) as run, phrased(repr(place)):
        files = found(run, place)
        if request is None:
            return _shown(run, files, visit, ())
        request = _known(files, request)
        rewards = request.names[2:]
        if files.reader == "read_csv":
            files = files.using(types=_types(rewards, "DOUBLE"))
        try:
            return _shown(run, files, visit, rewards)
        except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
            if "sniffing" in str(error):
                _check_lines(run, files)
            if "onvert" not in str(error) and "cast" not in str(error):
                raise
        # something that the first rows did not announce: look at all rows before deciding on types
        if files.reader == "read_csv":
            files = files.using(types=_types(rewards, "VARCHAR"))
        if files.reader != "read_parquet":
            files = files.using(sample_size="-1")
        return _shown(run, files, visit, rewards)


def found(run: Query, place: str) -> Files:
    """Return the files at a path or glob, of one kind and none of them empty."""
    paths = [place] if Path(place).is_file() else sorted(glob.glob(place, recursive=True))
    paths = [path for path in paths if Path(path).is_file()]
    if not paths:
        if Path(place).is_dir():
            raise InputError(
                f"{place!r} is a folder; name its files, such as '{place.rstrip('/')}/*.parquet'"
            )
        what = "no file matches" if glob.has_magic(place) else "there is no file"
        raise MissingFile(f"{what} {place!r}")
    suffixes = {_suffix(path) for path in paths}
    if len(suffixes) > 1:
        raise InputError(f"{place!r} matches files of several kinds: {', '.join(sorted(suffixes))}")
    suffix = suffixes.pop()
    if all(Path(path).stat().st_size == 0 for path in paths):
        raise InputError(f"the file {place!r} is empty")
    together = {"union_by_name": "true"} if len(paths) > 1 else {}
    if suffix in _PARQUET:
        return Files(paths, "read_parquet", together)
    if suffix in _JSON:
        return Files(paths, "read_json", {"format": literal(_JSON[suffix])} | together)
    if suffix in _TEXT:
        return _csv(run, paths, together)
    known = ", ".join(name for name in (*_TEXT, *_PARQUET, *_JSON) if name)
    raise InputError(f"cannot read {suffix} files: {place!r}; known: {known}, also with {', '.join(_PACKED)}")


def first_line(run: Query, path: str) -> str:
    """Return the first line of a text file, compressed or not."""
    options = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = ''"
    rows = run(f"SELECT line FROM read_csv({literal(path)}, {options}, escape = '', skip = 0) LIMIT 1")
    return str(rows[0][0] or "").lstrip("\ufeff") if rows else ""


def literal(text: str) -> str:
    """Return a string as SQL."""
    return "'" + text.replace("'", "''") + "'"


def looks_like_data(fields: list[str]) -> bool:
    """Tell whether a first line holds values and not names: one of its fields is a number or empty.

    >>> looks_like_data(["A", "mon", "3.5"]), looks_like_data(["variant", "day", "sales"])
    (True, False)
    """
    return any(_is_number(text) or not text.strip() for text in fields)


def _suffix(path: str) -> str:
    name = Path(path)
    return (name.with_suffix("") if name.suffix.lower() in _PACKED else name).suffix.lower()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _csv(run: Query, paths: list[str], together: dict[str, str]) -> Files:
    line = first_line(run, next(path for path in paths if Path(path).stat().st_size))
    if not line.strip():
        raise InputError(f"{paths[0]!r} begins with an empty line; its first line must name the columns")
    delimiter = max(_DELIMITERS, key=line.count)
    header = next(csv.reader([line], delimiter=delimiter))
    options = {
        "delim": literal(delimiter),
        "header": "true",
        "skip": "0",
        "quote": "'\"'",
        "escape": "'\"'",
        "null_padding": "false",
    }
    return Files(paths, "read_csv", options | together, header)


def _known(files: Files, request: Request) -> Request:
    """Find the columns; a CSV file without a line of names gets its own message."""
    if files.reader != "read_csv":
        return request
    try:
        found = request.among(files.header)
    except UnknownName as error:
        if looks_like_data(files.header):
            raise InputError(
                f"{files.paths[0]!r} seems to have no header: its first line is "
                f"{', '.join(map(repr, files.header[:6]))}; add a line with the names of the columns"
            ) from None
        raise error
    twice = {name for name in found.names if files.header.count(name) > 1}
    if twice:
        raise InputError(f"two columns of {files.paths[0]!r} are called {twice.pop()!r}")
    return found if not found.every else request


def _check_lines(run: Query, files: Files) -> None:
    """Read a CSV file as nothing but text: a line that does not fit raises an error with its number."""
    columns = "{" + ", ".join(f"{literal(name)}: 'VARCHAR'" for name in files.header) + "}"
    options = {name: value for name, value in files.options.items() if name != "types"}
    plain = replace(files, options=options | {"auto_detect": "false", "columns": columns})
    run(f"SELECT count(COLUMNS(*)) FROM {plain.rows}")


def _types(names: Sequence[str], kind: str) -> str:
    return "{" + ", ".join(f"{literal(name)}: '{kind}'" for name in names) + "}"


def _shown(run: Query, files: Files, visit: Callable[[Source], T], rewards: Sequence[str]) -> T:
    """Show the rows to `visit`, rewards that are text turned into numbers."""
    kinds, rows = kinds_of(run, files.rows), files.rows
    for name in rewards:
        if base(kinds.get(name, "")) in ("VARCHAR", "JSON"):
            _check_text(run, files, name)
            text = _text(name)
            number = f"TRY_CAST(CASE WHEN {_absent(text)} THEN NULL ELSE {text} END AS DOUBLE)"
            rows = f"(SELECT * REPLACE ({number} AS {quoted(name)}) FROM {rows})"
            kinds[name] = "DOUBLE"
    return visit(Source(run, rows, kinds, MEAN, sampled=True))


def _text(name: str) -> str:
    return f"trim(CAST({quoted(name)} AS VARCHAR), ' \"')"


def _absent(text: str) -> str:
    return f"lower({text}) IN ({', '.join(map(literal, _ABSENT))})"


def _check_text(run: Query, files: Files, name: str) -> None:
    """Refuse text that is no number, its first lines named."""
    text = _text(name)
    bad = f"TRY_CAST({text} AS DOUBLE) IS NULL AND NOT {_absent(text)}"
    count = run(f"SELECT count(*) FROM {files.rows} WHERE {bad}")[0][0]
    if not count:
        return
    named = files.using(filename="true").rows
    path = run(f"SELECT filename FROM {named} WHERE {bad} LIMIT 1")[0][0]
    alone = replace(files, paths=[path]).rows
    rows: list[Any] = list(
        run(
            f"SELECT row, text FROM (SELECT row_number() OVER () AS row, {text} AS text, {bad} AS bad "
            f"FROM {alone}) WHERE bad ORDER BY row LIMIT 3"
        )
    )
    where, offset = ("row", 0) if files.reader == "read_parquet" else ("line", bool(files.header))
    first = ", ".join(f"{where} {row + offset}: {text!r}" for row, text in rows)
    first += ", …" if count > len(rows) else ""
    of = f" of {path!r}" if len(files.paths) > 1 else ""
    raise InputError(
        f"the reward must be numeric; column {name!r} holds text in {counted(count, 'row')} ({first}{of})"
    )
