"""Command line of tideproof: parse the arguments, run one command, and turn errors into one line on stderr.

Each command is a file in `commands/`; `commands/command_list.py` lists them. The exit codes are in
`commands/command_definition.py`. With exit code 2, one line on stderr says what is allowed.
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
from tideproof.commands.help_page import command_class
from tideproof.errors import TideproofError
from tideproof.progress import is_stderr_interactive
from tideproof.text import escape_control_characters

ABOUT = (
    "Find the best of several alternatives while the conditions that affect all of them change.\n\n"
    "An arm is one of the alternatives, such as a price. A pull assigns an arm, for example to a visitor. "
    "A reward is the number that this pull earns, such as revenue. An environment is a period or a group, "
    "such as a day, whose conditions shift the rewards of all arms together."
)
FIRST_STEPS = (
    "Start with [bold]tideproof demo[/bold] or [bold]tideproof analyze your_log.csv[/bold]. "
    "[bold]tideproof COMMAND --help[/bold] shows examples."
)

app = typer.Typer(
    help=ABOUT,
    epilog=FIRST_STEPS,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _print_version(requested: bool) -> None:
    """Print the version and exit if `--version` was given."""
    if requested:
        typer.echo(f"tideproof {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Parse the options before the name of the command; if there is no command, print the help."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _add_hint(command: Command) -> Callable[..., None]:
    """Wrap the function of a command so that it also suggests a next command on an interactive terminal."""

    @wraps(command.run)
    def run(*args: Any, **options: Any) -> None:
        command.run(*args, **options)
        if command.hint and not options.get("as_json") and sys.stdout.isatty() and is_stderr_interactive():
            typer.secho(f"next: {command.hint}", dim=True, err=True)

    return run


for title, commands in GROUPS.items():
    for command in commands:
        page = command_class(command.examples)
        register = app.command(command.name, cls=page, epilog=command.epilogue, rich_help_panel=title)
        register(_add_hint(command))


def main() -> None:
    """Run the command line; after an expected error, print one line and exit with code 2."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without "±" shows a question mark
    try:
        sys.exit(app(prog_name="tideproof", standalone_mode=False) or 0)
    except TideproofError as error:
        _exit_with_error(str(error))
    except _UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "tideproof"
        _exit_with_error(f"{_lower_first_letter(error.format_message())}; see {path} --help")
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


# The parser's usage error. Typer may bundle its own copy of click, so this class is found through typer.
_UsageError: Any = typer.BadParameter.__mro__[1]


def _lower_first_letter(text: str) -> str:
    """Return a sentence with a lower-case first letter and without its full stop."""
    return text[:1].lower() + text[1:].rstrip(".")


def _exit_with_error(message: str) -> None:
    """Print an error message in red on stderr and exit with code 2."""
    typer.secho(escape_control_characters(f"tideproof: {message}"), fg="red", err=True)
    sys.exit(2)


if __name__ == "__main__":
    main()
