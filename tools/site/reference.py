"""Write reference pages from docstrings, one for each part of the package, and a page of --help texts."""

from __future__ import annotations

from collections.abc import Iterator

from typer.testing import CliRunner

import tideproof as tp
from tideproof.cli import app
from tideproof.commands.command_definition import Command
from tideproof.commands.command_list import COMMANDS

# The sub-package that defines a name decides on which page the name appears.
PARTS = {
    "logs": ("Logs: fit and friends", ("analysis", "table")),
    "live": ("Live tests: Experiment", ("experiment", "store", "remote")),
    "research": ("Research: simulate, plan, worlds", ("lab", "plans", "worlds", "research")),
    "policies": ("Policies: choose, configure, define", ("policies",)),
    "errors": ("Errors", ("errors",)),
}
MODULES = {
    "plugin": ("For plug-ins: tideproof.plugin", ("tideproof.plugin",)),
    "testing": ("For tests of a policy: tideproof.testing", ("tideproof.testing",)),
}


def parts() -> dict[str, list[str]]:
    """Return the public names of each part; every public name belongs to one part."""
    home = {name: tp._modules()[name].split(".")[0] for name in tp.__all__ if name != "__version__"}
    functions_first = sorted(home, key=lambda name: (name[0].isupper(), name))
    return {
        part: [name for name in functions_first if home[name] in packages]
        for part, (_, packages) in PARTS.items()
    }


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the Markdown text of each page."""
    for part, names in parts().items():
        module = tp._modules()
        shown = "\n\n".join(f"::: tideproof.{module[name]}.{name}" for name in names)
        yield (
            f"api/{part}.md",
            f"# {PARTS[part][0]}\n\nEvery name is one of `import tideproof as tp`.\n\n{shown}\n",
        )
    for part, (heading, modules) in MODULES.items():
        shown = "\n\n".join(f"::: {module}" for module in modules)
        yield f"api/{part}.md", f"# {heading}\n\n{shown}\n"
    yield "api/commands.md", f"# Commands: what --help says\n\n{''.join(map(_command, COMMANDS))}"


def _command(command: Command) -> str:
    plain = {"COLUMNS": "86", "NO_COLOR": "1", "TERM": "dumb"}
    said = CliRunner().invoke(app, [command.name, "--help"], prog_name="tideproof", env=plain)
    return f"## tideproof {command.name}\n\n```text\n{said.stdout.strip()}\n```\n\n"
