"""`tideproof policies`: what there is to choose from."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def policies_command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
) -> None:
    """List the policies: idea, reference, whether they need the horizon and know of shifts."""
    from tideproof.report.policy_pages import overview

    table = overview()
    if as_json:
        typer.echo(json.dumps(table.to_dicts()))
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    shown = RichTable(box=None, pad_edge=False, header_style="bold")
    for column in table.columns:
        shown.add_column(column, no_wrap=column == "name")
    for row in table:
        shown.add_row(*row.values())
    console = Console()
    console.print(shown)
    console.print()
    console.print("A suffix picks the selection rule: round-robin+ols.", highlight=False)
    console.print("The prefix reduce: takes the shifts out of rewards first: reduce:lucb.", highlight=False)
