"""`tideproof simulate` as the shell runs it."""

from __future__ import annotations

import json
import sys

import pytest

import tideproof as tp
from simulations import BUDGETS, POLICIES, WORLD, Interrupting, same
from tideproof.cli import main
from tideproof.lab import engines

pytest.importorskip("numba")


def run(monkeypatch, *arguments):
    """Run the command line as the shell does; return its exit code."""
    monkeypatch.setattr(sys, "argv", ["tideproof", *arguments])
    try:
        main()
    except SystemExit as end:
        return end.code or 0
    return 0


def _flat(box):
    return " ".join(box.replace("│", " ").split())


def test_command_prints_a_table_and_saves_files(monkeypatch, capsys, tmp_path):
    csv, saved, picture = tmp_path / "t.csv", tmp_path / "s.json", tmp_path / "p.svg"
    command = "simulate --arms 5 --configuration mdm --scenario general --budgets 30,60,100 --no-progress"
    command += " --policies linlucb,round-robin --policies round-robin+ols --replications 3500 --seed 7"
    files = ["--csv", str(csv), "--save", str(saved), "--plot", str(picture)]
    assert run(monkeypatch, *command.split(), *files) == 0
    shown = capsys.readouterr().out
    study = tp.Study.load(saved)
    assert same(study, tp.simulate(WORLD, POLICIES, BUDGETS, replications=3500, seed=7))
    assert f"{study.pics('linlucb')[0]:.4f} ± {study.standard_error('linlucb')[0]:.4f}" in shown
    begins = {line.index(line.split()[1]) for line in shown.splitlines() if "│ " in line and "±" in line}
    assert len(begins) == 1  # labels are on the left
    assert all(str(path.name) in shown.replace("\n", "") for path in (csv, saved, picture))
    assert csv.read_text().splitlines()[0].startswith("policy,budget,pics,")
    assert picture.read_text().lstrip().startswith("<?xml")


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        (
            "",
            (
                tp.mdm(5),
                ["contrast", "linlucb", "round-robin+ols", "round-robin"],
                [100, 200, 500],
                10_000,
                0,
            ),
        ),
        (
            "--arms 4 --configuration slippage --scenario worst-case --delta 0.25 --sigma 2 --policies p1 "
            "--budgets 50 --replications 2e3 --seed 9",
            (tp.slippage(4, "worst-case", 0.25, 2.0), ["p1"], [50], 2_000, 9),
        ),
    ],
)
def test_what_is_simulated(monkeypatch, typed, wanted):
    asked = []

    def recorded(*arguments):
        asked.append(arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr("tideproof.lab.simulation.simulate", recorded)
    assert run(monkeypatch, "simulate", *typed.split()) == 130
    assert asked == [(*wanted, None, True, "auto")]


@pytest.mark.parametrize("width", [28, 60])  # a number may be cut at its sign, not within
def test_numbers_stay_whole_on_a_narrow_screen(monkeypatch, capsys, width):
    monkeypatch.setenv("COLUMNS", str(width))
    command = (
        "simulate --policies linlucb,round-robin --budgets 30,60,100,200 --replications 300 --no-progress"
    )
    assert run(monkeypatch, *command.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if "linlucb" in line or "round-robin" in line]
    assert len(rows) > 2
    text = "".join(lines)
    assert text.count("±") + text.count("<") == 8 + 1  # two policies at four budgets, and the title
    assert "…" not in text


def test_command_prints_json_for_scripts(monkeypatch, capsys):
    command = (
        "simulate --json --policies round-robin --budgets 30 --replications 100 --configuration slippage"
    )
    assert run(monkeypatch, *command.split()) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["policy"], row["budget"], row["samples"]) == ("round-robin", 30, 30.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--scenario stormy", "unknown scenario 'stormy'"),
        ("--configuration flat", "unknown configuration 'flat'"),
        ("--policies linluck", "unknown policy 'linluck'"),
        ("--budgets 100,x", "whole numbers separated by commas, not 'x'"),
        ("--budgets 10", "a budget of 10 is too small for linlucb"),
        ("--arms 1", "arms must be a whole number of at least 2, not 1"),
        ("--delta nan", "delta must be a finite number"),
        ("--csv /nowhere/t.csv", "there is no folder '/nowhere'"),
        ("--plot p.docx", "a picture must end in"),
    ],
)
def test_command_errors_are_one_line(monkeypatch, capsys, arguments, message):
    assert run(monkeypatch, "simulate", *arguments.split()) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_numbers_as_they_are_typed(monkeypatch, capsys):
    command = "simulate --json --policies round-robin --budgets 3e1 --replications"
    assert run(monkeypatch, *command.split(), "1e2") == 0
    assert run(monkeypatch, *command.split(), "100") == 0
    typed, plain = capsys.readouterr().out.splitlines()
    assert typed == plain
    assert json.loads(plain)[0]["budget"] == 30
    for wrong in ("many", "1.5", "1e-2", "inf", "nan", "1e999999999"):
        assert run(monkeypatch, *command.split(), wrong) == 2
        assert f"whole number such as 1000 or 1e5, not '{wrong}'" in _flat(capsys.readouterr().err)
    assert run(monkeypatch, "simulate", "--delta", "half") == 2
    assert "it must be a number, not 'half'" in _flat(capsys.readouterr().err)


def test_command_ends_with_130_when_interrupted(monkeypatch, capsys):
    interrupted = engines.CPU._replace(workers=lambda: Interrupting(at=1))
    monkeypatch.setattr(engines, "CPU", interrupted)
    command = "simulate --policies round-robin --budgets 30 --replications 5000 --no-progress"
    assert run(monkeypatch, *command.split()) == 130
    captured = capsys.readouterr()
    assert "interrupted after 1,000 of 5,000 replications" in captured.err
    assert "round-robin" in captured.out
