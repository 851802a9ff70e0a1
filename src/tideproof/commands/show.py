"""The command `tideproof show`, which shows the current state of one experiment in a store."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.experiments import Url
from tideproof.commands.option_types import OUTPUT, AsJson, whole_option
from tideproof.text import PERCENT, PLAIN, NumberFormat, escape_control_characters, format_count

if TYPE_CHECKING:
    from rich.console import Console

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the experiment.")]

_MISSING = "\N{EN DASH}"
# Maps the headers of the numeric columns to keys of an arm.
_COUNTS = {"rewards": "rewards", "pulls": "pulls", "pending": "pending"}
OLDEST = 10  # number of pending pulls that are shown


def show_command(
    url: Url,
    name: Name,
    events: Annotated[int, whole_option("Number of last events to show.", OUTPUT)] = 10,
    as_json: AsJson = False,
) -> None:
    """Show an experiment: the arm it would select, all arms, pending pulls and the last events.

    Nothing is written, and other programs can use the store meanwhile.
    """
    from rich.console import Console

    from tideproof.checks import require_whole_number
    from tideproof.progress import SECONDS_BEFORE_BAR, progress_bar
    from tideproof.report.store_listing import experiment_details
    from tideproof.store.read_only_view import find_log, read_only_copy
    from tideproof.store.store_urls import open_backend

    wanted = require_whole_number("--events", events, 0)
    backend = open_backend(url, read_only=True)
    try:
        with progress_bar(f"reading {name}", 2, "steps", after=SECONDS_BEFORE_BAR) as show_progress:
            run = read_only_copy(find_log(backend, name))
            show_progress(1)
            found = experiment_details(run, name, wanted)
    finally:
        backend.close()
    if as_json:
        typer.echo(json.dumps(found))
    else:
        show(Console(), found)


COMMAND = Command(
    "show",
    show_command,
    examples=(
        "tideproof show sqlite:///shop.db prices",
        "tideproof show sqlite:///shop.db prices --events 100",
    ),
    hint="tideproof serve URL shows it in a browser; tideproof export URL NAME FILE writes it to a file",
)


def show(console: Console, found: dict[str, Any]) -> None:
    """Print the state of an experiment."""
    from rich.text import Text

    budget = "no budget" if found["budget"] is None else f"budget {found['budget']:,}"
    counts = [
        format_count(found["pulls"], "pull"),
        format_count(found["recorded"], "reward"),
        format_count(len(found["pending"]), "pending pull"),
        format_count(found["lost"], "cancelled or expired pull"),
    ]
    facts = [found["standing"], f"policy {found['policy']}", budget, ", ".join(counts)]
    console.print(
        Text(escape_control_characters(f"{found['name']}:"), style="bold"),
        Text(escape_control_characters("; ".join(facts)), style="dim"),
    )
    console.print(Text(escape_control_characters(found["sentence"])))
    if found["decision"]:
        console.print(Text(escape_control_characters(found["decision"]), style="bold"))
    _print_table(console, _arm_columns(found["arms"], PERCENT if found["rates"] else PLAIN))
    if found["pending"]:
        _print_table(console, _pending_columns(found["pending"][:OLDEST]))
        if len(found["pending"]) > OLDEST:
            console.print(
                f"the oldest {OLDEST} of {len(found['pending']):,} pending pulls",
                style="dim",
                highlight=False,
            )
    if found["last_events"]:
        _print_events(console, found["last_events"])
        note = f"{format_count(found['events'], 'event')} in total, times in UTC"
        console.print(note, style="dim", highlight=False)


def _print_table(console: Console, columns: Sequence[Any]) -> None:
    """Print columns as a table, split into several tables for a narrow terminal."""
    from tideproof.report.table_layout import PLAIN, make_tables

    first, *others = columns
    console.print()
    for table in make_tables(first, others, console.width, space=2, **PLAIN):
        console.print(table)


def _print_events(console: Console, events: list[dict[str, Any]]) -> None:
    """Print the number, the time and the description of each event."""
    from rich.table import Table as RichTable
    from rich.text import Text

    from tideproof.report.event_text import format_time
    from tideproof.report.table_layout import PLAIN

    table = RichTable(**PLAIN)
    table.add_column("event", justify="right", no_wrap=True)
    table.add_column("when", no_wrap=True)
    table.add_column("what", overflow="fold")
    for event in events:
        description = event["said"] + (f" (by {event['by']})" if event["by"] else "")
        table.add_row(
            f"{event['number']:,}", format_time(event["at"]), Text(escape_control_characters(description))
        )
    console.print()
    console.print(table)


def _arm_columns(rows: list[dict[str, Any]], means: NumberFormat) -> list[Any]:
    """Return the columns of a table of arms: names, means, intervals and counts."""
    from tideproof.report.table_layout import Column

    def column(header: str, write: Callable[[dict[str, Any]], str], left: bool = False) -> Column:
        """Return a table column with one text for each arm.

        `write` converts the values of an arm to text.
        """
        return Column(header, [write(row) for row in rows], left)

    def mean(name: str) -> Callable[[dict[str, Any]], str]:
        """Return a function that formats a mean in a table row as text.

        `name` is the column of the mean.
        """
        return lambda row: (
            _MISSING if row[name] is None else means.format_estimate(row[name], row["low"], row["high"])
        )

    return [
        column(
            "arm",
            lambda row: escape_control_characters(row["arm"]) + (" (retired)" if row["retired"] else ""),
            left=True,
        ),
        column("adjusted mean", mean("mean")),
        column("95 % interval", lambda row: means.format_interval(row["low"], row["high"]) or _MISSING),
        column("raw mean", mean("raw_mean")),
        *(Column(header, [f"{row[key]:,}" for row in rows]) for header, key in _COUNTS.items()),
    ]


def _pending_columns(pulls: list[dict[str, Any]]) -> list[Any]:
    """Return the columns of a table of pending pulls: ids, arms, environments and ages."""
    from tideproof.report.event_text import format_age
    from tideproof.report.table_layout import Column

    return [
        Column("pending pull", [pull["id"] for pull in pulls], left=True),
        Column("arm", [escape_control_characters(pull["arm"]) for pull in pulls], left=True),
        Column(
            "environment", [escape_control_characters(str(pull["environment"])) for pull in pulls], left=True
        ),
        Column("age", [format_age(pull["age"]) for pull in pulls]),
    ]
