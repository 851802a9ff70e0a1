"""CSV, TSV, Parquet and JSON lines files, read by DuckDB: one file or a glob pattern, compressed or not.

`Files` names the function of DuckDB that reads them and its options; `FileSource` groups their rows.
The header of a CSV file is its first line that is neither empty nor a comment. The delimiter is read from
that line alone, so that a later line that does not fit raises an error with its number and is never skipped.
Labels of a CSV file are read as text, exactly as they are written. Other columns of CSV files, and those of
JSON files, have the types that DuckDB infers from their first rows; columns that must be numbers are read as
such. If a later row does not fit, types are inferred from all rows. Dates whose year is not first are read as
text, because DuckDB does not ask whether their day or their month comes first.

Connections report the progress of a query and raise readable errors. They also read
DuckDB relations of users.
"""

from __future__ import annotations

import csv
import glob
import os
import re
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tideproof.data.column_spec import ColumnSpec
from tideproof.data.dataset import EXCEL
from tideproof.data.date_order import is_year_first
from tideproof.data.group_by_sql import Progress, Query, Rows, SqlRows
from tideproof.data.sql_expressions import base_type, is_timestamp, quote_name, quote_text
from tideproof.data.time_ordered_rows import TimeOrderedRows
from tideproof.errors import InputError, MissingFile, UnknownName
from tideproof.stats.cells import Cells
from tideproof.text import join_names

if TYPE_CHECKING:
    import duckdb

_TEXT = (".csv", ".tsv", ".tab", ".txt", ".psv", ".log", ".dat", "")
_JSON = {".jsonl": "newline_delimited", ".ndjson": "newline_delimited", ".json": "auto"}
_PARQUET = (".parquet", ".pq")
_PACKED = (".gz", ".zst")
UPLOAD_KINDS = (".csv", ".tsv", ".txt", ".parquet", ".jsonl", ".ndjson")  # accepted by the web page
PROGRESS_PAUSE = 0.2  # seconds between two progress reports
MOST_UNSAMPLED_BYTES = 2**24  # bytes; larger files are sampled before all rows are read
_DELIMITERS = (",", "\t", ";", "|")
_LINES = 100  # number of first lines that are searched for the header
_SAMPLE = 20_480  # rows from which DuckDB infers types
_OPEN_QUOTE = re.compile(r'(^|[,;|\t]) *"[^"]*$')  # a quoted name that ends on a later line
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class Files:
    """Files of one kind, with the DuckDB function and the options that read them.

    Attributes
    ----------
    paths : paths of the files, sorted.
    function : name of a DuckDB table function.
    options : its named arguments, as SQL.
    header : names of the columns of a CSV file, as written in it.
    lines_before : number of lines before the first data row of a CSV file.
    """

    paths: list[str]
    function: str
    options: dict[str, str] = field(default_factory=dict)
    header: list[str] = field(default_factory=list)
    lines_before: int = 0

    @property
    def rows(self) -> str:
        """SQL that reads these files, for use after FROM: the call of a DuckDB table function."""
        listed = ", ".join(quote_text(path) for path in self.paths)
        options = "".join(f", {name} = {value}" for name, value in self.options.items())
        return f"{self.function}([{listed}]{options})"

    @property
    def bytes(self) -> int:
        """Total size of the files on disk."""
        return sum(os.path.getsize(path) for path in self.paths)

    def using(self, **options: str) -> Files:
        """Return the same data files with changed options for the function of DuckDB that reads them."""
        return replace(self, options=self.options | options)


def find_files(run: Query, place: str) -> Files:
    """Return the files at a path or glob pattern; the files must be of one kind and not all empty."""
    paths = _paths(place)
    suffixes = {_suffix(path) for path in paths}
    if len(suffixes) > 1:
        raise InputError(
            f"{place!r} matches files of several kinds ({', '.join(sorted(suffixes))}): name files of one "
            f"kind"
        )
    suffix = suffixes.pop()
    if all(os.path.getsize(path) == 0 for path in paths):
        raise InputError(f"the file {place!r} is empty")
    together = {"union_by_name": "true"} if len(paths) > 1 else {}
    if suffix in _PARQUET:
        return Files(paths, "read_parquet", together)
    if suffix in _JSON:
        return Files(paths, "read_json", {"format": quote_text(_JSON[suffix])} | together)
    if suffix in _TEXT:
        return _csv_files(run, paths, together)
    known = ", ".join(name for name in (*_TEXT, *_PARQUET, *_JSON, *EXCEL) if name)
    packed = ", ".join(_PACKED)
    raise InputError(f"cannot read {suffix} files: {place!r}; supported: {known}, also with {packed}")


