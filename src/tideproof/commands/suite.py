"""`tideproof simulate --suite`: run the held-out worlds and print who errs least where."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from tideproof.lab.suite import Suite

_WIDE = 100  # columns of a screen on which arms and budgets fit beside the default policies
_LEFT_OUT = "\N{EN DASH}"


def run_suite(
    policies: list[str] | None,
    replications: int | None,
    seed: int,
    scheduler: str | None,
    engine: str,
    csv: Path | None,
    as_json: bool,
    progress: bool,
) -> None:
    """Run the suite, with its own policies or replications where None is given, and print it."""
    from rich.console import Console

    from tideproof.lab.executors import dask
    from tideproof.lab.suite import POLICIES, suite

    with dask(scheduler) if scheduler else nullcontext() as executor:
        found = suite(policies or POLICIES, replications, seed, executor, progress, engine)
    if as_json:
        typer.echo(json.dumps(_plain(found)))
    else:
        console = Console()
        console.print(_shown(found, narrow=console.width < _WIDE), crop=False)
        typer.echo(found.verdict)
    if csv is not None:
        found.table().to_csv(csv)
        typer.echo(f"table: {csv}", err=as_json)
    if found.interrupted:
        raise typer.Exit(130)


def _plain(found: Suite) -> dict[str, object]:
    return {
        "score": found.score,
        "worse": found.worse,
        "standing": found.standing().to_dicts(),
        "table": found.table().to_dicts(),
    }


def _shown(found: Suite, narrow: bool) -> RichTable:
    """Return a row for each world: errors relative to the best policy there, and the PICS of that one."""
    from rich.table import Table

    from tideproof.lab.suite import geometric_mean

    relative = {label: found.relative(label) for label in found.policies}
    title = "PICS relative to the best policy of each world"
    table = Table(title=title, box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("world")
    details = () if narrow else ("arms", "budget")
    for name in (*details, *map(_folded, found.policies), "PICS\nbest"):
        table.add_column(name, justify="right", no_wrap=True)
    for row, (world, study) in enumerate(found.studies.items()):
        least = min(float(study.pics(label)[0]) for label in study.policies)
        about = () if narrow else (str(study.world.arms), f"{study.budgets[0]:,}")
        cells = (_cell(values[row]) for values in relative.values())
        table.add_row(world, *about, *cells, f"{least:.4f}")
    table.add_section()
    means = (_cell(geometric_mean(values)) for values in relative.values())
    table.add_row("geometric mean", *("" for _ in details), *means, "")
    if any(math.isnan(value) for values in relative.values() for value in values):
        table.caption = f"{_LEFT_OUT} left out: too slow with so many arms"
    return table


def _cell(relative: float) -> str:
    return _LEFT_OUT if math.isnan(relative) else f"{relative:.2f}"


def _folded(label: str) -> str:
    """Break a long label where it may be broken.

    >>> _folded("reduce:successive-rejects").split()
    ['reduce:', 'successive-', 'rejects']
    """
    for mark in ":-+":
        label = label.replace(mark, f"{mark}\n")
    return label
