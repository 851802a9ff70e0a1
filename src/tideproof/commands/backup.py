"""The command `tideproof backup`, which copies a store (database) of experiments and checks the copy."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.commands.option_types import AsJson, refuse_password
from tideproof.text import format_count


def backup_command(
    url: Url,
    target: Annotated[
        str,
        typer.Argument(
            metavar="FILE", help="New SQLite file, or URL of a store to copy into.", callback=refuse_password
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Copy all experiments of a store to a new file, and check the copy.

    The store may be in use. The new file is itself a store. To restore it, copy it with the same command to a
    new store (second example). Nothing is overwritten. Only its owner may read the file.

    The last line is a hash of the last events of all experiments. Keep the output of --json on another
    machine: tideproof fsck --heads later shows whether events of the store were removed or replaced.
    """
    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.store.store_backup import backup
    from tideproof.table import to_json_values
    from tideproof.text import public_url

    with progress_bar("copying", 1.0, after=SECONDS_BEFORE_BAR) as show_progress:
        found = backup(url, target, show_progress)
    events = sum(each.events for each in found.experiments)
    names = format_count(len(found.experiments), "experiment")
    if as_json:
        typer.echo(json.dumps(to_json_values(found) | {"head": found.head}))
        return
    typer.echo(f"{public_url(target)}: {names}, {format_count(events, 'event')}, checked\nhead: {found.head}")


COMMAND = Command(
    "backup",
    backup_command,
    hint="tideproof show URL-OF-THE-COPY NAME shows an experiment of the copy",
    examples=(
        "tideproof backup sqlite:///shop.db shop-monday.db",
        "tideproof backup sqlite:///shop-monday.db sqlite:///shop.db",
        "tideproof backup sqlite:///shop.db postgresql://user@host/shop",
    ),
)
