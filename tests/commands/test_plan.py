"""`tideproof plan` from the command line."""

import json

import pytest
from typer.testing import CliRunner

from tideproof.cli import app
from tideproof.errors import InputError

ASKED = ["--arms", "3", "--gap", "1", "--per-environment", "20", "--error", "0.1", "--replications", "1000"]


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)], env={"COLUMNS": "200"})


def test_a_sentence_and_a_table(tmp_path):
    done = run(*ASKED, "--plot", tmp_path / "plan.svg", "--csv", tmp_path / "plan.csv")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("3 arms, one better by 1 (noise with standard deviation 1): ")
    assert "early stopping (proven)" in done.stdout
    assert "had a budget of 10,000 pulls" in done.stdout
    assert f"picture: {tmp_path / 'plan.svg'}" in done.stdout.replace("\n", "")
    assert (tmp_path / "plan.csv").read_text().startswith("design,budget,runs,error,low,high\ncontrast,")
    assert "<svg" in (tmp_path / "plan.svg").read_text()


def test_json(tmp_path):
    found = json.loads(run(*ASKED, "--json").stdout)
    assert found["budget"] < found["even_split"] < found["calibrated_stop"]["mean"]
    assert found["designs"][0]["design"] == "contrast"
    assert found["curve"][0]["budget"] > 0


def test_a_pilot_log_whose_columns_are_guessed(tmp_path):
    rows = [f"{'ABC'[i % 3]},day {i // 30},{10 * (i // 30) + (i * 7919) % 13}" for i in range(120)]
    (tmp_path / "log.csv").write_text("variant,day,sales\n" + "\n".join(rows) + "\n")
    done = run("--from", tmp_path / "log.csv", "--gap", 6, "--error", 0.1, "--replications", 200)
    assert done.exit_code == 0, done.output
    assert "guessed: arm, environment, reward" in done.stderr
    assert done.stdout.startswith("3 arms, one better by 6 (noise with standard deviation 3.")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--gap", 0), "--gap must be above 0, not 0"),
        (("--sigma", 0), "--sigma must be above 0, not 0"),
        (("--rate", 0.1), "--rate and --lift are for conversions, --gap and --sigma for means"),
        (("--error", 0.7), "error must be above 0 and below 0.5"),
        (("--per-environment", 1), "--per-environment must be a whole number of at least 2"),
        (("--reward", "sales"), "can be used only with --from FILE"),
        (("--plot", "plan.txt"), "a picture must end in"),
    ],
)
def test_bad_input_is_one_line(arguments, said):
    error = run(*ASKED, *arguments).exception
    assert isinstance(error, InputError)
    assert said in str(error)
