"""The `--suite` option of `tideproof simulate`: compare policies in a fixed set of simulated worlds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from tideproof.research.suite.policy_suite import Suite

_WIDE = 100  # terminal width from which the columns of arms and budgets are shown
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
    worlds: str = "even",
) -> None:
    """Compare policies in a fixed collection of simulated worlds, and print the results.

    `policies` and `replications` have defaults if they are None.
    """
    from rich.console import Console

    from tideproof.lab.executors import dask
    from tideproof.research.suite.policy_suite import suite

    with dask(scheduler) if scheduler else nullcontext() as executor:
        found = suite(policies, replications, seed, executor, progress, engine, worlds)
    if as_json:
        typer.echo(json.dumps(_as_dict(found)))
    else:
        console = Console()
        for table in suite_tables(found, console.width):
            console.print(table)
        typer.echo(found.verdict)
    if csv is not None:
        found.table().to_csv(csv)
        typer.echo(f"table: {csv}", err=as_json)
    if found.interrupted:
        raise typer.Exit(130)


def _as_dict(found: Suite) -> dict[str, object]:
    """Return the results of comparing policies in many simulated worlds, as plain values for JSON."""
    return {
        "score": found.score,
        "worse": found.worse,
        "standing": found.standing().to_dicts(),
        "table": found.table().to_dicts(),
    }


def suite_tables(found: Suite, width: int) -> Iterator[RichTable]:
    """Yield tables of each policy's error rate in each simulated world, relative to the best policy."""
    from tideproof.report.table_layout import Column, make_tables
    from tideproof.research.suite.policy_suite import geometric_mean

    studies = found.studies.values()
    relative = {label: found.relative(label) for label in found.policies}
    least = [min(float(study.pics(label)[0]) for label in study.policies) for study in studies]
    columns = [
        Column(_fold(label), [*map(format_ratio, values), format_ratio(geometric_mean(values))])
        for label, values in relative.items()
    ]
    columns.append(Column("PICS\nbest", [*(f"{pics:.4f}" for pics in least), ""]))
    if width >= _WIDE:
        about = {
            "arms": [str(study.world.arms) for study in studies],
            "budget": [f"{study.budgets[0]:,}" for study in studies],
        }
        columns = [*(Column(name, [*cells, ""]) for name, cells in about.items()), *columns]
    left_out = any(math.isnan(value) for values in relative.values() for value in values)
    return make_tables(
        Column("world", [*found.studies, "geometric mean"], left=True),
        columns,
        width,
        title="Probability of incorrect selection (PICS)\nrelative to the best policy of each world",
        caption=f"{_LEFT_OUT}: not simulated, because the policy is too slow with so many arms"
        if left_out
        else None,
        space=1,
        box=None,
        header_style="bold",
        padding=(0, 1, 0, 0),
    )


def format_ratio(relative: float) -> str:
    """Format the error rate of a policy as a multiple of the best policy's error rate.

    A dash stands for a policy that was not simulated.
    """
    return _LEFT_OUT if math.isnan(relative) else f"{relative:.2f}"


def _fold(label: str) -> str:
    """Insert line breaks into the long name of a policy.

    >>> _fold("reduce:successive-rejects").split()
    ['reduce:', 'successive-', 'rejects']
    """
    for mark in ":-+":
        label = label.replace(mark, f"{mark}\n")
    return label