def _paths(place: str) -> list[str]:
    """Return the paths of all files that match a path or glob pattern; raise an error if there are none."""
    paths = [place] if os.path.isfile(place) else sorted(glob.glob(place, recursive=True))
    paths = [path for path in paths if os.path.isfile(path)]
    if not paths:
        if os.path.isdir(place):
            raise InputError(
                f"{place!r} is a folder; name its files, such as '{place.rstrip('/')}/*.parquet'"
            )
        what = "no file matches" if glob.has_magic(place) else "there is no file"
        raise MissingFile(f"{what} {place!r}")
    return paths


def _suffix(path: str) -> str:
    """Return the extension of a file name, ignoring an extension for compression such as ".gz"."""
    name = Path(path)
    return (name.with_suffix("") if name.suffix.lower() in _PACKED else name).suffix.lower()


def _csv_files(run: Query, paths: list[str], together: dict[str, str]) -> Files:
    """Return CSV files with the options of DuckDB's reader for their delimiter, header and encoding."""
    first = next(path for path in paths if os.path.getsize(path))
    encoding = _guess_encoding(first)
    lines = first_lines(run, first, encoding)
    header = find_header(lines)
    if header is None:
        raise InputError(f"{first!r} has no line that names the columns, only empty lines or comments")
    options = {
        "delim": quote_text(header.delimiter),
        "header": "true",
        "skip": str(header.skip),
        "quote": "'\"'",
        "escape": "'\"'",
        "comment": "''",
        "null_padding": "false",
        "encoding": quote_text(encoding),
    }
    if lines[header.skip].startswith("#"):
        options["names"] = f"[{', '.join(map(quote_text, header.names))}]"
    more = sum(name.count("\n") for name in header.names)  # lines of names that contain line breaks
    return Files(paths, "read_csv", options | together, header.names, header.skip + 1 + more)


def _guess_encoding(path: str) -> str:
    """Return the text encoding of a file, guessed from its first bytes."""
    with open(path, "rb") as file:
        return "utf-16" if file.read(2) in (b"\xff\xfe", b"\xfe\xff") else "utf-8"


@contextmanager
def open_files(place: str, guard: FileGuard | None = None) -> Iterator[FileSource]:
    """Open the files at a path or glob pattern; `guard` restricts the reading of an untrusted file."""
    with open_connection(guard=guard) as run, readable_errors(repr(place)):
        files = find_files(run, place)
        yield FileSource(run, files, _fetch_file_types(run, files))


