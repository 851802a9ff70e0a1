"""`tideproof calibrate`: every promise about logs played many times over, and counted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tideproof.commands.command import Command
from tideproof.commands.numbers import whole_option
from tideproof.errors import InputError, UnknownName
from tideproof.words import counted

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from tideproof.trust.calibrate import Played


def calibrate_command(
    logs: Annotated[int, whole_option("Logs of each setting.")] = 2_000,
    part: Annotated[
        str,
        typer.Option(
            metavar="PART",
            help="What to play: logs; stops, ends (of adaptive runs), looks, chances (P(best)) or plans.",
        ),
    ] = "logs",
    runs: Annotated[int | None, whole_option("Runs of each cell of another part than logs.")] = None,
    only: Annotated[
        str, typer.Option(metavar="PATTERN", help="Settings whose name matches, such as 'money*'.")
    ] = "*",
    workers: Annotated[
        int | None, whole_option("Processes side by side; one a core unless it is given.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder for the ledger as a page and as CSV files.")
    ] = None,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Draw logs whose truth is known, let analyze judge them, and count how often it is wrong.

    A promise marked ! was broken: chance alone would do that in less than one of a thousand.
    """
    from rich.console import Console

    from tideproof.trust.calibrate import calibrate
    from tideproof.trust.ledger import broken, verdict, write
    from tideproof.trust.settings import chosen

    if out is not None:
        _make(out)
    if part != "logs":
        _play_part(part, runs, out)
        return
    settings, duels = chosen(only)
    played = calibrate(settings, duels, logs, workers, progress)
    console = Console()
    for table in _shown(played, console.width):
        console.print(table)
    failed = broken(played)
    for said in failed:
        console.print(f"broken: {said}", highlight=False, soft_wrap=True)
    console.print(verdict(played), highlight=False)
    for path in write(played, out) if out is not None else ():
        typer.echo(f"written: {path}")
    if failed:
        raise typer.Exit(3)


def _play_part(name: str, runs: int | None, out: Path | None) -> None:
    """Play another part, say which promises were broken, and write all rows."""
    from tideproof.trust.parts import PARTS, broken

    if name not in PARTS:
        raise UnknownName.among("part", name, ["logs", *PARTS])
    promise, usual, play = PARTS[name]
    found = play(usual if runs is None else runs)
    failed = broken(found)
    for row in failed:
        said = ", ".join(f"{column} {found[column][row]}" for column in found.columns)
        typer.echo(f"broken: {said}")
    typer.echo(f"{promise}: broken in {len(failed)} of {counted(len(found), 'row')}")
    if out is not None:
        found.to_csv(out / f"{name}.csv")
        typer.echo(f"written: {out / f'{name}.csv'}")
    if failed:
        raise typer.Exit(3)


def _shown(played: Played, width: int) -> Iterator[RichTable]:
    """Yield the tables for a screen."""
    from tideproof.report.screen import Column, tables
    from tideproof.trust.ledger import texts, title

    for columns in texts(played):
        first, *others = (Column(name, cells) for name, cells in columns.items())
        yield from tables(first._replace(left=True), others, width, title=title(played))


def _make(folder: Path) -> None:
    """Make the folder before time is spent on what to put there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}") from None


COMMAND = Command("calibrate", calibrate_command, {3: "a promise was broken"})
