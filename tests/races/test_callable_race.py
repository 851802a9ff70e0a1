"""`tp.bench` and the fixture of pytest: races of functions."""

import subprocess
import sys

import pytest

import tideproof as tp
from tideproof.races.callable_race import calibrate_calls, measure_calls


def spin(count):
    return lambda: sum(range(count))


def test_a_function_with_twice_the_work_is_slower():
    result = tp.bench({"twice": spin(40_000), "once": spin(20_000)}, time="cpu", max_rounds=100, seed=1)
    assert (result.standing, result.fastest) == ("fastest", ["once"])
    assert result.comparisons[0].estimate > 0.5


def test_times_are_those_of_one_call():
    calls = calibrate_calls(spin(1000))
    assert measure_calls(spin(1000), calls)[0] >= 0.002
    result = tp.bench({"a": spin(1000), "b": spin(4000)}, time="cpu", max_rounds=30)
    assert 1e-6 < result.table["cpu"][0] < 1e-3


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([spin(1)], "functions by name"),
        ({"a": 1, "b": 2}, "functions by name"),
        ({"a": spin(1)}, "at least two commands"),
    ],
)
def test_what_is_not_a_race(functions, message):
    with pytest.raises(tp.errors.InputError, match=message):
        tp.bench(functions)


TESTS = """
import time

def spin(count):
    return lambda: sum(range(count))

def test_faster(tideproof_bench):
    assert tideproof_bench(spin(60_000), spin(20_000), time="cpu").standing == "not slower"

def test_slower(tideproof_bench):
    tideproof_bench(spin(20_000), spin(60_000), time="cpu")

def test_undecided(tideproof_bench):
    tideproof_bench(spin(20_000), spin(20_000), time="cpu", slower_by=0.0001, max_rounds=8)
"""


def test_the_fixture_passes_fails_and_skips(tmp_path):
    (tmp_path / "test_speed.py").write_text(TESTS)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-c",
        "/dev/null",
    ]  # finds the plug-in by its entry point
    shown = subprocess.run([*command, "--rootdir", tmp_path, tmp_path], capture_output=True, text=True).stdout
    assert "1 failed, 1 passed, 1 skipped" in shown
    assert "Slower by more than 2 % in CPU time: head is " in shown
    assert "Undecided whether slower than base by 0.01 % in CPU time" in shown
