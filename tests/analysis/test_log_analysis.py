"""The pipeline from a log to a decision: the same from Python and from the command line, and nothing twice."""

import re

import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.analysis.log_analysis import analyze_log
from tideproof.analysis.log_options import (
    AnalysisOptions,
    ColumnOptions,
    ComparisonOptions,
    StatisticsOptions,
)
from tideproof.cli import app
from tideproof.commands.option_types import spell_option
from tideproof.errors import InputError
from tideproof.stats.solve import least_squares

ROWS = "".join(
    f"{arm},d{day},{day + 2 * (arm == 'B') + 0.1 * k}\n" for day in range(5) for arm in "AB" for k in range(3)
)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(f"arm,day,reward\n{ROWS}")
    return str(path)


def options(guess=True, **comparisons):
    return AnalysisOptions(columns=ColumnOptions(guess=guess), comparisons=ComparisonOptions(**comparisons))


def test_the_result_contains_columns_cells_fit_decision_and_words(log):
    found = analyze_log(log, options(control="A", expected=[1.0, 1.0]))
    assert str(found.columns) == "arm = arm, environment = day, reward = reward"
    assert found.columns.guessed == ("arm", "environment", "reward")
    assert (found.cells.K, found.cells.J) == (2, 5)
    assert found.decision.best == found.report.fit.best == "B"
    said = found.to_dict()
    assert said["verdict"] == found.fit.verdict == found.report.verdict
    assert said["against"]["control"] == "A"
    assert said["sample_ratio"]["p"] == pytest.approx(1.0)
    assert said["columns"] == {
        "arm": "arm",
        "environment": "day",
        "reward": "reward",
        "guessed": ("arm", "environment", "reward"),
    }
    assert tp.fit(log, arm="arm", environment="day", reward="reward").to_dict().items() <= said.items()


def test_the_same_cells_are_solved_once(log, monkeypatch):
    solved, solve = [], least_squares.solve
    monkeypatch.setattr(least_squares, "solve", lambda cells: solved.append(cells) or solve(cells))
    found = analyze_log(log, options(shorter_environments=True))
    assert found.report.warnings is not None
    assert len({id(cells) for cells in solved}) == len(solved)
    assert sum(cells is found.cells for cells in solved) == 1


@pytest.mark.parametrize(
    ("columns", "statistics", "comparisons", "words", "said"),
    [
        ({"time": "day", "unit": "reward"}, {}, {}, "--time day --unit reward", "leave out {unit}, or"),
        ({"time": "day", "environment": None}, {}, {}, "--time day --no-environment", "leave out {environment=None}, or"),
        ({"time": "day"}, {"robust": "cells"}, {}, "--time day --robust cells", "leave out {robust}, or"),
        ({}, {"robust": "cells"}, {"by": "day"}, "--robust cells --by day", "{robust} cannot be combined with {by}: "),
        ({}, {"adaptive": True}, {"by": "day"}, "--adaptive --by day", "require anytime=True (--anytime)"),
        ({"unit": "day"}, {"variance": "by-arm"}, {}, "--unit day --variance by-arm", "leave out variance='by-arm'"),
    ],
)  # fmt: skip
def test_python_and_the_command_line_refuse_the_same(log, columns, statistics, comparisons, words, said):
    names = ("unit", "environment=None", "robust", "by")
    asked = AnalysisOptions(
        columns=ColumnOptions(guess=True, **columns),
        statistics=StatisticsOptions(**statistics),
        comparisons=ComparisonOptions(**comparisons),
    )
    with pytest.raises(InputError) as python:
        analyze_log(log, asked)
    line = CliRunner().invoke(app, ["analyze", log, *words.split()])
    assert said.format_map({name: name for name in names}) in str(python.value)
    assert said.format_map({name: spell_option(name) for name in names}) in str(line.exception)


def test_every_option_takes_one_line_of_80_columns():
    shown = CliRunner().invoke(app, ["analyze", "--help"], env={"COLUMNS": "80"}).stdout
    lines = [line for line in shown.splitlines() if line.startswith("│")]
    assert len(lines) > 30
    assert all("--" in line[:12] or "FILE" in line[:12] for line in lines)
    assert max(map(len, shown.splitlines())) <= 80
    titles = [shown.index(title) for title in ("Examples:", "Columns of the log", "Statistics", "Output")]
    assert titles == sorted(titles)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"level": 0.9}, "{}() has no option 'level'; use confidence="),
        ({"cap": 0.99}, "{}() has no option 'cap'; use winsorize="),
        ({"varience": "common"}, "unknown option 'varience' of {}(); did you mean 'variance'?"),
    ],
)
def test_an_option_of_an_unknown_name_is_named_with_the_right_one(options, said):
    log = {"arm": "ABAB", "shop": "nnss", "sales": [1.0, 2.0, 1.2, 2.1]}
    with pytest.raises(tp.errors.UnknownName, match=f"^{re.escape(said.format('segments'))}"):
        tp.segments(log, by="shop", arm="arm", environment=None, reward="sales", **options)
    with pytest.raises(tp.errors.UnknownName, match=f"^{re.escape(said.format('metrics'))}"):
        tp.metrics(log, rewards=["sales"], arm="arm", environment=None, **options)
