"""Labels with commas, quotes or spaces at their ends are in quotes wherever labels are listed."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app

LARGE, SMALL = "red, large", "red"
SHOPS = ["north, old", "south"]


def log(seed=0, gap=0.0, days=12):
    """Return a log of three arms, one of which has a name with a comma, in two shops."""
    random = np.random.default_rng(seed)
    rows = [
        (arm, f"May {day}, 2024", SHOPS[k % 2], gap * (arm == LARGE) + random.normal())
        for day in range(1, days + 1)
        for arm in (LARGE, SMALL, "blue")
        for k in range(6)
    ]
    return {
        name: list(column)
        for name, column in zip(("arm", "day", "shop", "y"), zip(*rows, strict=True), strict=True)
    }


def test_candidates():
    fit = tp.fit(log(), arm="arm", environment="day", reward="y")
    assert f"'{LARGE}'" in fit.verdict
    assert f"{LARGE} and" not in fit.verdict.replace(f"'{LARGE}'", "")


def test_arms_that_cannot_be_compared():
    data = log()
    data["day"] = [f"{day} {arm == LARGE}" for day, arm in zip(data["day"], data["arm"], strict=True)]
    fit = tp.fit(data, arm="arm", environment="day", reward="y")
    assert f"('{LARGE}')" in fit.verdict
    with pytest.raises(tp.errors.NotComparable, match=f"'{LARGE}' and red cannot be compared"):
        fit.contrast(LARGE, SMALL)


def test_segments():
    found = tp.segments(log(gap=4.0), by="shop", arm="arm", environment="day", reward="y")
    assert found.verdict.startswith(f"'{LARGE}' is best")
    data, low = log(gap=4.0), {(LARGE, "south"): 12.0, (SMALL, "north, old"): 4.0}
    places = zip(data["y"], zip(data["arm"], data["shop"], strict=True), strict=True)
    data["y"] = [y - low.get(place, 0.0) for y, place in places]
    found = tp.segments(data, by="shop", arm="arm", environment="day", reward="y")
    assert f"'{LARGE}' in 'north, old'" in found.verdict
    table = tp.segments(log(), by="shop", arm="arm", environment="day", reward="y").table
    assert any(f"'{LARGE}'" in text for text in table["candidates"])


def test_the_command_lists_labels_in_quotes(tmp_path):
    path, data = tmp_path / "log.csv", log(gap=1.0)
    for name in ("arm", "day", "shop"):
        data[name] = [f'"{label}"' for label in data[name]]
    rows = "\n".join(",".join(map(str, row)) for row in zip(*data.values(), strict=True))
    path.write_text("arm,day,shop,y\n" + rows + '\nonly one,"June 1, 2024","south",3\n')
    columns = ["--arm", "arm", "--environment", "day", "--reward", "y", "--control", LARGE, "--by", "shop"]
    done = CliRunner().invoke(
        app, ["analyze", str(path), *columns, "--expect", "9:1:1:1"], env={"COLUMNS": "999"}
    )
    assert done.exit_code == 4, done.output  # one arm cannot be compared
    said = done.stdout.replace(f"'{LARGE}'", "").replace("'north, old'", "").replace("'June 1, 2024", "")
    for label in (LARGE, "north, old", "June 1, 2024"):
        assert label not in said
