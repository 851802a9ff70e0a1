"""The GitHub Action that races two refs: its files are correct, and its script runs on a small repository."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ACTION = Path(__file__).parent.parent.parent / "actions" / "bench"
SCRIPTS = Path(sys.executable).parent

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not hasattr(os, "wait4"), reason="git and POSIX needed"
)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)


@pytest.mark.parametrize(
    ("linter", "words"),
    [
        ("check-jsonschema", ["--builtin-schema", "vendor.github-actions", ACTION / "action.yml"]),
        ("shellcheck", [ACTION / "race.sh"]),
    ],
)
def test_linters_find_nothing(linter, words):
    program = shutil.which(linter, path=f"{SCRIPTS}:{os.environ['PATH']}")
    if program is None:
        pytest.skip(f"{linter} is not installed")
    found = run(program, *words)
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_input_is_a_variable_of_the_script_and_none_is_part_of_its_text():
    action = yaml.safe_load((ACTION / "action.yml").read_text())
    [step] = action["runs"]["steps"]
    assert "${{" not in step["run"]  # an input in the text of a script could be any command
    assert {f"${{{{ inputs.{name} }}}}" for name in action["inputs"]} == set(step["env"].values())
    script = (ACTION / "race.sh").read_text()
    assert set(re.findall(r"\$\{?(RACE_\w+)", script)) == set(step["env"])
    assert set(re.findall(r'echo "(\w+)=', script)) == set(action["outputs"])


@pytest.fixture
def repository(tmp_path):
    """Return a repository whose last commit makes a program do 50 % more."""
    folder = tmp_path / "repository"
    folder.mkdir()
    git = ["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@y"]
    run("git", "init", "-q", folder)
    for count in (200_000, 300_000):
        (folder / "program.py.in").write_text(f"for number in range({count}): pass\n")
        run(*git, "add", ".")
        assert run(*git, "commit", "-qm", str(count)).returncode == 0
    return folder


def race(repository, tmp_path, **inputs):
    """Run the script as the action does, and return its exit code, its output and the summary."""
    program = tmp_path / "bin" / "tideproof"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m tideproof "$@"\n')
    program.chmod(0o755)
    given = {
        "COMMAND": f"{sys.executable} -S -E program.py",
        "BUILD": "mv program.py.in program.py",
        "BASE": "HEAD^",
        "HEAD": "HEAD",
        "GATE": "10%",
        "TIME": "cpu",
        "MAX_TIME": "20",
        "FAIL_ON_UNDECIDED": "false",
        **inputs,
    }
    summary = tmp_path / "summary.md"
    summary.write_text("")
    variables = {
        **os.environ,
        **{f"RACE_{name}": value for name, value in given.items()},
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    found = run(ACTION / "race.sh", cwd=repository, env=variables)
    assert "base" not in run("git", "-C", repository, "worktree", "list").stdout
    return found.returncode, found.stdout, summary.read_text()


def test_a_slower_head_fails(repository, tmp_path):
    code, _, summary = race(repository, tmp_path)
    assert code == 1
    assert summary.startswith("**Slower by more than 10 % in CPU time: head is ")
    assert "standing=slower" in (tmp_path / "output").read_text()


def test_a_faster_head_passes(repository, tmp_path):
    code, _, summary = race(repository, tmp_path, BASE="HEAD", HEAD="HEAD^")
    assert (code, summary[:11]) == (0, "**Not slowe")


@pytest.mark.parametrize(("strict", "code"), [("false", 0), ("true", 1)])
def test_an_undecided_race_is_a_warning_or_a_failure(repository, tmp_path, strict, code):
    given = {"BASE": "HEAD", "GATE": "0.001%", "MAX_TIME": "0.5", "FAIL_ON_UNDECIDED": strict}
    found, shown, summary = race(repository, tmp_path, **given)
    assert (found, summary[:12]) == (code, "**Undecided ")
    assert "::warning::" in shown


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"BASE": "no-such-ref"}, "::error::there is no ref no-such-ref"),
        ({"BUILD": "exit 1"}, "::error::exit 1 fails in HEAD^"),
        ({"COMMAND": "false"}, "::error::tideproof bench has failed with exit code 2"),
    ],
)
def test_what_goes_wrong_is_said(repository, tmp_path, inputs, message):
    code, shown, _ = race(repository, tmp_path, **inputs)
    assert code == 2
    assert message in shown
