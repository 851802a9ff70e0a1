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
    "logs": ("Logs: fit and friends", ("analysis", "evaluations", "table")),
    "live": ("Live tests: Experiment", ("experiment", "store", "remote")),
    "research": ("Research: simulate, plan, worlds", ("lab", "plans", "worlds", "research")),
    "policies": ("Policies: choose, configure, define", ("policies",)),
    "errors": ("Errors", ("errors",)),
}
PARENTS = ("errors", "worlds")  # public modules, whose names are read as tp.errors.InputError
MODULES = {
    "plugin": ("For plug-ins: tideproof.plugin", ("tideproof.plugin",)),
    "testing": ("For tests of a policy: tideproof.testing", ("tideproof.testing",)),
}


def modules() -> dict[str, str]:
    """Return the module that defines each public name, such as `fit` or `worlds.Uniform`."""
    found = {name: getattr(tp, name) for name in tp.__all__ if name[0] != "_" and name not in PARENTS}
    for part in PARENTS:
        parent = getattr(tp, part)
        found |= {f"{part}.{name}": getattr(parent, name) for name in parent.__all__}
    return {name: value.__module__ for name, value in found.items()}


def parts() -> dict[str, list[str]]:
    """Return the public names of each part; every public name belongs to one part."""
    home = {name: module.split(".")[1] for name, module in modules().items()}
    functions_first = sorted(home, key=lambda name: (name.split(".")[-1][0].isupper(), name))
    return {
        part: [name for name in functions_first if home[name] in packages]
        for part, (_, packages) in PARTS.items()
    }


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the Markdown text of each page."""
    for part, names in parts().items():
        module_of = modules()
        shown = "\n\n".join(f"::: {module_of[name]}.{name.split('.')[-1]}" for name in names)
        yield (
            f"api/{part}.md",
            f"# {PARTS[part][0]}\n\n`import tideproof as tp` gives every name.\n\n{shown}\n",
        )
    for part, (heading, names) in MODULES.items():
        shown = "\n\n".join(f"::: {module}" for module in names)
        yield f"api/{part}.md", f"# {heading}\n\n{shown}\n"
    yield "api/commands.md", f"# Commands: what --help says\n\n{''.join(map(_command, COMMANDS))}"


def _command(command: Command) -> str:
    plain = {"COLUMNS": "86", "NO_COLOR": "1", "TERM": "dumb"}
    said = CliRunner().invoke(app, [command.name, "--help"], prog_name="tideproof", env=plain)
    return f"## tideproof {command.name}\n\n```text\n{said.stdout.strip()}\n```\n\n"
