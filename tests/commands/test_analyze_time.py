"""`tideproof analyze --time`: logs without labels, and labels that are too coarse."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hidden_tide_logs import rounds
from tideproof.cli import app


@pytest.fixture
def log(tmp_path):
    arm, y, _ = rounds("none", 3, 300, np.random.default_rng(2))
    time = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.arange(300) * 10, unit="min")
    y = y + 5.0 * (time >= "2024-05-02 06:00")
    path = tmp_path / "log.csv"
    frame = pd.DataFrame({"variant": np.array(list("ABC"))[arm], "ts": time, "sales": y})
    frame.sample(frac=1.0, random_state=1).to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(app, ["analyze", *map(str, arguments)], env={"COLUMNS": "120"})


def test_a_log_without_labels(log, tmp_path):
    page = tmp_path / "report.html"
    done = run(log, "--time", "ts", "--html", page)
    assert done.exit_code == 5
    assert "C is best on average over th" in done.stdout
    assert " around 2024-05-02 06:00 (probability" in " ".join(done.stdout.split())
    assert "The hidden tide" in page.read_text(encoding="utf-8")
    found = json.loads(run(log, "--time", "ts", "--json").stdout)
    assert found["tide"]["time_column"] == "ts"
    assert [change["time"] for change in found["tide"]["changes"]] == ["2024-05-02 06:00"]


def test_clicks_without_labels_are_put_into_bins(tmp_path):
    """Followed row by row, these said that nothing differs; 3 against 9 % is named in all but one log of 10^6."""
    random = np.random.default_rng(3)
    arm = random.integers(2, size=4000)
    time = pd.Timestamp("2024-05-01") + pd.to_timedelta(np.arange(4000) * 5, unit="min")
    clicks = (random.random(4000) < np.where(arm, 0.09, 0.03)).astype(int)
    place, page = tmp_path / "clicks.csv", tmp_path / "report.html"
    pd.DataFrame({"variant": np.array(list("AB"))[arm], "ts": time, "click": clicks}).to_csv(
        place, index=False
    )
    done = run(place, "--time", "ts", "--html", page)
    assert done.exit_code == 5  # bins are about these days only
    assert "B is best on average over these 40 environments (95 % confidence)" in " ".join(
        done.stdout.split()
    )
    assert "40 time bins" in " ".join(done.stdout.split())
    assert "40 time bins" in page.read_text(encoding="utf-8")
    found = json.loads(run(place, "--time", "ts", "--json").stdout)
    assert found["tide"] == {"binned_by": "ts", "bins": 40, "rewards_a_bin": 100}


def test_labels_that_are_too_coarse_are_warned_of(log):
    done = json.loads(run(log, "--json").stdout)  # day(ts) is guessed
    (warning,) = [each for each in done["warnings"] if "changes within environments" in each]
    assert "significance level 0.001" in warning
    assert any("--environment 'hour(ts)'" in each for each in done["notes"])
    finer = json.loads(run(log, "--environment", "hour(ts)", "--json").stdout)
    assert not any("changes within environments" in each for each in finer["warnings"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "ts"], "leave out --by"),
        (["--winsorize", "99%"], "leave out --winsorize"),
        (["--anytime"], "leave out --anytime"),
        (["--no-environment"], "leave out --no-environment"),
        (["--scale", "odds"], "leave out scale='odds'"),
        (["--variance", "sandwich"], "leave out variance='sandwich'"),
    ],
)
def test_what_does_not_go_with_a_hidden_tide(log, options, message):
    done = run(log, "--arm", "variant", "--reward", "sales", "--time", "ts", *options)
    assert message in str(done.exception)
    assert done.stdout == ""
