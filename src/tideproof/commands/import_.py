"""`tideproof import`: a JSON file as an experiment of a store."""

from __future__ import annotations

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.commands.export import File
from tideproof.commands.show import Name
from tideproof.text import format_count


def import_command(file: File, url: Url, name: Name) -> None:
    """Begin an experiment in a store that goes on where a JSON file ends.

    Pulls that were out when it was saved can be told; new ones get ids that nobody who goes on with the file
    gives out. For example

    tideproof import prices.json sqlite:///shop.db prices
    """
    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.store.export_import import take_in

    with progress_bar(f"reading {file}", 1, after=SECONDS_BEFORE_BAR):
        events = take_in(file, url, name)
    typer.echo(f"{name}: {format_count(events, 'event')}")


COMMAND = Command("import", import_command, then="tideproof show URL NAME")
