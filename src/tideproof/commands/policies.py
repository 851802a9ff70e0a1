"""`tideproof policies`: what there is to choose from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from tideproof.commands.command_definition import Command

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tideproof.table import Table

NARROW = 76  # columns of a screen: below it a table has no room for sentences


def policies_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """List the policies: idea, reference, whether they need the horizon and know of shifts.

    For example

    tideproof policies --json
    """
    from tideproof.report.policy_pages import overview

    table = overview()
    if as_json:
        typer.echo(json.dumps(table.to_dicts()))
        return
    from rich.console import Console

    console = Console()
    console.print(_listed(table) if console.width < NARROW else _tabled(table))
    console.print()
    console.print("A suffix picks the selection rule: round-robin+ols.", highlight=False)
    console.print("The prefix reduce: takes the shifts out of rewards first: reduce:lucb.", highlight=False)


COMMAND = Command("policies", policies_command, then="tideproof simulate --policies NAME plays one")


def _tabled(table: Table) -> RenderableType:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        shown.add_column(column, no_wrap=column == "name")
    for row in table:
        shown.add_row(*map(Text, row.values()))
    return shown


def _listed(table: Table) -> RenderableType:
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    parts: list[RenderableType] = []
    for row in table:
        facts = f"{row['idea']}. Horizon: {row['horizon']}; shifts: {row['shifts']}. {row['reference']}."
        parts += [Text(row["name"], style="bold"), Padding(Text(facts), (0, 0, 0, 2))]
    return Group(*parts)
