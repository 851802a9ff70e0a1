"""The command `tideproof experiments`, which lists the experiments in a store."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import AsJson, flag_option, refuse_password
from tideproof.text import escape_control_characters, format_count

if TYPE_CHECKING:
    from rich.console import Console

Url = Annotated[str, typer.Argument(metavar="URL", help="URL of the store.", callback=refuse_password)]
# Maps the headers of the numeric columns to keys of a row.
_COUNTS = {"pulls": "pulls", "pending": "pending", "rewards": "recorded", "budget": "budget"}


def experiments_command(
    url: Url,
    archived: Annotated[
        bool, flag_option("--archived", "List the archived experiments instead.", "Selection")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the experiments in a store, with their pulls, rewards and the arm that each would select now.

    Nothing is written, and other programs can use the store meanwhile.
    """
    from rich.console import Console

    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.report.store_listing import list_row
    from tideproof.store.store_urls import open_backend

    backend = open_backend(url, read_only=True)
    try:
        found = [each for each in backend.list_experiments() if each.is_archived == archived]
        rows = []
        with progress_bar("reading", len(found), "experiments", after=SECONDS_BEFORE_BAR) as show_progress:
            for done, each in enumerate(found):
                show_progress(done, f"reading {each.name}")
                rows.append(list_row(backend, each))
    finally:
        backend.close()
    if as_json:
        typer.echo(json.dumps(rows))
    else:
        show(Console(), rows)


COMMAND = Command(
    "experiments",
    experiments_command,
    examples=("tideproof experiments sqlite:///shop.db",),
    hint="tideproof show URL NAME shows one experiment; tideproof serve URL shows all in a browser",
)


def show(console: Console, rows: list[dict[str, Any]]) -> None:
    """Print a table of experiments, with one row for each experiment."""
    from tideproof.report.event_text import format_age
    from tideproof.report.table_layout import PLAIN, Column, make_tables

    def numbers(name: str) -> list[str]:
        """Return the numbers of one column of the table of experiments, as text."""
        return ["\N{EN DASH}" if row[name] is None else f"{row[name]:,}" for row in rows]

    if not rows:
        console.print("no experiments")
        return
    columns = [
        Column("arms", [f"{len(row['arms'])}" for row in rows]),
        *(Column(header, numbers(key)) for header, key in _COUNTS.items()),
        Column("verdict", [escape_control_characters(row["verdict"]) for row in rows], left=True),
        Column("last event", [format_age(time.time() - row["last"]) for row in rows]),
    ]
    names = Column("name", [escape_control_characters(row["name"]) for row in rows], left=True)
    for table in make_tables(names, columns, console.width, space=2, **PLAIN):
        console.print(table)
    note = (
        "verdict: the arm that would be selected now (probability that it is the best); last event: its age"
    )
    console.print(f"{format_count(len(rows), 'experiment')}; {note}", style="dim", highlight=False)
