"""The command line: parse, call one function, print.

A command is one file of `commands/`, listed in its registry. Exit codes are in `commands/command.py`; with 2,
stderr says what is allowed.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from tideproof._version import __version__
from tideproof.commands.registry import COMMANDS
from tideproof.errors import TideproofError
from tideproof.words import printable

app = typer.Typer(
    help="Find the best of K alternatives while the whole world moves.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tideproof {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Find the best of K alternatives while the whole world moves."""


for command in COMMANDS:
    app.command(command.name, epilog=command.epilogue)(command.run)


def main() -> None:
    """Run the command line; an error that tideproof raises on purpose is one line, no traceback."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a screen without "±" shows a question mark
    try:
        app()
    except TideproofError as error:
        typer.secho(printable(f"tideproof: {error}"), fg="red", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
