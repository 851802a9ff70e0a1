"""What is said about a race: sentences, table, Markdown, JSON, hints and the picture."""

import json
import math

import pytest

import tideproof as tp
from races.simulated_machine import run_race
from tideproof.races.race_comparison import RaceComparison
from tideproof.races.race_text import comparison_text, difference_text, interval_text, reversed_comparison


def comparison(estimate, low, high, **known):
    flags = dict.fromkeys(("slower", "faster", "same", "over_limit", "within_limit"), False)
    return RaceComparison("new", "old", "wall", estimate, low, high, **(flags | known), rounds=20)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((-0.018, -0.024, -0.012), "1.8 % faster (1.2 to 2.4 %)"),
        ((0.018, 0.012, 0.024), "1.8 % slower (1.2 to 2.4 %)"),
        ((0.018, -0.012, 0.024), "1.8 % slower (-1.2 to +2.4 %)"),
        ((-0.0021, -0.0022, -0.0020), "0.210 % faster (0.200 to 0.220 %)"),
        ((-0.6, -0.75, -0.5), "2.5 times as fast (2 to 4)"),
        ((1.5, 1.0, 2.0), "2.5 times as slow (2 to 3)"),
        ((0.1, -1.0, math.inf), "10.0 % slower (no lower bound to no upper bound)"),
    ],
)
def test_differences(values, text):
    assert difference_text(comparison(*values)) == text


def test_clauses():
    assert (
        comparison_text(comparison(0.02, 0.01, 0.03, slower=True), 0.01)
        == "new is 2.0 % slower than old (1.0 to 3.0 %)"
    )
    assert (
        comparison_text(comparison(1.5, 1.0, 2.0, slower=True), 0.01)
        == "new is 2.5 times as slow as old (2 to 3)"
    )
    assert (
        comparison_text(comparison(0.001, -0.004, 0.005, same=True), 0.01)
        == "new and old are the same within 1 % (-0.4 to +0.5 %)"
    )
    assert (
        comparison_text(comparison(0.1, -0.2, 0.5), 0.01)
        == "new and old cannot be told apart yet (-20.0 to +50.0 %)"
    )
    assert interval_text(comparison(0.1, -0.2, 1e7)) == "-20.0 to no upper bound"


def test_a_comparison_from_the_other_side():
    turned = reversed_comparison(comparison(1.0, 0.25, math.inf, slower=True))
    assert (turned.command, turned.reference, turned.faster, turned.slower) == ("old", "new", True, False)
    assert (turned.estimate, turned.low, turned.high) == (-0.5, -1.0, pytest.approx(-0.2))


@pytest.mark.parametrize(
    ("times", "options", "begin"),
    [
        ([0.01, 0.012], {}, "c0 is 18.0 % faster than c1 ("),
        ([0.01, 0.01], {"clock": "cpu"}, "c0 and c1 take the same CPU time within 1 % (c"),
        ([0.01, 0.011, 0.012], {}, "c0 is the fastest in wall time: c0 is "),
        (
            [0.01, 0.01, 0.02],
            {"clock": "cpu"},
            "c0 and c1 take the same CPU time within 1 %, and the others are slower;",
        ),
        (
            [0.01, 0.012],
            {"gate": 0.02},
            "Slower by more than 2 % in wall time: c1 is 21.9 % slower than c0 (",
        ),
        ([0.01, 0.009], {"gate": 0.02}, "Not slower than c0 by 2 % in wall time: c1 -"),
        ([0.01, 0.01], {"max_rounds": 8}, "c0 and c1 cannot be told apart yet ("),
        (
            [0.01, 0.01],
            {"max_rounds": 8, "gate": 0.001},
            "Undecided whether slower than c0 by 0.1 % in wall time: c1 ",
        ),
    ],
)
def test_sentences(times, options, begin):
    sentence = run_race(times, seed=3, **options).sentence
    assert sentence.replace("c1 and c0", "c0 and c1").startswith(begin)
    assert sentence.endswith(".")
    assert "CPU time" in sentence
    assert "wall time" in sentence


def test_json_is_what_scripts_for_hyperfine_read(tmp_path):
    result = run_race([0.01, 0.012])
    found = json.loads(json.dumps(result.to_dict()))
    first, second = found["results"]
    assert (first["command"], second["command"]) == ("c0", "c1")
    assert first["min"] <= first["median"] <= first["max"]
    assert sum(first["times"]) / len(first["times"]) == pytest.approx(first["mean"])
    assert len(first["times"]) == len(first["rounds"]) == len(first["exit_codes"]) == result.rounds
    assert found["tideproof"]["standing"] == "fastest"
    path = tmp_path / "race.json"
    path.write_text(json.dumps(found))
    fit = tp.fit(
        path, arm="command", environment="round", reward="seconds", direction="minimize", scale="log"
    )
    assert fit.best == "c0"


def test_markdown_and_notebook():
    result = run_race([0.01, 0.0104], clock="cpu")
    text = result.to_markdown()
    assert text.startswith("**c0 is ")
    assert "| `c1` | " in text
    assert "layout of the program" in text
    assert "<table" in result._repr_html_()
    assert repr(result).startswith("c0 is ")


def test_hints():
    short = run_race([0.001, 0.002]).hints
    assert sum("starting a process" in each for each in short) == 2
    slow = run_race([0.01, 0.02], noise=1.5, max_rounds=60).hints
    assert any("more than 1.5 times the median" in each for each in slow)


def test_the_picture(tmp_path):
    pytest.importorskip("matplotlib")
    run_race([0.01, 0.02, 0.03]).plot(tmp_path / "race.svg")
    assert "wall time" in (tmp_path / "race.svg").read_text()
    with pytest.raises(tp.errors.InputError, match="must end in"):
        run_race([0.01, 0.02]).plot(tmp_path / "race.txt")
