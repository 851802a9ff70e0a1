"""Labels stay as they are written in a file, are found by their text, and are sorted as people read them."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.data import cells
from tideproof.errors import UnknownName

LABELS = {
    "truth values": ["no", "yes"],
    "true and false": ["FALSE", "true"],
    "0 and 1 with zeros before": ["01", "1"],
    "numbers with decimals": ["1.0", "1.50"],
    "numbers in order": ["9", "10", "11"],
    "exponents": ["1e3", "2000"],
    "long numbers": ["18446744073709551617", "18446744073709551618"],
    "dates": ["2024-02-01", "2024-12-31"],
    "times": ["2024-02-01T10:00", "2024-02-01T11:30:00Z"],
    "German dates in order": ["30.1.2024", "1.02.2024", "31.12.2024"],
    "US dates in order": ["01/31/2024", "2/1/24"],
    "dates that may be German or US": [
        "1/2/2024",
        "10/1/2024",
        "2/1/2024",
    ],  # in the order of their characters
    "words and numbers": ["10", "9", "new"],
    "spaces": [" A", "A"],
}
ENDS = {".csv": ",", ".tsv": "\t", ".csv.gz": ","}


def table(labels, column="arm"):
    """Return a log in which each label occurs in three environments (or arms)."""
    other = "environment" if column == "arm" else "arm"
    rows = [(label, where, i + k % 2) for i, label in enumerate(labels) for k, where in enumerate("xyz" * 2)]
    return pd.DataFrame(rows[::-1], columns=[column, other, "reward"])  # not in order


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("ending", ENDS)
@pytest.mark.parametrize("column", ["arm", "environment"])
def test_labels_of_text_files_stay_as_written(labels, ending, column, tmp_path):
    path = tmp_path / f"log{ending}"
    table(labels, column).to_csv(path, sep=ENDS[ending], index=False)
    found = cells(path, "arm", "environment", "reward")
    assert getattr(found, f"{column}s") == labels


def test_labels_stay_as_written_where_types_are_inferred_from_all_rows(tmp_path):
    """The first text among the rewards is behind the rows from which types are inferred at first."""
    path = tmp_path / "log.csv"
    rows = [f"{'yes' if i % 2 else 'no'},0{i % 3},{i % 5}\n" for i in range(30_000)]
    path.write_text("arm,day,reward\n" + "".join(rows) + 'no,00,"1,5"\n')
    found = cells(path, "arm", "day", "reward")
    assert (found.arms, found.environments) == (["no", "yes"], ["00", "01", "02"])


def test_segments_stay_as_written(tmp_path):
    path = tmp_path / "log.csv"
    log = pd.concat([table("AB").assign(country=name) for name in ("no", "se")])
    log.to_csv(path, index=False)
    found = tp.segments(path, by="country", arm="arm", environment="environment", reward="reward")
    assert found.table["segment"] == ["no", "se"]
    log.assign(country=log.country == "no").to_csv(path, index=False)
    found = tp.segments(path, by="country", arm="arm", environment="environment", reward="reward")
    assert found.table["segment"] == ["False", "True"]


def test_units_with_long_ids_stay_different(tmp_path):
    """As floating-point numbers, all of these IDs would be equal."""
    path = tmp_path / "log.csv"
    rows = [
        (arm, where, 2**64 + i, i % 3)
        for i, (arm, where) in enumerate(zip("AB" * 6, "xxyyzz" * 2, strict=True))
    ]
    pd.DataFrame(rows, columns=["arm", "environment", "user", "reward"]).astype(str).to_csv(path, index=False)
    found = tp.fit(path, arm="arm", environment="environment", reward="reward", unit="user")
    assert len(set(found.cells.units.unit.tolist())) == 12


def run(*arguments):
    return CliRunner().invoke(app, ["analyze", *map(str, arguments), "--json", "--no-progress"])


def analyzed(path, *options):
    columns = ["--arm", "arm", "--environment", "environment", "--reward", "reward"]
    done = run(path, *columns, *options)
    assert done.exit_code in (0, 3, 5), done.output
    return json.loads(done.stdout)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (["no", "yes"], "yes"),
        (["01", "1"], "01"),
        ([1, 2], "1"),
        ([1.0, 2.5], "2.5"),
        ([True, False], "true"),
    ],
)
def test_a_control_is_named_by_its_text(ending, labels, name, tmp_path):
    path = tmp_path / f"log.{ending}"
    log = table(labels)
    (log.to_csv if ending == "csv" else log.to_parquet)(path, index=False)
    shares = ",".join(f"{label}=1" for label in labels)
    found = analyzed(path, "--control", name.title() if ending == "csv" and name == "true" else name)
    assert str(found["against"]["control"]).lower() == name
    ratio = analyzed(path, "--expect", shares)["sample_ratio"]
    assert [row["left_out"] for row in ratio["arms"]] == [0, 0]
    assert [row["expected"] for row in ratio["arms"]] == [6, 6]


def test_databases_and_frames_keep_their_types(tmp_path):
    path = tmp_path / "log.parquet"
    log = table([True, False])
    log.to_parquet(path, index=False)
    for data in (path, log, pl.from_pandas(log)):
        assert sorted(cells(data, "arm", "environment", "reward").arms) == [False, True]


def test_arms_of_a_file_are_also_found_by_number(tmp_path):
    path = tmp_path / "log.csv"
    table([1, 2, 3]).to_csv(path, index=False)
    fit = tp.fit(path, arm="arm", environment="environment", reward="reward")
    assert fit.contrast(1, 2) == fit.contrast("1", "2")
    assert tp.against(fit, 1)["arm"] == ["2", "3"]
    assert fit.rival(3) == "2"
    assert fit.sample_ratio({1: 1, 2: 1, 3: 2}).p == fit.sample_ratio({"1": 1, "2": 1, "3": 2}).p
    with pytest.raises(UnknownName, match="unknown arm 4; known: '1', '2', '3'"):
        fit.contrast(4, 1)
    with pytest.raises(UnknownName, match="unknown control 4"):
        tp.against(fit, 4)


def test_a_warning_says_that_two_labels_are_the_same_number(tmp_path):
    path = tmp_path / "log.csv"
    table(["01", "1", "2"]).to_csv(path, index=False)
    assert any("Arms '01' and '1' are the same number" in text for text in analyzed(path)["warnings"])
