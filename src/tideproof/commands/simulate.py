"""The command `tideproof simulate`, which compares policies by simulation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import (
    OUTPUT,
    AsJson,
    NoProgress,
    Scheduler,
    flag_option,
    number_option,
    read_budgets,
    text_option,
    whole_option,
)
from tideproof.errors import InputError, UnknownName
from tideproof.files import check_picture_path, check_writable
from tideproof.text import count_decimals, format_count

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from tideproof.lab.study import Study


# The parameters that can be combined with --suite. The others choose a single world or save its study.
SUITE_PARAMETERS = (
    "suite",
    "worlds",
    "policies",
    "replications",
    "seed",
    "scheduler",
    "engine",
    "csv",
    "as_json",
    "no_progress",
)


def simulate_command(
    context: typer.Context,
    arms: Annotated[int, whole_option("Number of arms.", "World")] = 5,
    configuration: Annotated[str, text_option("Means: mdm or slippage (above).", "World", "NAME")] = "mdm",
    scenario: Annotated[str, text_option("Environments (above).", "World", "NAME")] = "general",
    delta: Annotated[float, number_option("Difference of means (above).", "World")] = 0.5,
    sigma: Annotated[float, number_option("Standard deviation of the noise.", "World")] = 1.0,
    suite: Annotated[
        bool, flag_option("--suite", "Use a fixed collection of worlds (above).", "World")
    ] = False,
    worlds: Annotated[str, text_option("Worlds of --suite: even or uneven.", "World", "NAME")] = "even",
    policies: Annotated[
        list[str],
        text_option("Policies, separated by commas.", "Simulation", "NAMES", default=False),
    ] = ["contrast", "linlucb", "round-robin+ols", "round-robin"],  # noqa: B006
    budgets: Annotated[str, text_option("Budgets in pulls, ascending.", "Simulation", "NUMBERS")] = (
        "100,200,500"
    ),
    replications: Annotated[int, whole_option("Runs of each policy.", "Simulation")] = 10_000,
    seed: Annotated[int, whole_option("Random seed.", "Simulation")] = 0,
    engine: Annotated[str, text_option("cpu, cuda (a GPU) or auto.", "Simulation", "NAME")] = "auto",
    scheduler: Scheduler = None,
    csv: Annotated[Path | None, text_option("Save the table as a CSV file.", OUTPUT, "FILE")] = None,
    save: Annotated[
        Path | None, text_option("Save the study as a file for tp.Study.load.", OUTPUT, "FILE")
    ] = None,
    plot: Annotated[
        Path | None, text_option("Save a chart of the error rate by budget.", OUTPUT, "FILE")
    ] = None,
    as_json: AsJson = False,
    no_progress: NoProgress = False,
) -> None:
    """Simulate policies that choose among arms, and print how often each policy selects a wrong arm.

    Each policy is simulated many times in one world, which defines the means of the arms and the shifts of
    the environments. The worlds are those of the ECAI 2024 paper that introduced LinLUCB. By default,
    contrast, linlucb, round-robin+ols and round-robin are compared. --policies may be repeated.

    Means of the arms (--configuration):

    * mdm: each arm is better than the one before by --delta
    * slippage: the best arm is better than all others by --delta; the others are equal

    Number of pulls in an environment (--scenario), for K arms:

    * worst-case: 2
    * cannot-sample-all-arms: 2 to K - 1
    * sample-1-to-10: K to 10 K
    * general: 2 to 10 K
    * stationary: all pulls are in one environment, without shifts

    With --suite, the first policy is compared with the others, or with default policies, in a fixed
    collection of worlds, each with its own budget. This takes some minutes. In the collection "uneven", arms
    have unequal noise, environments shift some arms more than others, or the rewards of some arms are wrong
    in some environments.
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
        raise InputError(f"--worlds {worlds!r} requires --suite, whose collection of worlds it selects")
    if suite:
        given = _given_parameters(context)
        _check_suite_parameters(context, given)
        run_suite(
            names if "policies" in given else None,
            replications if "replications" in given else None,
            seed,
            scheduler,
            engine,
            csv,
            as_json,
            not no_progress,
            worlds,
        )
        return
    worlds_by_name = {"mdm": mdm, "slippage": slippage}
    if configuration not in worlds_by_name:
        raise UnknownName.with_suggestion("configuration", configuration, worlds_by_name)
    world = worlds_by_name[configuration](arms, scenario, delta, sigma)
    checkpoints = read_budgets(budgets)

    with dask(scheduler) if scheduler else nullcontext() as executor:
        study = simulate(world, names, checkpoints, replications, seed, executor, not no_progress, engine)

    console = Console()
    if as_json:
        typer.echo(json.dumps(study.table().to_dicts()))
    else:
        for table in _tables(study, f"{configuration}, {arms} arms, {scenario}", console.width):
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
    examples=(
        "tideproof simulate --policies contrast,linlucb --budgets 100,200 --arms 5",
        "tideproof simulate --suite --policies contrast",
    ),
    hint="--suite compares policies in many worlds; tideproof policies lists all policies",
)


def _given_parameters(context: typer.Context) -> list[str]:
    """Return the names of the parameters that were given on the command line."""
    return [
        name
        for name in context.params
        if (source := context.get_parameter_source(name)) is not None and source.name != "DEFAULT"
    ]


def _check_suite_parameters(context: typer.Context, given: list[str]) -> None:
    """Raise `InputError` if an option was given that cannot be combined with the option --suite."""
    flags = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    for name in given:
        if name not in SUITE_PARAMETERS:
            allowed = ", ".join(flags[each] for each in SUITE_PARAMETERS[1:])
            raise InputError(
                f"{flags[name]} cannot be combined with --suite, which has its own worlds and budgets; "
                f"allowed: {allowed}"
            )


def _tables(study: Study, world: str, width: int) -> Iterator[RichTable]:
    """Yield tables of how often each policy selects a wrong arm, for a terminal of the given width."""
    from tideproof.report.table_layout import Column, make_tables

    cells = []
    for label in study.policies:
        found = study.pics(label), study.standard_error(label), study.interval(label).high
        cells.append([format_pics(*each) for each in zip(*found, strict=True)])
    columns = [
        Column(f"{budget:,}", column)
        for budget, column in zip(study.budgets, zip(*cells, strict=True), strict=True)
    ]
    quantity = "Probability of incorrect selection (PICS) ± standard error"
    title = f"{quantity}\n{world}, {format_count(study.replications, 'replication')}"
    return make_tables(Column("policy", study.policies, left=True), columns, width, title)


def format_pics(pics: float, error: float, high: float) -> str:
    """Format an estimated probability of incorrect selection with its standard error.

    If the estimate is 0, the upper bound is shown instead.

    >>> format_pics(0.01489, 0.00038, 0.01566), format_pics(0.0, 0.0, 0.0000369), format_pics(1.0, 0.0, 1.0)
    ('0.01489 ± 0.00038', '< 0.000037', '1')
    """
    if pics == 0.0:
        return f"< {high:.{count_decimals(high, 2)}f}"
    if not error > 0.0:
        return f"{pics:g}"
    digits = count_decimals(error, 2)
    return f"{pics:.{digits}f} ± {error:.{digits}f}"