@dataclass(frozen=True, slots=True)
class FileSource:
    """Opened files whose rows DuckDB groups by arm and environment.

    Attributes
    ----------
    run : sends a query to DuckDB.
    files : paths of the files, and the options for reading them.
    types : the SQL type of each column, inferred from the first rows.
    first_times : the first time in each column of times that was used, as it is written in a CSV file.
    """

    run: Query
    files: Files
    types: dict[str, str]
    first_times: dict[str, str] = field(default_factory=dict)

    def group(self, request: ColumnSpec, progress: Progress | None = None) -> Cells:
        """Group the rows of a log by arm and environment, and return the statistics of the rewards."""
        return self._ask(request, lambda rows: rows.group(request, progress))

    def quantile(self, request: ColumnSpec, share: float) -> float:
        """Return the quantile of the rewards of a log at probability `share`; NaN without rewards."""
        return self._ask(request, lambda rows: rows.quantile(request, share))

    def timed(self, request: ColumnSpec, most: int) -> TimeOrderedRows:
        """Return the rows of a log ordered by time; more than `most` rows are grouped into time bins."""
        return self._ask(request, lambda rows: rows.timed(request, most), times=request.environment)

    def _ask(self, request: ColumnSpec, what: Callable[[SqlRows], Answer], times: str = "") -> Answer:
        """Run an operation on the rows of files, and repeat it if the guessed column types were wrong.

        Types are guessed from the first rows, and then from all rows. `times` is a column of times that is no
        label although it is named as the environment.
        """
        import duckdb

        if self.files.header:
            check_header(self.files.paths[0], self.files.header, request)
        request = request.among(self.types)
        texts = {name for name in request.label_columns if name != times}
        texts |= {name for name in (*request.columns, times) if not self._is_year_first(name)}
        if "INT" not in self.types.get(request.unit, "INT"):  # whole numbers are grouped faster than text
            texts.add(request.unit)
        try:
            return what(self._as_announced(request, texts))
        except (duckdb.ConversionException, duckdb.InvalidInputException) as error:
            if not _is_about_types(error) or self.files.function == "read_parquet":
                raise
        return what(self._all_rows_looked_at(request, texts))

    def _is_year_first(self, name: str) -> bool:
        """Return whether the year is first in a column of times; other columns count as such.

        The first rows of a CSV file show that.
        """
        if self.files.function != "read_csv" or not is_timestamp(self.types.get(name, "")):
            return True
        if name not in self.first_times:
            rows = self.files.using(types=_types_sql({name: "VARCHAR"})).rows
            first = f"SELECT {quote_name(name)} AS time FROM {rows} LIMIT {_SAMPLE}"
            self.first_times[name] = str(self.run(f"SELECT any_value(time) FROM ({first})")[0][0])
        return is_year_first(self.first_times[name])

    def _as_announced(self, request: ColumnSpec, texts: Collection[str]) -> SqlRows:
        """Return the rows of the files with the column types that DuckDB infers from the first rows.

        In a CSV file, the columns `texts` are read as text. Columns that must hold numbers are read as
        numbers, unless DuckDB infers text or truth values.
        """
        if self.files.function != "read_csv":
            return self._table(self.files, self.types, request)
        types = dict.fromkeys(texts, "VARCHAR")
        types |= {name: self._announced(name, request.decimal) for name in request.numbers}
        return self._table(self.files.using(types=_types_sql(types)), self.types | types, request)

    def _announced(self, name: str, decimal: str) -> str:
        """Return the SQL type with which DuckDB first tries to read a numeric column of a CSV file."""
        sql_type = "VARCHAR" if decimal == "," else self.types.get(name, "")
        return sql_type if sql_type in ("VARCHAR", "BOOLEAN") else "DOUBLE"

    def _all_rows_looked_at(self, request: ColumnSpec, texts: Collection[str]) -> SqlRows:
        """Return the rows of the files with the column types that DuckDB infers from all rows.

        In a CSV file, the columns `texts` are read as text. Columns that must hold numbers are read as text,
        too, and converted afterwards.
        """
        files = self.files.using(sample_size="-1")
        if files.function == "read_csv":
            files = files.using(types=_types_sql(dict.fromkeys((*texts, *request.numbers), "VARCHAR")))
        return self._table(files, fetch_types(self.run, files.rows), request)

    def _table(self, files: Files, types: dict[str, str], request: ColumnSpec) -> SqlRows:
        """Return the rows of the files, with numbers converted from text and labels converted from JSON."""
        rows = files.rows
        for name, sql_type in types.items():
            if name in request.numbers and base_type(sql_type) in ("VARCHAR", "JSON"):
                from tideproof.data.text_to_number_sql import number_sql

                number = number_sql(self.run, files, name, request.decimal)
                rows = f"(SELECT * REPLACE ({number} AS {quote_name(name)}) FROM {rows})"
                types = types | {name: "DOUBLE"}
            elif sql_type == "JSON":  # values of several types; removes the quotes around text
                rows = f"(SELECT * REPLACE ({quote_name(name)} ->> '$' AS {quote_name(name)}) FROM {rows})"
                types = types | {name: "VARCHAR"}
        return SqlRows(
            self.run,
            rows,
            types,
            compensated_mean_sql,
            sampled=files.bytes > MOST_UNSAMPLED_BYTES,
            quick=True,
        )


