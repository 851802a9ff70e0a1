"""The public surface: every name works in a fresh process, and importing is light."""

import os
import re
import subprocess
import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import tideproof as tp
from tideproof import cli
from tideproof.cli import app
from tideproof.commands.command_definition import EXITS
from tideproof.commands.command_list import COMMANDS, GROUPS
from tideproof.moved_names import MOVED_NAMES
from tideproof.report.policy_pages import policy_pages

ROOT = Path(__file__).parent.parent


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_loads_nothing_heavy():
    loaded = fresh("import tideproof, sys; print('\\n'.join(sys.modules))").split()
    assert not {"numba", "matplotlib", "scipy", "pandas", "polars", "duckdb", "typer", "numpy"} & set(loaded)


def test_an_experiment_needs_neither_numba_nor_matplotlib():
    code = """
run = tp.Experiment(["A", "B"], budget=20)
for step in range(20):
    pull = run.ask(environment=step // 4)
    run.tell(pull, float(step % 3) + 2.0 * (pull.arm == "B"))
chosen = run.recommend().arm, run.history()["arm"]
"""
    bare = 'import sys; sys.modules["numba"] = sys.modules["matplotlib"] = None; import tideproof as tp'
    here: dict[str, object] = {"tp": tp}
    exec(code, here)
    assert fresh(f"{bare}\n{code}\nprint(chosen)").strip() == repr(here["chosen"])


PARENTS = ("errors", "worlds")
NESTED = [f"{parent}.{name}" for parent in PARENTS for name in getattr(tp, parent).__all__]
NAMES = [name for name in tp.__all__ if name not in ("__version__", *PARENTS)] + NESTED


@pytest.mark.parametrize("name", tp.__all__)
def test_every_public_name_resolves_alone(name):
    """A module that shared a public function's name would shadow it here."""
    out = fresh(f"import tideproof as tp; import tideproof.cli; print(type(tp.{name}).__name__)")
    assert (out.strip() == "module") == (name in PARENTS)


def test_there_are_few_public_names():
    assert len(tp.__all__) <= 40


MOVED = [(module, old, new) for module, names in MOVED_NAMES.items() for old, new in names.items()]


@pytest.mark.parametrize(("module", "old", "new"), MOVED)
def test_a_moved_name_says_the_new_one(module, old, new):
    with pytest.raises(AttributeError, match=rf"^module '{module}' has no attribute '{old}'; use {new}$"):
        getattr(import_module(module), old)
    parent, _, name = new.rpartition(".")
    assert name in import_module(parent).__all__
    changes = (ROOT / "CHANGELOG.md").read_text()
    short = module.replace("tideproof", "tp") if module == "tideproof" else module
    assert f"| `{short}.{old}`" in changes or f", `{short}.{old}`" in changes


def test_a_plugin_name_that_does_not_exist():
    with pytest.raises(AttributeError, match=r"no attribute 'wole'$"):
        import_module("tideproof.plugin").wole  # noqa: B018


def test_a_name_that_does_not_exist():
    with pytest.raises(AttributeError, match=r"no attribute 'norml'$"):
        tp.norml  # noqa: B018
    assert not hasattr(tp, "_private")


def test_the_version_is_in_the_changelog():
    versions = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert tp.__version__ in versions


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_documented(name):
    assert attrgetter(name)(tp).__doc__
    name = name.split(".")[-1]
    index = (ROOT / "docs" / "reference.md").read_text()
    assert f"`{name}`" in index, f"docs/reference.md does not mention {name}"
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    described = rf"^(## .*|### .*|\| )`{name}[`(]"
    assert re.search(described, pages, re.MULTILINE), f"docs/reference/ does not describe {name}"


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


def test_every_command_file_is_registered():
    folder = ROOT / "src" / "tideproof" / "commands"
    files = {
        path.stem.rstrip("_") for path in folder.glob("*.py") if "COMMAND = Command(" in path.read_text()
    }
    assert files == {command.name for command in COMMANDS}


def help_page(command, columns=80):
    """Return the lines of a help page on a terminal of so many columns."""
    width = {"COLUMNS": str(columns)}
    shown = CliRunner().invoke(app, [command.name, "--help"], env=width, prog_name="tideproof")
    return [line.rstrip() for line in shown.stdout.splitlines()]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
class TestHelpOnEightyColumns:
    def test_has_one_line_for_each_option(self, command):
        page = help_page(command)
        options = [line for line in page if line.startswith("│")]
        assert all(
            re.match(
                r"│ (--[a-z-]+|(run -- )?\[?[A-Z]+(\.json)?\]?(\.\.\.)?) .*\S │$", f"{line[:-1].rstrip()} │"
            )
            for line in options
        )
        assert all("…" not in line and len(line) <= 80 for line in page)
        group: Any = get_command(app)
        assert len(options) == 1 + len(group.commands[command.name].params)

    def test_shows_examples_on_one_line_each_before_the_options(self, command):
        page = help_page(command)
        start = page.index(" Examples:")
        assert page[start + 1 :][: len(command.examples)] == [f"   {example}" for example in command.examples]
        assert start < next(i for i, line in enumerate(page) if line.startswith("╭"))

    def test_groups_options_by_purpose(self, command):
        options = sum(line.startswith("│ --") for line in help_page(command))
        titles = [line for line in help_page(command) if line.startswith("╭")]
        assert options <= 8 * len(titles)
        assert options == 1 or not any("Options" in title for title in titles)


