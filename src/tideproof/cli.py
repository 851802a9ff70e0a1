"""The command line: parse, call one function, print.

A command is one file of `commands/`, listed there. Exit codes are in `command_definition.py`; with 2,
one line on stderr says what is allowed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from tideproof._version import __version__
from tideproof.commands.command_definition import Command
from tideproof.commands.command_list import GROUPS
from tideproof.errors import TideproofError
from tideproof.progress import is_stderr_interactive
from tideproof.text import escape_control_characters

BEGIN = (
    "Begin with [bold]tideproof demo[/bold], or with [bold]tideproof analyze your_log.csv[/bold]. "
    "[bold]tideproof COMMAND --help[/bold] has examples."
)

app = typer.Typer(
    help="Find the best of K alternatives while the whole world moves.",
    epilog=BEGIN,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tideproof {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the best of K alternatives while the whole world moves."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _with_hint(command: Command) -> Callable[..., None]:
    """Return a command that says, once it is done, what one may want to do next."""

    @wraps(command.run)
    def run(*args: Any, **given: Any) -> None:
        command.run(*args, **given)
        if command.then and not given.get("as_json") and sys.stdout.isatty() and is_stderr_interactive():
            typer.secho(f"next: {command.then}", dim=True, err=True)

    return run


for title, commands in GROUPS.items():
    for each in commands:
        app.command(each.name, epilog=each.epilogue, rich_help_panel=title)(_with_hint(each))


def main() -> None:
    """Run the command line; an error that tideproof raises on purpose is one line, no traceback."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a screen without "±" shows a question mark
    try:
        sys.exit(app(prog_name="tideproof", standalone_mode=False) or 0)
    except TideproofError as error:
        _refuse(str(error))
    except _UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "tideproof"
        _refuse(f"{_lower(error.format_message())} ({path} --help lists what there is)")
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


_UsageError: Any = typer.BadParameter.__mro__[1]  # what the parser refuses, whichever click typer brings


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].rstrip(".")


def _refuse(said: str) -> None:
    typer.secho(escape_control_characters(f"tideproof: {said}"), fg="red", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
