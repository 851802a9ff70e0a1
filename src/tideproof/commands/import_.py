"""The command `tideproof import`, which creates an experiment in a store from a JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.commands.show import Name
from tideproof.text import format_count

File = Annotated[Path, typer.Argument(metavar="FILE.json", help="JSON file to read.")]


def import_command(file: File, url: Url, name: Name) -> None:
    """Create an experiment in a store that continues the experiment of a JSON file.

    tideproof export and Experiment.save write such files. The rewards of pulls that are pending in the file
    can be recorded in the store. New pulls get IDs with a new prefix, so that they differ from those of a
    program that continues with the file.
    """
    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.store.export_import import import_file

    with progress_bar(f"reading {file}", 1, after=SECONDS_BEFORE_BAR):
        events = import_file(file, url, name)
    typer.echo(f"{name}: {format_count(events, 'event')}")


COMMAND = Command(
    "import",
    import_command,
    hint="tideproof show URL NAME",
    examples=("tideproof import prices.json sqlite:///shop.db prices",),
)
