"""The command `tideproof backup`, which copies a store (database) of experiments and checks the copy."""

from __future__ import annotations

from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.text import format_count


def backup_command(
    url: Url,
    target: Annotated[
        str,
        typer.Argument(metavar="FILE", help="New SQLite file, or URL of a store to copy into."),
    ],
) -> None:
    """Copy all experiments of a store to a new file, and check the copy.

    The store may be in use. The new file is itself a store. To restore it, copy it with the same command to a
    new store (second example). Nothing is overwritten.
    """
    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.store.store_backup import backup
    from tideproof.text import public_url

    with progress_bar("copying", 1.0, after=SECONDS_BEFORE_BAR) as show_progress:
        found = backup(url, target, show_progress)
    events = sum(each.events for each in found.experiments)
    names = format_count(len(found.experiments), "experiment")
    typer.echo(f"{public_url(target)}: {names}, {format_count(events, 'event')}, checked")


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
