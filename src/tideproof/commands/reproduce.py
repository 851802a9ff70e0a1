"""The command `tideproof reproduce`, which repeats a research paper's simulations and checks its claims."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import (
    OUTPUT,
    NoProgress,
    Scheduler,
    flag_option,
    text_option,
    whole_option,
)
from tideproof.errors import InputError

FULL, QUICK = 100_000, 2_000


def reproduce_command(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="[FIGURE]...", help="Figures to reproduce; by default all.")
    ] = None,
    replications: Annotated[
        int | None, whole_option("Runs of each policy.", "Simulation", default="100,000")
    ] = None,
    quick: Annotated[bool, flag_option("--quick", f"Use {QUICK:,} replications.", "Simulation")] = False,
    seed: Annotated[int, whole_option("Random seed.", "Simulation")] = 1,
    engine: Annotated[str, text_option("cpu, cuda (a GPU) or auto.", "Simulation", "NAME")] = "cpu",
    scheduler: Scheduler = None,
    out: Annotated[Path, text_option("Output folder.", OUTPUT, "FOLDER")] = Path("reproduction"),
    no_progress: NoProgress = False,
) -> None:
    """Reproduce the figures of Srisawad et al. (2024), and check the claims of this paper.

    Results that the output folder already contains are not computed again.
    """
    from contextlib import nullcontext

    from rich.console import Console

    from tideproof.lab.executors import dask
    from tideproof.research.paper.claims_ledger import summary
    from tideproof.research.paper.reproduction import reproduce

    if quick and replications is not None:
        raise InputError(f"give --quick or --replications, not both: --quick means --replications {QUICK}")
    count = QUICK if quick else FULL if replications is None else replications
    try:
        with dask(scheduler) if scheduler else nullcontext() as executor:
            made = reproduce(figures or [], count, seed, out, executor, not no_progress, engine)
    except KeyboardInterrupt:
        typer.echo(
            f"interrupted: finished simulations are in {out}; repeat the same command to continue", err=True
        )
        raise typer.Exit(130) from None
    console = Console()
    for each in made.judged:
        console.print(f"{each.verdict:14} {each.claim.name}", highlight=False)
    console.print(summary(made.judged), highlight=False)
    console.print(f"Open {made.folder / 'index.html'}", highlight=False)


COMMAND = Command(
    "reproduce",
    reproduce_command,
    examples=("tideproof reproduce --quick", "tideproof reproduce fig1 --replications 2000 --out paper"),
)