def test_a_description_that_wraps_starts_with_spaces():
    """So the test above would notice one."""
    wrapped = [any(line.startswith("│  ") for line in help_page(each, columns=40)) for each in COMMANDS]
    assert sum(wrapped) >= 8


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
class TestEveryCommand:
    def test_has_help_that_ends_with_its_exit_codes(self, command):
        shown = CliRunner().invoke(app, [command.name, "--help"], env={"COLUMNS": "500"})
        assert shown.exit_code == 0
        assert command.run.__doc__.splitlines()[0] in shown.stdout
        assert shown.stdout.rstrip().endswith(command.epilogue)

    def test_has_help_with_an_example_that_can_be_read(self, command):
        shown = CliRunner().invoke(app, [command.name, "--help"], env={"COLUMNS": "500"}).stdout
        examples = [
            line.strip() for line in shown.splitlines() if re.match(rf" +tideproof {command.name}( |$)", line)
        ]
        assert examples
        for example in examples:
            for option in re.findall(r"--[a-z-]+", example):
                assert f"{option} " in shown.replace(example, "")

    def test_is_in_the_reference_with_its_exit_codes(self, command):
        index = (ROOT / "docs" / "reference.md").read_text()
        assert f"(reference/commands.md#tideproof-{command.name})" in index
        reference = (ROOT / "docs" / "reference" / "commands.md").read_text()
        entry = reference.split(f"## `tideproof {command.name}`\n", 1)[1].split("\n## ")[0]
        for code, meaning in command.exits.items():
            assert f"{code} {meaning}" in " ".join(entry.split())

    def test_says_what_is_wrong_with_an_option_it_does_not_know(self, command):
        shown = CliRunner().invoke(app, [command.name, "--tide"])
        assert shown.exit_code == 2
        assert "No such option" in shown.stderr


def test_exit_codes_of_all_commands_are_in_the_reference():
    reference = (ROOT / "docs" / "reference" / "commands.md").read_text().split("## All commands")[1]
    for code, meaning in EXITS.items():
        assert f"{code} {meaning}" in " ".join(reference.split())


def test_those_exit_codes_are_what_main_returns(monkeypatch):
    def ends_with(error):
        def fail(**how):
            if error:
                raise error

        monkeypatch.setattr(cli, "app", fail)
        try:
            cli.main()
        except SystemExit as end:
            return end.code
        return 0

    assert [ends_with(None), ends_with(tp.errors.InputError("no")), ends_with(KeyboardInterrupt())] == list(
        EXITS
    )


def test_as_a_module_it_is_the_command():
    shown = subprocess.run([sys.executable, "-m", "tideproof", "--version"], capture_output=True, text=True)
    assert (shown.returncode, shown.stdout) == (0, f"tideproof {tp.__version__}\n")
    bad = subprocess.run(
        [sys.executable, "-m", "tideproof", "analyze", "no.csv"], capture_output=True, text=True
    )
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "tideproof: there is no file 'no.csv'\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("analyse", "no such command 'analyse'. Did you mean 'analyze'?; see tideproof --help"),
        ("plan --bogus", "no such option: --bogus; see tideproof plan --help"),
        ("show", "missing argument 'URL'; see tideproof show --help"),
        ("policies x", "got unexpected extra argument(s) (x); see tideproof policies --help"),
    ],
)
def test_a_usage_error_is_one_line_that_names_the_help(words, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tideproof", *words.split()])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert capsys.readouterr() == ("", f"tideproof: {said}\n")


def test_alone_it_shows_what_one_can_do(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["tideproof"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 0
    said = capsys.readouterr().out
    places = [said.index(title) for title in GROUPS]
    assert places == sorted(places)
    assert "Start with tideproof demo" in said


@pytest.mark.parametrize("watched", [True, False])
def test_who_looks_is_told_what_to_do_next(watched, monkeypatch, capsys):
    monkeypatch.setattr(cli, "is_stderr_interactive", lambda: watched)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "argv", ["tideproof", "policies"])
    with pytest.raises(SystemExit):
        cli.main()
    assert ("next: tideproof simulate" in capsys.readouterr().err) == watched


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_what_comes_next_is_there(command):
    """A hint names commands and options that exist."""
    for name in re.findall(r"tideproof (\w+)", command.hint):
        assert name in {each.name for each in COMMANDS}
    for part in re.split("[;,]", command.hint):
        meant = re.search(r"tideproof (\w+)", part)
        name = meant[1] if meant else command.name
        shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "500"})
        assert [option for option in re.findall(r"--[a-z]+", part) if option not in shown.stdout] == []


def test_every_file_named_in_the_documents_exists():
    """A path starts at the repository or at the package: `benchmarks/lab.py`, `core/cuda_target.py`; or is a bare name."""
    files = [
        p
        for folder in ("src", "tests", "benchmarks", "tools", "examples", "docs")
        for p in (ROOT / folder).rglob("*.py")
    ]
    known = {p.name for p in files}
    for root in (ROOT, ROOT / "src" / "tideproof", ROOT / "docs"):
        known |= {str(p.relative_to(root)) for p in files if p.is_relative_to(root)}
    documents = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    named = {
        f"{page.relative_to(ROOT)}: {path}": path
        for page in documents
        for path in re.findall(r"(?:\w[\w-]*/)*\w[\w-]*\.py\b", page.read_text())
    }
    assert len(named) > 15
    known |= {"mine.py", "week.py", "look.py"}  # a reader's own
    assert [place for place, path in named.items() if path not in known] == []