def _fetch_file_types(run: Query, files: Files) -> dict[str, str]:
    """Return the SQL type of each column of files; an error names the malformed line of a CSV file."""
    import duckdb

    try:
        return fetch_types(run, files.rows)
    except duckdb.InvalidInputException as error:
        if "sniffing" in str(error):
            _check_lines(run, files)
        raise


def _check_lines(run: Query, files: Files) -> None:
    """Read a CSV file as text only, so that DuckDB raises an error with the number of a malformed line."""
    columns = _types_sql({f"column {i}": "VARCHAR" for i in range(len(files.header))})
    plain = files.using(auto_detect="false", columns=columns)
    run(f"SELECT count(COLUMNS(*)) FROM {plain.rows}")


def _types_sql(types: dict[str, str]) -> str:
    """Return the DuckDB option that sets the SQL types of columns of a CSV file."""
    return "{" + ", ".join(f"{quote_text(name)}: '{sql_type}'" for name, sql_type in types.items()) + "}"


def _is_about_types(error: Exception) -> bool:
    """Return whether an error of DuckDB says that a value could not be converted to another type."""
    return "onvert" in str(error) or "cast" in str(error)


class Header(NamedTuple):
    """Header of a CSV file: the delimiter, the names of the columns, and the number of lines before it."""

    delimiter: str
    names: list[str]
    skip: int


def first_lines(run: Query, path: str, encoding: str) -> list[str]:
    """Return the first lines of a text file, compressed or not."""
    options = "header = false, auto_detect = false, columns = {'line': 'VARCHAR'}, delim = '\x01', quote = ''"
    options += f", escape = '', skip = 0, comment = '', encoding = {quote_text(encoding)}"
    options += ", strict_mode = false"  # a quoted cell may contain line breaks of another kind
    rows = run(f"SELECT line FROM read_csv({quote_text(path)}, {options}) LIMIT {_LINES}")
    return [str(row[0] or "").lstrip("\ufeff") for row in rows]


