"""`tideproof evals run`: any command as a model; killed at random, it pays for no recorded answer again."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tideproof.cli import app
from tideproof.errors import InputError
from tideproof.evaluations.command_calls import CommandCalls
from tideproof.evaluations.evaluation_runner import CallFailed
from tideproof.evaluations.item_file import read_items

ITEMS = {f"q{i}": {"id": f"q{i}", "text": f"What is {i}?"} for i in range(30)}

# A fake model: the longer its name, the better. It writes down each call when it has ended.
MODEL = """
import sys, time
model, item, ledger = sys.argv[1:]
time.sleep(0.005)
open(ledger, "a").write(f"{model} {item}\\n")
number = int(item[1:]) * 7 % 10
print('{"score": %d, "cost": 0.01}' % (number < 3 * len(model)))
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS.values()))
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def command_of(folder, *options):
    return [
        sys.executable, "-m", "tideproof", "evals", "run", "--models", "a,bb,ccc", "--items", "items.jsonl", *options,
        "--", sys.executable, "-S", "model.py", "{model}", "{item}", "ledger.txt",
    ]  # fmt: skip


def ledger_of(folder):
    path = folder / "ledger.txt"
    return path.read_text().split("\n")[:-1] if path.exists() else []


def test_a_budget_of_a_fifth_finds_the_best_model(folder):
    found = subprocess.run(
        command_of(folder, "--budget", "20%", "--json"), cwd=folder, capture_output=True, text=True
    )
    result = json.loads(found.stdout)
    assert (found.returncode, result["best"], result["sure"]) == (3, "ccc", False)
    assert (result["answered"], result["pairs"], round(result["cost"], 9)) == (18, 90, 0.18)
    assert len(ledger_of(folder)) == len(set(ledger_of(folder))) == 18


def test_a_killed_run_continues_and_pays_for_no_recorded_answer_again(folder):
    """Kill the run at random times; after each kill, compare the paid calls with the answers on the disk."""
    kills = int(os.environ.get("TIDEPROOF_KILLS", "2"))
    names = [f"q{i}" for i in range(10 * kills)]
    (folder / "items.jsonl").write_text("".join(f'{{"id": "{name}"}}\n' for name in names))
    clock = random.Random(5)
    recorded = {}
    command = command_of(folder, "--workers", "3", "--json")
    for _ in range(kills):
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = folder / "evaluation.answers.jsonl"
        before = path.stat().st_size if path.exists() else 0
        deadline = time.monotonic() + 30.0
        while process.poll() is None and (path.stat().st_size if path.exists() else 0) <= before:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(clock.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.1)  # calls that were running end and write down that they were paid for
        calls = Counter(ledger_of(folder))
        assert all(calls[pair] == count for pair, count in recorded.items()), (
            "a recorded answer was paid again"
        )
        rows = [line for line in path.read_text().splitlines(keepends=True) if line.endswith("\n")]
        pairs = [f"{row['model']} {row['item']}" for row in map(json.loads, rows)]
        assert set(recorded) <= set(pairs), "a recorded answer was lost"
        recorded = {pair: calls[pair] for pair in pairs}
        assert process.returncode == -signal.SIGKILL
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    result = json.loads(done.stdout)
    assert (done.returncode, result["answered"], result["best"]) == (0, 3 * len(names), "ccc")
    calls = Counter(ledger_of(folder))
    assert len(calls) == 3 * len(names)
    assert sum(calls.values()) - len(calls) <= 3 * kills  # only calls that were running at a kill
    assert all(calls[pair] == count for pair, count in recorded.items())


def test_a_hanging_command_is_ended_with_its_children(tmp_path, monkeypatch):
    calls = CommandCalls(["sh", "-c", "sleep 60 & echo $! > child; wait"], {"q": {"id": "q"}}, 0.3)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CallFailed, match=r"did not end within 0\.3 s"):
        calls("a", "q")
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 5.0
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{child}/stat").read_text().split()[2]
        except FileNotFoundError:
            break
        if state == "Z":
            break
        time.sleep(0.01)
    else:
        raise AssertionError("the child is still running")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo wrong >&2; exit 3", "exit code 3: wrong"),
        ("echo hello", "must be a number, or a JSON object"),
        ("true", "not nothing"),
        ("echo true", "must be a number"),
    ],
)
def test_failures_of_a_command_are_described(script, message):
    with pytest.raises(CallFailed, match=message):
        CommandCalls(["sh", "-c", script], {"q": {"id": "q"}}, 5.0)("a", "q")


def test_a_command_gets_the_item_as_input_and_its_fields_in_its_words():
    calls = CommandCalls(
        ["sh", "-c", 'cat > /dev/null; test "{text}" = hi && echo 0.25'],
        {"q": {"id": "q", "text": "hi"}},
        5.0,
    )
    assert calls("a", "q") == 0.25


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"id": 1}\n{"id": 1}\n', "line 2 of .* has the ID 1 of line 1"),
        ('{"name": 1}\n', "line 1 of .* has no 'id', but 'name'; --id names another field"),
        ("hello\n", "line 1 of .* is not JSON"),
        ('{"id": 1.5}\n', "text or a whole number, not 1.5"),
        ("\n", "has no items"),
    ],
)
def test_invalid_items_are_refused(tmp_path, lines, message):
    path = tmp_path / "items.jsonl"
    path.write_text(lines)
    with pytest.raises(InputError, match=message):
        read_items(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["walk"], "unknown action 'walk'"),
        (["run", "--models", "a,b"], "needs --items"),
        (["run", "--models", "a,b", "--items", "items.jsonl"], "give the command that asks a model"),
        (["run", "--models", "a,b", "--items", "items.jsonl", "--", "no-such-command"], "was not found"),
        (
            ["run", "--models", "a,b", "--items", "items.jsonl", "--", "echo", "{foo}"],
            "unknown placeholder {foo}",
        ),
        (
            ["run", "--models", "a,b", "--items", "items.jsonl", "--budget", "x%", "--", "echo"],
            "--budget must be",
        ),
        (
            ["run", "--models", "a,b", "--items", "items.jsonl", "--limits", "1", "--", "echo"],
            "--limits must be",
        ),
        (["run", "--models", "a,b", "--items", "none.jsonl", "--", "echo"], "none.jsonl"),
    ],
)
def test_invalid_command_lines_get_one_message(folder, monkeypatch, words, message):
    from typer.testing import CliRunner

    monkeypatch.chdir(folder)
    found = CliRunner().invoke(app, ["evals", *words])
    assert message in str(found.exception)
    assert isinstance(found.exception, InputError)
