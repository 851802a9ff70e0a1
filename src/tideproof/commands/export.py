"""The command `tideproof export`, which writes an experiment of a store to a JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.commands.show import Name
from tideproof.text import format_count

File = Annotated[Path, typer.Argument(metavar="FILE.json", help="JSON file to write.")]


def export_command(url: Url, name: Name, file: File) -> None:
    """Write an experiment of a store to a JSON file, which Experiment.load and tideproof import can read.

    The store does not change. The file contains everything except idempotency keys.
    """
    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.store.export_import import export

    with progress_bar(f"reading {name}", 1, after=SECONDS_BEFORE_BAR):
        events = export(url, name, file)
    typer.echo(f"{file}: {format_count(events, 'event')}")


COMMAND = Command(
    "export",
    export_command,
    hint="tideproof import FILE URL NAME, or tp.Experiment.load(FILE)",
    examples=("tideproof export sqlite:///shop.db prices prices.json",),
)
