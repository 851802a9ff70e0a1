"""The command `tideproof bench`: real commands, exit codes, files, interruption."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from tideproof.cli import app

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="no POSIX processes")
SHORT, LONG = (f"{sys.executable} -S -E -c 'for i in range({n}): pass'" for n in (100_000, 1_000_000))


def bench(*words):
    shown = CliRunner().invoke(app, ["bench", *words], env={"COLUMNS": "200"})
    return shown.exit_code, shown.stdout, str(shown.exception)


def test_a_race_with_all_its_files(tmp_path):
    json_path, markdown, picture = (str(tmp_path / f"race.{end}") for end in ("json", "md", "svg"))
    files = ["--export-json", json_path, "--export-markdown", markdown, "--plot", picture]
    code, shown, _ = bench(SHORT, LONG, "--name", "short", "--name", "long", "--time", "cpu", *files)
    assert code == 0
    assert re.match(r"short is \d+\.\d % faster than long|short is [\d.]+ times as fast as long", shown)
    assert "intervals hold together with 95 % confidence" in shown
    first, second = json.loads((tmp_path / "race.json").read_text())["results"]
    assert 1.2 * first["median"] < second["median"]
    assert (tmp_path / "race.md").read_text().startswith("**short is ")
    assert (tmp_path / "race.svg").exists()


@pytest.mark.parametrize(("commands", "code"), [((SHORT, LONG), 1), ((LONG, SHORT), 0)])
def test_a_gate_says_by_its_exit_code_whether_the_second_is_slower(commands, code):
    assert bench(*commands, "--time", "cpu", "--gate", "5%")[0] == code


def test_an_undecided_race_has_an_exit_code_of_its_own():
    code, shown, _ = bench(
        "true", "true", "--max-time", "0.01", "--min-rounds", "1", "--json", "--warmup", "0"
    )
    assert code == 3
    assert json.loads(shown)["tideproof"]["standing"] == "undecided"


def test_parameters_and_environment_variables():
    words = ["sh -c 'test $X = 5 -a {n} -gt 0'", "--parameter-list", "n=1,2", "--env", "X=5"]
    code, shown, _ = bench(*words, "--max-time", "0.01", "--json")
    assert code == 3
    assert [each["parameters"] for each in json.loads(shown)["results"]] == [{"n": "1"}, {"n": "2"}]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["true"], "a race needs at least two commands, not 1"),
        (["true", "false"], "false: exit code 1; --ignore-failure"),
        (["true", "/no/such/command"], "cannot run '/no/such/command': No such file or directory"),
        (
            ["true", "sleep 20", "--timeout", "0.2"],
            "sleep 20: killed because it was still running after 0.2 s",
        ),
        (["true", "a | b"], "'a | b' needs a shell"),
        (
            ["true", "true", "--gate", "120%"],
            "--gate must be a percentage such as 2% or a number such as 0.02",
        ),
        (["true", "true", "--time", "moon"], "time must be one of wall, cpu, auto"),
        (["true", "true", "--export-json", "no/dir.json"], "there is no folder 'no'"),
        (["--compare", "a.json", "b.json"], "there are no results of benchmarks in 'a.json'"),
    ],
)
def test_what_is_refused(words, message):
    code, shown, error = bench(*words)
    assert code != 0
    assert message in error
    assert shown == ""


def test_a_command_that_fails_later_leaves_the_results_so_far(tmp_path):
    script = f"echo x >> {tmp_path}/runs; test $(wc -l < {tmp_path}/runs) -le 20"
    code, shown, error = bench("true", f"sh -c '{script}'", "--same-within", "0.0001%", "--min-rounds", "100")
    assert code != 0
    assert "exit code 1" in error
    assert "17 rounds" in shown  # after 3 runs of the warm-up


def test_comparison_of_files(tmp_path):
    for name, times in (("base", [1.0, 2.0, 3.0]), ("head", [1.1, 2.21, 3.29])):
        results = [{"command": str(i), "times": [t]} for i, t in enumerate(times)]
        (tmp_path / f"{name}.json").write_text(json.dumps({"results": results}))
    files = [str(tmp_path / "base.json"), str(tmp_path / "head.json")]
    code, shown, _ = bench("--compare", *files)
    assert code == 1
    assert shown.startswith("Slower: head takes +10.")
    assert bench("--compare", *files, "--gate", "20%", "--json")[0] == 0


def test_an_interrupted_race_shows_its_rounds_and_leaves_no_process():
    command = [
        sys.executable,
        "-m",
        "tideproof",
        "bench",
        "sleep 0.05432",
        "sleep 0.05433",
        "--max-time",
        "50",
    ]
    race = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while subprocess.run(["pgrep", "-f", "^sleep 0.0543"], capture_output=True).returncode:
        assert race.poll() is None
        time.sleep(0.02)
    time.sleep(1.0)
    race.send_signal(signal.SIGINT)
    shown, _ = race.communicate(timeout=20)
    assert race.returncode == 130
    assert re.search(r"\d+ rounds", shown)
    assert subprocess.run(["pgrep", "-f", "^sleep 0.0543"], capture_output=True).returncode == 1
