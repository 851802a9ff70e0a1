"""The command line: parse, call one function, print.

Exit codes: 0 done; 2 bad input (stderr says what is allowed); 130 interrupted; those of
`analyze` are in `commands/analyze.py`.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from tideproof._version import __version__
from tideproof.commands.analyze import analyze_command
from tideproof.commands.numbers import number
from tideproof.commands.policies import policies_command
from tideproof.commands.reproduce import reproduce_command
from tideproof.commands.simulate import simulate_command
from tideproof.errors import TideproofError

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


@app.command()
def demo(
    picture: Annotated[Path, typer.Option(help="Where to save the picture.")] = Path("demo.png"),
    pace: Annotated[float, number("Seconds to show each day.")] = 0.12,
) -> None:
    """Watch a raw mean pick the wrong price and tideproof, which plays LinLUCB, the right one."""
    from rich.console import Console

    from tideproof.checks import finite
    from tideproof.demo import picture_info, run_demo
    from tideproof.draw.demo import draw_demo
    from tideproof.files import check_picture

    finite("pace", pace, 0.0)
    check_picture(picture)
    console = Console()
    story = run_demo(console, pace=pace)
    draw_demo(picture_info(story), picture)
    console.print(f"Picture: {picture}")


app.command("analyze")(analyze_command)
app.command("simulate")(simulate_command)
app.command("reproduce")(reproduce_command)
app.command("policies")(policies_command)


def main() -> None:
    """Run the command line; an error that tideproof raises on purpose is one line, no traceback."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a screen without "±" shows a question mark
    try:
        app()
    except TideproofError as error:
        typer.secho(f"tideproof: {error}", fg="red", err=True)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
