"""The command `tideproof delete`, which deletes an experiment from a store."""

from __future__ import annotations

from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.commands.option_types import flag_option
from tideproof.text import escape_control_characters


def delete_command(
    url: Url,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Experiment to delete.")],
    yes: Annotated[bool, flag_option("--yes", "Delete without asking.", "Confirmation")] = False,
) -> None:
    """Delete an experiment from a store, with all events, pulls and rewards.

    This cannot be undone. The name may be used again. Backups still contain the experiment.
    """
    from tideproof.experiment.experiment import Experiment
    from tideproof.text import public_url

    shown = f"{escape_control_characters(name)!r} from {public_url(url)}"
    if not yes:
        typer.confirm(f"Delete the experiment {shown}? This cannot be undone.", abort=True)
    Experiment.delete(url, name)
    typer.echo(f"deleted {shown}")


COMMAND = Command(
    "delete",
    delete_command,
    hint="tideproof export URL NAME FILE writes the experiment to a file first",
    examples=("tideproof delete sqlite:///shop.db prices", "tideproof delete sqlite:///shop.db prices --yes"),
)
