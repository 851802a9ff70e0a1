"""The command `tideproof reproduce`, which repeats the experiments of the paper and checks its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.number_options import whole_option
from tideproof.errors import InputError

FULL, QUICK = 100_000, 2_000


def reproduce_command(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="[FIGURE]...", help="Figures to reproduce; by default all.")
    ] = None,
    replications: Annotated[
        int | None,
        whole_option("Runs of each policy (100,000, as in the paper)."),
    ] = None,
    seed: Annotated[int, whole_option("Random seed. The same seed gives the same results.")] = 1,
    out: Annotated[
        Path, typer.Option(help="Output folder. Results that it already contains are not computed again.")
    ] = Path("reproduction"),
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Address of a Dask scheduler, on whose cluster to run."),
    ] = None,
    engine: Annotated[str, typer.Option(help="cpu, cuda (a GPU) or auto (a GPU if there is one).")] = "cpu",
    quick: Annotated[bool, typer.Option("--quick", help=f"Use {QUICK:,} replications.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Reproduce the figures of the paper and check its claims.

    For example:

    tideproof reproduce --replications 2000

    tideproof reproduce fig1 --out paper
    """
    from contextlib import nullcontext

    from rich.console import Console

    from tideproof.lab.executors import dask
    from tideproof.research.paper.claims_ledger import summary
    from tideproof.research.paper.reproduction import reproduce

    if quick and replications is not None:
        raise InputError("give --quick or --replications, not both")
    count = QUICK if quick else FULL if replications is None else replications
    try:
        with dask(scheduler) if scheduler else nullcontext() as executor:
            made = reproduce(figures or [], count, seed, out, executor, progress, engine)
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted; finished panels are in {out}: the same command continues from there", err=True
        )
        raise typer.Exit(130) from None
    console = Console()
    for each in made.judged:
        console.print(f"{each.verdict:14} {each.claim.name}", highlight=False)
    console.print(summary(made.judged), highlight=False)
    console.print(f"Open {made.folder / 'index.html'}", highlight=False)


COMMAND = Command("reproduce", reproduce_command)
