"""The command `tideproof fsck`, which checks whether a store (database) of experiments is damaged."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.commands.option_types import AsJson, text_option
from tideproof.text import escape_control_characters, format_count

if TYPE_CHECKING:
    from rich.console import Console

    from tideproof.store.store_check import StoreFindings


def fsck_command(
    url: Url,
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Experiment to check; by default all.")
    ] = None,
    heads: Annotated[
        str | None,
        text_option("Earlier output of fsck or backup with --json.", "Comparison", "FILE"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether the experiments in a store are damaged.

    The hashes and the order of all events are checked. All events are then replayed, and the stored arms and
    snapshots are compared with this replay. Nothing is written or repaired, and other programs can use the
    store meanwhile.

    The last line is a hash of the last events of all experiments. Keep the output of --json on another
    machine: --heads later shows whether events at the end were removed, or the hashes computed anew.

    Choices and snapshots of another version of tideproof or of the policy are not compared, because that
    version may choose differently. Choices for units, such as users, are not recomputed,
    because they depend on a secret that may have been deleted.
    """
    from rich.console import Console

    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.store.chain_heads import compare_heads, read_heads
    from tideproof.store.store_check import fsck
    from tideproof.store.store_urls import open_backend
    from tideproof.table import to_json_values

    backend = open_backend(url, read_only=True)
    try:
        with progress_bar("checking", 1.0, after=SECONDS_BEFORE_BAR) as show_progress:
            found = fsck(backend, name, show_progress)
        if heads is not None:
            faults = compare_heads(backend, read_heads(heads), name)
            found = replace(found, faults=(*found.faults, *faults))
    finally:
        backend.close()
    if as_json:
        typer.echo(json.dumps(to_json_values(found) | {"head": found.head}))
    else:
        show(Console(), found)
    if found.all_faults:
        raise typer.Exit(1)


COMMAND = Command(
    "fsck",
    fsck_command,
    {1: "the store is damaged"},
    hint="tideproof backup URL FILE copies the store",
    examples=("tideproof fsck sqlite:///shop.db", "tideproof fsck sqlite:///shop.db prices"),
)


def show(console: Console, found: StoreFindings) -> None:
    """Print how much of each experiment was checked, and all faults that were found."""
    from rich.text import Text

    from tideproof.report.table_layout import PLAIN, Column, make_tables

    rows = found.experiments
    if rows:
        columns = [
            Column("events", [f"{row.events:,}" for row in rows]),
            Column("choices recomputed", [f"{row.asked:,}" for row in rows]),
            Column("choices not recomputed", [f"{row.trusted:,}" for row in rows]),
            Column("snapshots compared", [f"{row.snapshots:,}" for row in rows]),
            Column("snapshots not compared", [f"{row.others:,}" for row in rows]),
            Column("faults", [f"{len(row.faults):,}" for row in rows]),
        ]
        names = Column("experiment", [escape_control_characters(row.name) for row in rows], left=True)
        for table in make_tables(names, columns, console.width, space=2, **PLAIN):
            console.print(table)
        if any(row.trusted or row.others for row in rows):
            console.print(
                "Not recomputed: choices of another version of tideproof or of the policy, and choices for "
                "units. Not compared: snapshots of another version.",
                style="dim",
                highlight=False,
            )
        console.print()
    faults = found.all_faults
    for fault in faults:
        console.print(Text(escape_control_characters(fault), style="red"))
    remedy = "restore a backup with tideproof backup BACKUP NEW-URL"
    verdict = f"{format_count(len(faults), 'fault')} found: {remedy}" if faults else "no faults found"
    console.print(Text(verdict, style="bold red" if faults else "bold green"))
    console.print(f"head: {found.head}", highlight=False)