def find_header(lines: Sequence[str]) -> Header | None:
    r"""Return the header line of a CSV file; None if its first lines are all empty or comments.

    >>> find_header(["# from the shop", "", 'variant;"day; or night"; sales'])
    Header(delimiter=';', names=['variant', 'day; or night', 'sales'], skip=2)
    >>> find_header(["#variant,sales", "A,3"])  # the names are in a comment
    Header(delimiter=',', names=['variant', 'sales'], skip=0)
    """
    said = [at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    if not said:
        return None
    at, end = said[0], said[0] + 1
    while end < len(lines) and _has_open_quote("\n".join(lines[at:end])):
        end += 1
    header = _split_line("\n".join(lines[at:end]))
    if at > 0 and lines[at - 1].startswith("#") and looks_like_data(header[1]):
        above = _split_line(lines[at - 1].lstrip("# "))
        if len(above[1]) == len(header[1]) > 1 and not looks_like_data(above[1]):
            at, header = at - 1, above
    return Header(*header, at)


def _has_open_quote(text: str) -> bool:
    """Return whether a quoted name begins in the text and does not end there.

    >>> _has_open_quote('a,"b'), _has_open_quote('"a","b,c"'), _has_open_quote('5" nail,b')
    (True, False, False)
    """
    return _OPEN_QUOTE.search(re.sub(r'"[^"]*"', "", text)) is not None


def _split_line(line: str) -> tuple[str, list[str]]:
    """Return the delimiter of a line of a CSV file, and the fields of the line."""
    delimiter = max(_DELIMITERS, key=line.count)
    fields = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return delimiter, [field.strip() for field in fields]


def looks_like_data(fields: Sequence[str]) -> bool:
    """Return whether a CSV line holds values, not column names: whether a field is a number or empty.

    >>> looks_like_data(["A", "mon", "3.5"]), looks_like_data(["A", ""]), looks_like_data(["variant", "day"])
    (True, True, False)
    """
    return any(_is_number(field) or not field.strip() for field in fields)


def check_header(path: str, names: Sequence[str], request: ColumnSpec) -> None:
    """Raise an error unless the header of a CSV file names each requested column exactly once."""
    try:
        wanted = request.among(names).names
    except UnknownName:
        if looks_like_data(names):
            raise InputError(
                f"{path!r} seems to have no header: its first line is "
                f"{', '.join(map(repr, names[:6]))}; add a line with the names of the columns"
            ) from None
        raise
    for name in wanted:
        alike = [other for other in names if other.lower() == name.lower()]
        if len(alike) > 1:
            what = (
                f"are called {name!r}"
                if len(set(alike)) == 1
                else f"differ only in capitals: {join_names(map(repr, alike))}"
            )
            raise InputError(f"two columns of {path!r} {what}")


def _is_number(text: str) -> bool:
    """Return whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class FileGuard(NamedTuple):
    """Restrictions for reading an untrusted file: only this file, with limited memory."""

    path: str
    memory: str = "512MB"


@contextmanager
def open_relation(relation: duckdb.DuckDBPyRelation) -> Iterator[SqlRows]:
    """Open a DuckDB relation for reading, in the connection that created it."""

    def run(query: str, progress: Progress | None = None, /) -> Rows:
        """Run an SQL query and return all rows of its result."""
        answer = relation.query("tideproof_rows", query)
        return [] if answer is None else answer.fetchall()

    types = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
    with readable_errors("the relation"):  # not sampled, as its first rows may cost as much as all of them
        yield SqlRows(run, "tideproof_rows", types, compensated_mean_sql, quick=True)


def compensated_mean_sql(reward: str, rows: str) -> str:
    """Return SQL for a mean by compensated (Kahan) summation.

    A plain sum loses digits of rewards far from 0.
    """
    return f"favg({reward})"


def fetch_types(run: Query, rows: str) -> dict[str, str]:
    """Return the SQL type of each column of a table in DuckDB."""
    return {row[0]: row[1] for row in run(f"DESCRIBE SELECT * FROM {rows}")}


@contextmanager
def open_connection(database: str = ":memory:", guard: FileGuard | None = None) -> Iterator[Query]:
    """Open a DuckDB connection, and yield a function that runs a query and returns all rows."""
    import duckdb

    with readable_errors(database):
        connection = duckdb.connect(database, read_only=database != ":memory:")
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    connection.execute(
        "SET parquet_metadata_cache = true"
    )  # a file is read for types, a sample, and all rows
    if guard is not None:
        path = guard.path.replace("'", "''")
        connection.execute(
            f"SET memory_limit = '{guard.memory}'; SET temp_directory = ''; SET threads = 2; "
            f"SET allowed_paths = ['{path}']; SET enable_external_access = false; "
            f"SET lock_configuration = true"
        )

    def run(query: str, progress: Progress | None = None, /) -> Rows:
        """Run an SQL query and return all rows of its result."""
        with report_progress(connection, progress):
            return connection.execute(query).fetchall()

    try:
        yield run
    finally:
        connection.close()


@contextmanager
def readable_errors(what: str) -> Iterator[None]:
    """Context manager that converts an error of DuckDB to one sentence about the data source `what`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        said = error_sentence(error)
        encoded = "utf-8" in said.lower()
        helps = " Save it as UTF-8 (iconv -f latin1 -t utf8)." if encoded else ""
        raise InputError(f"cannot read {what}: {said}{helps}") from None


def error_sentence(error: Exception) -> str:
    r"""Return the lines of a DuckDB error that say what happened, without its advice.

    >>> error_sentence(Exception("Conversion Error: Error on Line: 4\nOriginal Line: A,x\nPossible fixes:"))
    'Error on Line: 4; Original Line: A,x'
    """
    lines = []
    for line in str(error).splitlines():
        if not line.strip() or line.startswith(("Possible", "LINE ", "The search space", "Column ", "*")):
            break
        lines.append(line.strip())
    first, *rest = lines or [type(error).__name__]
    return "; ".join([first.split("Error: ", 1)[-1], *rest])


@contextmanager
def report_progress(connection: duckdb.DuckDBPyConnection, progress: Progress | None) -> Iterator[None]:
    """Context manager that reports the progress of a DuckDB query from a thread, a few times per second."""
    if progress is None:
        yield
        return
    done = threading.Event()

    def report() -> None:
        """Call `progress` with the percentage done, a few times per second until the query ends."""
        while not done.wait(PROGRESS_PAUSE):
            progress(max(0.0, connection.query_progress()))

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
