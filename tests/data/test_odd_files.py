"""Files as they come: each is read right, or refused in one clear line.

`tideproof analyze` reads every one of them, its columns guessed unless options name them. What is right:
how many rewards each arm has, and their mean.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import sys
import zipfile
from typing import Any

import duckdb
import polars as pl
import pytest
from typer.testing import CliRunner

from tideproof.cli import app
from tideproof.errors import MissingExtra, TideproofError

HEAD = "variant,day,sales\n"
PLAIN = HEAD + "A,mon,3\nB,mon,4\nA,tue,5\nB,tue,6.5\n"
WANT = {"A": (2, 4.0), "B": (2, 5.25)}
BITS = {"A": (2, 0.5), "B": (2, 1.0)}
FRAME = pl.read_csv(PLAIN.encode())


def sheet(rows):
    """Return one sheet of an Excel file as XML; text is written into the cells."""
    cells = []
    for row in rows:
        inner = "".join(
            f"<c><v>{x}</v></c>"
            if isinstance(x, (int, float))
            else f'<c t="inlineStr"><is><t>{x}</t></is></c>'
            for x in row
        )
        cells.append(f"<row>{inner}</row>")
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{space}"><sheetData>{"".join(cells)}</sheetData></worksheet>'


def excel(**sheets):
    """Return an Excel file with these sheets, each a list of rows."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    listed = [(i + 1, name, rows) for i, (name, rows) in enumerate(sheets.items())]
    names = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name, _ in listed)
    links = "".join(
        f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i, _, _ in listed
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{kind}.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r0" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{names}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
    } | {f"xl/worksheets/sheet{i}.xml": sheet(rows) for i, _, rows in listed}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def sqlite(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE log (variant, day, sales)")
    connection.executemany("INSERT INTO log VALUES (?, ?, ?)", FRAME.rows())
    connection.commit()
    connection.close()


def duck(path):
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE log (variant VARCHAR, day VARCHAR, sales DOUBLE)")
        connection.executemany("INSERT INTO log VALUES (?, ?, ?)", FRAME.rows())


def parquet(**columns):
    file = io.BytesIO()
    FRAME.with_columns(**columns).write_parquet(file)
    return file.getvalue()


ROWS = [FRAME.columns, *map(list, FRAME.rows())]
STAMPS = "variant,ts,sales\n" + "".join(
    f"{v},{t},{x}\n"
    for v, t, x in (("A", 1710000000, 3), ("B", 1710000000, 4), ("A", 1710100000, 5), ("B", 1710100000, 6.5))
)
Odd = tuple[
    str, Any, list[str], Any
]  # a file's name, what it holds or how it is made, options, what is right

RIGHT: dict[str, Odd] = {
    "semicolons and decimal commas": ("l.csv", "variant;day;sales\nA;mon;3,0\nB;mon;4\nA;tue;5,0\nB;tue;6,5\n", [], WANT),
    "decimal commas after whole numbers": ("l.csv", "variant;day;sales\n" + "A;mon;4\nB;mon;5,25\n" * 2, [], WANT),
    "decimal commas and points for thousands": (
        "l.csv", "variant;day;sales\nA;mon;1.003,5\nB;mon;1.004\nB;tue;5,5\n", [], {"A": (1, 1003.5), "B": (2, 504.75)},
    ),
    "thousands set apart by commas": (
        "l.csv", HEAD + 'A,mon,"1,003.50"\nB,mon,"1,004"\nB,tue,5\n', [], {"A": (1, 1003.5), "B": (2, 504.5)},
    ),
    "a comma that is told": ("l.csv", HEAD + 'A,mon,"1,003"\nB,mon,"2,004"\n', ["--decimal", ","], {"A": (1, 1.003), "B": (1, 2.004)}),
    "a point that is told": ("l.csv", HEAD + 'A,mon,"1,003"\nB,mon,"2,004"\n', ["--decimal", "."], {"A": (1, 1003), "B": (1, 2004)}),
    "TRUE and FALSE": ("l.csv", HEAD + "A,mon,TRUE\nB,mon,TRUE\nA,tue,FALSE\nB,tue,TRUE\n", [], BITS),
    "yes and no": ("l.csv", HEAD + "A,mon,yes\nB,mon,Yes\nA,tue,no\nB,tue,YES\n", [], BITS),
    "t and f": ("l.csv", HEAD + "A,mon,t\nB,mon,t\nA,tue,f\nB,tue,t\n", [], BITS),
    "y and n after 0 and 1": ("l.csv", HEAD + "A,mon,1\nB,mon,1\nA,tue,0\nB,tue,y\n", [], BITS),
    "truth in a Parquet file": ("l.parquet", parquet(sales=pl.Series([True, True, False, True])), [], BITS),
    "yes and no in a Parquet file": ("l.parquet", parquet(sales=pl.Series(["yes", "yes", "no", "yes"])), [], BITS),
    "clicks of impressions": (
        "l.csv", "variant,day,clicks,shown\nA,mon,3,10\nB,mon,0,10\nA,tue,1,30\nB,tue,2,10\n",
        ["--successes", "clicks", "--n", "shown"], {"A": (40, 0.1), "B": (20, 0.1)},
    ),
    "no environment": ("l.csv", "variant,sales\nA,3\nB,4\nA,5\nB,6.5\n", ["--no-environment"], WANT),
    "environments of two columns": (
        "l.csv", "variant,rep,block,sales\nA,1,1,3\nB,1,1,4\nA,1,2,5\nB,1,2,6.5\n",
        ["--environment", "rep:block", "--reward", "sales"], WANT,
    ),
    "seconds since 1970": ("l.csv", STAMPS, ["--environment", "day(ts)"], WANT),
    "milliseconds since 1970": ("l.csv", STAMPS.replace("00000,", "00000000,"), ["--environment", "hour(ts)"], WANT),
    "days of a time zone": (
        "l.csv", "variant,ts,sales\nA,2024-01-01T23:30:00Z,3\nB,2024-01-02T10:00:00Z,4\nA,2024-01-03 12:00:00,5\nB,2024-01-03 11:00:00,6.5\n",
        ["--environment", "day(ts)", "--time-zone", "Europe/Berlin"], WANT,
    ),
    "a column for each arm": (
        "l.csv", "day,A,B\nmon,3,4\ntue,5,6.5\nwed,,\n", ["--wide", "A, B", "--environment", "day"], WANT,
    ),
    "a column for each arm, decimal commas": ("l.csv", "day;A;B\nmon;3;4\ntue;5;6,5\n", ["--wide", "A,B"], WANT),
    "a byte order mark": ("l.csv", b"\xef\xbb\xbf" + PLAIN.encode(), [], WANT),
    "UTF-16, as Excel's Unicode text": ("l.txt", PLAIN.replace(",", "\t").encode("utf-16"), [], WANT),
    "lines of Windows": ("l.csv", PLAIN.replace("\n", "\r\n"), [], WANT),
    "lines of an old Macintosh": ("l.csv", PLAIN.replace("\n", "\r"), [], WANT),
    "no line break at the end": ("l.csv", PLAIN.rstrip(), [], WANT),
    "empty lines before and between": ("l.csv", "\n\n" + PLAIN.replace("A,tue", "\nA,tue"), [], WANT),
    "comments before the header": ("l.csv", "# from the shop, by hand\n#\n" + PLAIN, [], WANT),
    "a header behind a comment sign": ("l.csv", "#" + PLAIN, [], WANT),
    "arms that begin like comments": (
        "l.csv", PLAIN.replace("A,", "#A,"), [], {"#A": WANT["A"], "B": WANT["B"]},
    ),
    "spaces in the header": ("l.csv", PLAIN.replace(HEAD, " variant , day,sales \n"), [], WANT),
    "quotes around everything": ("l.csv", '"variant","day","sales"\n"A","mon","3"\n"B","mon","4"\n"A","tue","5"\n"B","tue","6.5"\n', [], WANT),
    "a comma at the end of each line": ("l.csv", PLAIN.replace("\n", ",\n"), [], WANT),
    "names with line breaks in quotes": (
        "l.csv", PLAIN.replace("A,", '"A\nnew",'), [], {"A\nnew": WANT["A"], "B": WANT["B"]},
    ),
    **{
        f"{inner!r} in quotes, lines end with {end!r}": (
            "l.csv", PLAIN.replace("\n", end).replace("A,", f'"A{inner}new",').encode(), [], {f"A{inner}new": WANT["A"], "B": WANT["B"]},
        )
        for inner in ("\r\n", "\r", "\n") for end in ("\n", "\r\n")
    },
    "line breaks of Windows in other columns": ("l.csv", PLAIN.replace("day,", "day,note,").replace("mon,", 'mon,"one\r\n\r\n""two"", three",').replace("tue,", "tue,,").encode(), [], WANT),
    "a line break in the header": ("l.csv", PLAIN.replace(HEAD, '"no\nte",variant,day,sales\n').replace("A,", ",A,").replace("B,", ",B,"), [], WANT),
    "a line break of Windows in the header": ("l.csv", PLAIN.replace(HEAD, '"no\nte",variant,day,sales\n').replace("A,", ",A,").replace("B,", ",B,").replace("\n", "\r\n"), [], WANT),
    "arms that two columns name": (
        "l.csv", PLAIN.replace("variant,", "size,color,").replace("A,", "1,red,").replace("B,", "01,red,"), ["--arm", "size:color"], {"1:red": WANT["A"], "01:red": WANT["B"]},
    ),
    "a column of counts for each outcome": (
        "l.csv", "variant,day,yes,no\nA,mon,3,7\nB,mon,0,10\nA,tue,1,29\nB,tue,2,8\n",
        ["--successes", "yes", "--n", "yes + no"], {"A": (40, 0.1), "B": (20, 0.1)},
    ),
    "German dates and decimal commas": (
        "l.csv", "variant;wann;sales\n" + "".join(f"{v};{t};{x}\n" for v, t, x in (("A", "31.1.2024", "3,0"), ("B", "31.1.2024", "4"), ("A", "1.2.2024", "5,0"), ("B", "1.2.2024", "6,5"))),
        ["--environment", "day(wann)"], WANT,
    ),
    "tabs in a file called .csv": ("l.csv", PLAIN.replace(",", "\t"), [], WANT),
    "packed": ("l.csv.gz", gzip.compress(PLAIN.encode()), [], WANT),
    "JSON, an array": ("l.json", json.dumps(FRAME.to_dicts()), [], WANT),
    "JSON lines with numbers as text": ("l.jsonl", "".join(json.dumps(row | {"sales": str(row["sales"])}) + "\n" for row in FRAME.to_dicts()), [], WANT),
    "Excel": ("l.xlsx", excel(Log=ROWS, Empty=[]), [], WANT),
    "Excel with a title above": ("l.xlsx", excel(Log=[[], *ROWS], Notes=[["made by hand"]]), ["--table", "Log"], WANT),
    "SQLite": ("l.db", sqlite, [], WANT),
    "SQLite by another name": ("l.csv", sqlite, [], WANT),
    "DuckDB": ("l.duckdb", duck, [], WANT),
    "an arm called NULL, told in a warning": (
        "l.csv", PLAIN.replace("A,", "NULL,"), [], {"NULL": WANT["A"], "B": WANT["B"]},
    ),
    "arms told apart by a space": (
        "l.csv", PLAIN + "B ,tue,6.5\n", [], WANT | {"B ": (1, 6.5)},
    ),
}  # fmt: skip

REFUSED: dict[str, Odd] = {
    "a comma that may be either": ("l.csv", HEAD + 'A,mon,"1,003"\nB,mon,"2,004"\n', [], r"holds '1,003', which is ambiguous: use decimal=','"),
    "a bad cell": ("l.csv", PLAIN + "A,wed,oops\n", [], r"column 'sales' must be numeric; it holds text in 1 row \(line 6: 'oops'\)"),
    "a bad cell below comments": ("l.csv", "# a\n\n" + PLAIN + "A,wed,oops\n", [], r"line 8: 'oops'"),
    "a bad cell in the only column left": ("l.csv", "variant,day,eur\nA,mon,3\nB,mon,$4\n", [], r"column 'eur' must be numeric; it holds text in 1 row \(line 3: '\$4'\)"),
    "yes among amounts": ("l.csv", PLAIN + "A,wed,yes\n", [], r"line 6: 'yes'"),
    "maybe among yes and no": ("l.csv", HEAD + "A,mon,yes\nB,mon,no\nA,tue,maybe\n", [], r"text in 3 rows \(line 2: 'yes', line 3: 'no', line 4: 'maybe'\)"),
    "two kinds of commas": ("l.csv", HEAD + 'A,mon,"3,5"\nB,mon,"1,234,567"\n', [], r"it holds text in 2 rows"),
    "more clicks than impressions": (
        "l.csv", "variant,day,clicks,shown\nA,mon,3,10\nB,mon,11,10\n", ["--successes", "clicks", "--n", "shown"],
        r"successes cannot exceed n: column 'clicks' holds 11 where 'shown' is 10",
    ),
    "half a click": (
        "l.csv", "variant,day,clicks,shown\nA,mon,3.5,10\nB,mon,1,10\n", ["--successes", "clicks", "--n", "shown"],
        r"counts must be whole numbers of at least 0; column 'clicks' holds 3\.5",
    ),
    "no environment, and none said": ("l.csv", "variant,sales\nA,3\nB,4\n", [], "cannot guess which column is the environment: use --environment, or --no-environment"),
    "steps that are no seconds": ("l.csv", "variant,ts,sales\nA,1,3\nB,1,4\n", ["--environment", "day(ts)"], r"day\(ts\) needs timestamps; column 'ts' holds numbers that are too small for seconds"),
    "times that are none": ("l.csv", "variant,ts,sales\nA,soon,3\nB,late,4\n", ["--environment", "day(ts)"], r"(could not convert|needs timestamps|invalid timestamp).*'?soon|soon"),
    "an unknown time zone": ("l.csv", PLAIN, ["--time-zone", "Berlin"], "unknown time zone 'Berlin'"),
    "an arm that no column is": ("l.csv", "day,A,B\nmon,3,4\n", ["--wide", "A,C", "--environment", "day"], "unknown column 'C'"),
    "names that differ in capitals": ("l.csv", "Sales,variant,day,sales\n1,A,mon,3\n1,B,mon,4\n", ["--reward", "sales"], "differ only in capitals: 'Sales' and 'sales'"),
    "only comments": ("l.csv", "# nothing\n# here\n", [], "has no line that names the columns, only empty lines or comments"),
    "no header": ("l.csv", "A,mon,3\nB,mon,4\n", [], "does the table have a header with names"),
    "Latin letters of one byte": ("l.csv", PLAIN.replace("A,", "Ä,").encode("latin-1"), [], r"not utf-8 encoded\. Save it as UTF-8 \(iconv -f latin1 -t utf8\)"),
    "clicks and impressions, and no word of them": (
        "l.csv", "date,variant,impressions,clicks\n2026-05-01,A,10,3\n2026-05-01,B,10,4\n", [],
        r"which column is the reward.*; for clicks out of impressions use --successes clicks --n impressions",
    ),
    "segments that are environments, too": (
        "l.csv", "night,machine,variant,sales\nn,m,A,1\nn,m,B,2\n", ["--environment", "night:machine", "--by", "machine"],
        r"by='machine' \(--by machine\) fits each machine separately: use environment='night' \(--environment night\) instead of 'night:machine'",
    ),
    "a line too short": ("l.csv", PLAIN + "A,wed\n", [], r"Line: 6; .*Expected Number of Columns: 3 Found: 2"),
    "an empty sheet": ("l.xlsx", excel(Empty=[]), [], "choose which sheet of .* it contains only empty sheets"),
    "two sheets": ("l.xlsx", excel(One=ROWS, Two=ROWS), [], "choose which sheet .*; it contains 'One' and 'Two'"),
    "an unknown sheet": ("l.xlsx", excel(One=ROWS), ["--table", "On"], "unknown sheet 'On'; did you mean 'One'"),
    "no Excel file at all": ("l.xlsx", "hello", [], "cannot read .*xlsx'"),
    "a SQLite file with an unknown table": ("l.sqlite", sqlite, ["--table", "logs"], "unknown table 'logs'; did you mean 'log'"),
    "a damaged SQLite file": ("l.sqlite", b"SQLite format 3\x00" + b"x" * 2000, [], "cannot read .*(malformed|not a database)"),
    "a database that is none": ("l.db", "hello, this is text", [], "cannot read .*l.db: .*not a valid DuckDB database"),
    "a picture": ("l.png", b"\x89PNG", [], r"cannot read \.png files"),
    "bytes": ("l.csv", bytes(range(256)) * 4, [], ""),
}  # fmt: skip


def analyze(tmp_path, odd):
    name, content, options, _ = odd
    path = tmp_path / name
    if callable(content):
        content(path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return CliRunner().invoke(app, ["analyze", str(path), "--json", *options])


@pytest.mark.parametrize("name", RIGHT)
def test_read_right(tmp_path, name):
    found = analyze(tmp_path, RIGHT[name])
    assert not isinstance(found.exception, TideproofError), str(found.exception)
    arms = {
        row["arm"]: (row["n"], pytest.approx(row["raw_mean"])) for row in json.loads(found.stdout)["arms"]
    }
    assert arms == RIGHT[name][3]


def test_excel_without_its_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    error = analyze(tmp_path, RIGHT["Excel"]).exception
    assert isinstance(error, MissingExtra)
    assert str(error) == "reading Excel files needs python-calamine: pip install 'tideproof[excel]'"


@pytest.mark.parametrize("name", REFUSED)
def test_refused_in_one_line(tmp_path, name):
    error = analyze(tmp_path, REFUSED[name]).exception
    assert isinstance(error, TideproofError), repr(error)
    said = str(error)
    assert "\n" not in said
    assert len(said) < 400
    assert re.search(REFUSED[name][3], said), said
