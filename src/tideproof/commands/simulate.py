"""`tideproof simulate`: policies in one of the paper's worlds, or in all of the suite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.number_options import number_option, read_budgets, whole_option
from tideproof.errors import InputError, UnknownName
from tideproof.files import check_picture_path, check_writable
from tideproof.text import count_decimals, format_count

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from tideproof.lab.study import Study


# Everything else says which world to run, or what to make of its one study.
WITH_SUITE = (
    "suite",
    "worlds",
    "policies",
    "replications",
    "seed",
    "scheduler",
    "engine",
    "csv",
    "as_json",
    "progress",
)


def simulate_command(
    context: typer.Context,
    suite: Annotated[
        bool,
        typer.Option(
            "--suite",
            help="Judge the first policy on a fixed collection of worlds against the others; if it is "
            "alone, against the default ones. Takes some minutes.",
        ),
    ] = False,
    worlds: Annotated[
        str, typer.Option(help="Of --suite: even, or uneven (unequal noise, interactions, wrong cells).")
    ] = "even",
    arms: Annotated[int, whole_option("Number of arms.")] = 5,
    configuration: Annotated[
        str, typer.Option(help="Means: mdm (each a step better) or slippage (all equal but the best).")
    ] = "mdm",
    scenario: Annotated[
        str,
        typer.Option(
            help="Environments: worst-case, cannot-sample-all-arms, sample-1-to-10, general or stationary."
        ),
    ] = "general",
    delta: Annotated[float, number_option("Gap between neighbouring means.")] = 0.5,
    sigma: Annotated[float, number_option("Standard deviation of the noise.")] = 1.0,
    policies: Annotated[
        list[str], typer.Option(help="Names, separated by commas; the option may be repeated.")
    ] = ["contrast", "linlucb", "round-robin+ols", "round-robin"],  # noqa: B006
    budgets: Annotated[str, typer.Option(help="Checkpoints in ascending order, separated by commas.")] = (
        "100,200,500"
    ),
    replications: Annotated[int, whole_option("Runs of each policy.")] = 10_000,
    seed: Annotated[int, whole_option("The same seed gives the same numbers.")] = 0,
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler.")
    ] = None,
    engine: Annotated[str, typer.Option(help="cpu, cuda (a GPU), or auto: a GPU if there is one.")] = "auto",
    csv: Annotated[Path | None, typer.Option(help="Save the table as CSV.")] = None,
    save: Annotated[Path | None, typer.Option(help="Save the whole study as JSON, for Study.load.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Save a picture: png, svg or pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON, for scripts.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Run policies many times over in a world of the paper and print how often they are wrong.

    With --suite, worlds and budgets are those of the suite, and so are policies and replications unless
    they are given. For example

    tideproof simulate --policies contrast,linlucb,round-robin+ols --budgets 100,200 --arms 5

    tideproof simulate --suite --policies contrast
    """
    from contextlib import nullcontext

    from rich.console import Console

    from tideproof.commands.simulate_suite import run_suite
    from tideproof.lab.executors import dask
    from tideproof.lab.simulation import simulate
    from tideproof.worlds import mdm, slippage

    names = [name.strip() for listed in policies for name in listed.split(",")]
    for path in (csv, save):
        check_writable(path)
    if plot is not None:
        check_picture_path(plot)
    if worlds != "even" and not suite:
        raise InputError("--worlds belongs to --suite")
    if suite:
        given = _given(context)
        _check_alone(context, given)
        run_suite(
            names if "policies" in given else None,
            replications if "replications" in given else None,
            seed,
            scheduler,
            engine,
            csv,
            as_json,
            progress,
            worlds,
        )
        return
    made = {"mdm": mdm, "slippage": slippage}
    if configuration not in made:
        raise UnknownName.with_suggestion("configuration", configuration, made)
    world = made[configuration](arms, scenario, delta, sigma)
    checkpoints = read_budgets(budgets)

    with dask(scheduler) if scheduler else nullcontext() as executor:
        study = simulate(world, names, checkpoints, replications, seed, executor, progress, engine)

    console = Console()
    if as_json:
        typer.echo(json.dumps(study.table().to_dicts()))
    else:
        for table in _shown(study, f"{configuration}, {arms} arms, {scenario}", console.width):
            console.print(table)
    if csv is not None:
        study.table().to_csv(csv)
    if save is not None:
        study.save(save)
    if plot is not None:
        study.plot(plot)
    for what, path in {"table": csv, "study": save, "picture": plot}.items():
        if path is not None:
            typer.echo(f"{what}: {path}", err=as_json)
    if study.interrupted:
        raise typer.Exit(130)


COMMAND = Command(
    "simulate",
    simulate_command,
    then="--suite compares policies over many worlds; tideproof policies lists them",
)


def _given(context: typer.Context) -> list[str]:
    """Return the parameters that were given, not left at their defaults."""
    return [
        name
        for name in context.params
        if (source := context.get_parameter_source(name)) is not None and source.name != "DEFAULT"
    ]


def _check_alone(context: typer.Context, given: list[str]) -> None:
    """Refuse options that the suite decides by itself."""
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in given:
        if name not in WITH_SUITE:
            allowed = ", ".join(flags[each] for each in WITH_SUITE[1:])
            raise InputError(
                f"{flags[name]} does not go with --suite, which has its own worlds and budgets; "
                f"allowed: {allowed}"
            )


def _shown(study: Study, world: str, width: int) -> Iterator[RichTable]:
    """Yield tables of how often each policy is wrong, each of as many budgets as the screen has room for."""
    from tideproof.report.terminal_tables import Column, tables

    cells = []
    for label in study.policies:
        found = study.pics(label), study.stderr(label), study.interval(label).high
        cells.append([_cell(*each) for each in zip(*found, strict=True)])
    columns = [
        Column(f"{budget:,}", column)
        for budget, column in zip(study.budgets, zip(*cells, strict=True), strict=True)
    ]
    title = f"PICS ± standard error\n{world}, {format_count(study.replications, 'replication')}"
    return tables(Column("policy", study.policies, left=True), columns, width, title)


def _cell(pics: float, error: float, high: float) -> str:
    """Show two digits of the error; where there was no mistake, the upper end of the 95 % interval.

    >>> _cell(0.01489, 0.00038, 0.01566), _cell(0.0, 0.0, 0.0000369), _cell(1.0, 0.0, 1.0)
    ('0.01489 ± 0.00038', '< 0.000037', '1')
    """
    if pics == 0.0:
        return f"< {high:.{count_decimals(high, 2)}f}"
    if not error > 0.0:
        return f"{pics:g}"
    digits = count_decimals(error, 2)
    return f"{pics:.{digits}f} ± {error:.{digits}f}"
