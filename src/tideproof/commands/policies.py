"""The command `tideproof policies`, which lists all policies."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import AsJson

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tideproof.table import Table

NARROW = 76  # terminal width below which a list replaces the table


def policies_command(
    as_json: AsJson = False,
) -> None:
    """List all policies: references, whether they must know the budget, and whether they allow for shifts."""
    from tideproof.report.policy_pages import overview

    table = overview()
    if as_json:
        typer.echo(json.dumps(table.to_dicts()))
        return
    from rich.console import Console

    console = Console()
    console.print(_as_list(table) if console.width < NARROW else _as_table(table))
    console.print()
    console.print("A suffix such as +ols chooses the selection rule: round-robin+ols.", highlight=False)
    console.print(
        "The prefix reduce: removes the estimated shifts from the rewards of a policy: reduce:lucb.",
        highlight=False,
    )


COMMAND = Command(
    "policies",
    policies_command,
    hint="tideproof simulate --policies NAME simulates one",
    examples=("tideproof policies", "tideproof policies --json"),
)


def _as_table(table: Table) -> RenderableType:
    """Return the overview of all policies as a table for a wide terminal."""
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        shown.add_column(column, no_wrap=column == "name")
    for row in table:
        shown.add_row(*map(Text, row.values()))
    return shown


def _as_list(table: Table) -> RenderableType:
    """Return the overview of all policies as a list for a narrow terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = []
    for row in table:
        facts = f"{row['idea']}. Horizon: {row['horizon']}; shifts: {row['shifts']}. {row['reference']}."
        parts += [Text(row["name"], style="bold"), Padding(Text(facts), (0, 0, 0, 2))]
    return Group(*parts)
