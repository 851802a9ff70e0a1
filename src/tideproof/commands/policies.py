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
    """List all policies, whether they need to know the budget in advance, and whether they adjust for shifts.

    Policies that are "not affected" by shifts choose arms without looking at rewards.
    """
    from tideproof.report.policy_pages import overview

    table = overview()
    if as_json:
        typer.echo(json.dumps(table.to_dicts()))
        return
    from rich.console import Console

    console = Console()
    rows = _display_rows(table)
    console.print(_as_list(rows) if console.width < NARROW else _as_table(rows))
    console.print()
    console.print("A suffix such as +ols chooses the selection rule: round-robin+ols.", highlight=False)
    console.print(
        'With the prefix "reduce:", as in reduce:lucb, a policy gets rewards from which the estimated shifts '
        "are removed.",
        highlight=False,
    )


COMMAND = Command(
    "policies",
    policies_command,
    hint="tideproof simulate --policies NAME simulates one",
    examples=("tideproof policies", "tideproof policies --json"),
)


def _display_rows(table: Table) -> list[dict[str, str]]:
    """Return the overview of all policies as rows for display, with readable headers and values."""
    from tideproof.report.policy_pages import shift_text

    return [
        {
            "name": row["name"],
            "idea": row["idea"],
            "needs budget": "yes" if row["horizon"] == "needed" else "no",
            "adjusts for shifts": shift_text(row["shifts"]),
            "reference": row["reference"],
        }
        for row in table
    ]


def _as_table(rows: list[dict[str, str]]) -> RenderableType:
    """Return the overview of all policies as a table for a wide terminal."""
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in rows[0]:
        shown.add_column(column, no_wrap=column == "name")
    for row in rows:
        shown.add_row(*map(Text, row.values()))
    return shown


def _as_list(rows: list[dict[str, str]]) -> RenderableType:
    """Return the overview of all policies as a list for a narrow terminal."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = []
    for row in rows:
        facts = (
            f"{row['idea']}. Needs budget: {row['needs budget']}; adjusts for shifts: "
            f"{row['adjusts for shifts']}. {row['reference']}."
        )
        parts += [Text(row["name"], style="bold"), Padding(Text(facts), (0, 0, 0, 2))]
    return Group(*parts)
