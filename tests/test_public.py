"""The public surface: every name works in a fresh process, and importing is light."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.report.policy_pages import policy_pages

ROOT = Path(__file__).parent.parent
COMMANDS = ["analyze", "demo", "simulate", "reproduce", "policies"]


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_loads_nothing_heavy():
    loaded = fresh("import tideproof, sys; print('\\n'.join(sys.modules))").split()
    assert not {"numba", "matplotlib", "scipy", "pandas", "polars", "duckdb", "typer", "numpy"} & set(loaded)


def test_an_experiment_needs_neither_numba_nor_matplotlib():
    code = """
import sys
sys.modules["numba"] = sys.modules["matplotlib"] = None
import tideproof as tp
run = tp.Experiment(["A", "B"], budget=20)
for step in range(20):
    pull = run.ask(environment=step // 4)
    run.tell(pull, float(step % 3))
print(run.recommend().arm)
"""
    assert fresh(code).strip() in ("A", "B")


@pytest.mark.parametrize("name", tp.__all__)
def test_every_public_name_resolves_alone(name):
    """A module that shared a public function's name would shadow it here."""
    out = fresh(f"import tideproof as tp; import tideproof.cli; print(type(tp.{name}).__name__)")
    assert out.strip() != "module"


def test_the_version_is_in_the_changelog():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert tp.__version__ in versions


@pytest.mark.parametrize("name", [n for n in tp.__all__ if n != "__version__"])
def test_every_public_name_is_documented(name):
    assert getattr(tp, name).__doc__
    reference = (ROOT / "docs" / "reference.md").read_text()
    assert f"`{name}" in reference, f"docs/reference.md does not mention {name}"


def test_every_policy_has_a_page_made_from_its_docstring():
    written = {path.name: path.read_text() for path in (ROOT / "docs" / "policies").iterdir()}
    assert written == policy_pages(), "run: make docs"


@pytest.mark.parametrize(
    ("picture", "message"),
    [("nodir/x.png", "there is no folder 'nodir'"), ("x.foo", "a picture must end in .png")],
)
def test_a_demo_that_cannot_be_drawn_is_not_played(picture, message):
    demo = CliRunner().invoke(app, ["demo", "--picture", picture])
    assert message in str(demo.exception)
    assert demo.stdout == ""


def test_a_demo_at_a_pace_that_is_none():
    assert "pace must be" in str(CliRunner().invoke(app, ["demo", "--pace", "-1"]).exception)


@pytest.mark.parametrize(("columns", "end"), [(100, "tideproof 2026"), (40, "contrast")])
def test_policies_are_listed_on_any_screen(columns, end):
    shown = CliRunner().invoke(app, ["policies"], env={"COLUMNS": str(columns)}).stdout.splitlines()
    assert next(line for line in shown if line.startswith("contrast")).rstrip().endswith(end)
    assert not any("…" in line for line in shown)
    assert max(map(len, shown)) <= columns


def test_a_screen_that_knows_ascii_only():
    command = [sys.executable, "-m", "tideproof.cli", "policies"]
    shown = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert shown.returncode == 0
    assert b"Y?cesan" in shown.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_documented(name):
    assert f"tideproof {name}" in (ROOT / "docs" / "reference.md").read_text()
