"""`read_evals` and `tideproof analyze` on files, folders, patterns, named arms and plain tables."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.errors import InputError, UnknownName

LOGS = Path(__file__).parent / "logs"
BOTH = str(LOGS / "*.eval")
TABLE = "name,question,right,passage,cost\n" + "".join(
    f"{model},{item},{int((item * 7 + step) % 5 > 1)},p{item // 2},{0.5 + step}\n"
    for item in range(12)
    for step, model in enumerate(("a", "b"))
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text(TABLE)
    return str(path)


def run(*words):
    return CliRunner().invoke(app, ["analyze", *words, "--no-progress"])


def test_patterns_folders_and_lists_read_the_same_files():
    found = tp.read_evals(BOTH)
    assert found == tp.read_evals(sorted(LOGS.glob("*.eval")))
    everything = tp.read_evals(LOGS, repeats=True)  # also the log in JSON, and lm-eval's
    assert set(everything.models) == {"mockllm/small", "mockllm/large", "org/small", "org/large"}


def test_a_mapping_names_the_arms():
    log = tp.read_evals({"short": LOGS / "inspect_small.eval", "long": LOGS / "inspect_large.eval"})
    assert log.models == ["short", "long"]


def test_the_same_run_twice_is_refused_and_repeats_are_samples():
    twice = [LOGS / "inspect_small.eval"] * 2
    with pytest.raises(
        InputError, match=r"duplicate score: model 'mockllm/small', item 'q0', sample 1.*repeats"
    ):
        tp.read_evals(twice)
    log = tp.read_evals([*twice, LOGS / "inspect_large.eval"], repeats=True)
    assert max(log["sample"]) == 4
    assert tp.fit(log).arms["n"] == [30, 15]


def test_graders():
    with pytest.raises(UnknownName, match="includes"):
        tp.read_evals(BOTH, grader="include")
    assert "grader" not in tp.read_evals(BOTH, grader="includes").columns
    both = tp.read_evals(BOTH, grader="all")
    assert set(both["grader"]) - {""} == {"match", "includes"}
    assert len(both) == 60 + 4 - 2


def test_plain_tables_find_their_columns(table):
    with pytest.raises(InputError, match="no column 'model' or 'score'"):
        tp.read_evals(table)
    log = tp.read_evals(table, columns={"model": "name", "score": "right"})
    assert log.columns == ["model", "item", "group", "score", "dollars"]
    assert tp.fit(log).unit_tests is None
    with pytest.raises(UnknownName, match="rihgt"):
        tp.read_evals(table, columns={"model": "name", "score": "rihgt"})


def test_several_tables_are_joined(tmp_path):
    for model, score in (("a", 1), ("b", 0)):
        rows = [{"item": item, "correct": bool(score), "model": model} for item in range(5)]
        (tmp_path / f"{model}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    log = tp.read_evals(str(tmp_path / "*.jsonl"))
    assert log["score"] == [1.0] * 5 + [0.0] * 5


def test_no_files(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        tp.read_evals(tmp_path / "none.eval")
    with pytest.raises(InputError, match="contains no evaluation log"):
        tp.read_evals(tmp_path)
    with pytest.raises(InputError, match="at least one path"):
        tp.read_evals([])
    with pytest.raises(InputError, match="no sample of the evaluation logs has a field 'chapter'"):
        tp.read_evals(BOTH, group="chapter")


def test_analyze_evaluation_logs(tmp_path):
    page = tmp_path / "report.html"
    done = run(*sorted(map(str, LOGS.glob("*.eval"))), "--json", "--html", str(page))
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert found["columns"]["arm"] == "model"
    assert {row["arm"]: row["n"] for row in found["arms"]} == {"mockllm/small": 15, "mockllm/large": 15}
    assert [
        note for note in found["notes"] if note.startswith("Not analyzed, and not counted as 0: 2 errors")
    ]
    assert {row["metric"] for row in found["metrics"]["table"]} == {"score", "tokens", "seconds"}
    assert "Quality against tokens" in page.read_text()


def test_analyze_a_plain_table_only_if_asked(table):
    columns = ("--arm", "name", "--environment", "question", "--reward", "right")
    as_evaluation = json.loads(run(table, "--evals", "--json", *columns).stdout)
    as_log = json.loads(run(table, "--json", *columns).stdout)
    assert as_log["variance"] == "auto"
    assert as_evaluation["variance"] == "paired"


def test_analyze_names_arms(tmp_path):
    words = [f"short={LOGS / 'inspect_small.eval'}", f"long={LOGS / 'inspect_large.eval'}"]
    assert "long" in run(*words, "--control", "short").stdout
    mixed = run(words[0], str(LOGS / "inspect_large.eval"))
    assert "give all files a name" in str(mixed.exception)


@pytest.mark.parametrize("words", [("--grader", "all"), ("--repeats",), ("--group", "p")])
def test_options_of_evaluation_logs_are_refused_for_other_logs(table, words):
    done = run(table, *words)
    assert isinstance(done.exception, InputError)
    assert "is for evaluation logs only" in str(done.exception)


def test_several_tables_need_the_option(table):
    done = run(table, table)
    assert isinstance(done.exception, InputError)
    assert "several files are read together only if they are evaluation logs" in str(done.exception)
