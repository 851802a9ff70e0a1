"""The command `tideproof plan`, which finds how many pulls a test needs before it begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.number_options import number_option, whole_option
from tideproof.errors import InputError
from tideproof.files import check_picture_path, check_writable
from tideproof.text import escape_control_characters

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from tideproof.plans.pilot_study import Pilot
    from tideproof.plans.plan_result import Plan


def plan_command(
    arms: Annotated[
        int | None, whole_option("Number of arms. With --from, the default is that of the log.")
    ] = None,
    gap: Annotated[
        float | None, number_option("For means: lead of the best arm, in units of the reward.")
    ] = None,
    sigma: Annotated[
        float | None, number_option("For means: standard deviation of a reward (1, or that of the log).")
    ] = None,
    rate: Annotated[
        float | None,
        number_option("For conversions: usual rate. With --from, the default is that of the log."),
    ] = None,
    lift: Annotated[
        float | None, number_option("For conversions: relative lead of the best arm, such as 0.1 for 10 %.")
    ] = None,
    per_environment: Annotated[
        int | None, whole_option("Number of pulls in one environment, such as the visitors of a day.")
    ] = None,
    error: Annotated[float, number_option("Allowed probability of selecting a wrong arm.")] = 0.05,
    log: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="Pilot log, in any format that tideproof analyze reads."),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Column of the log with the arm (variant).")] = None,
    environment: Annotated[
        str | None, typer.Option(help="Column of the log with the environment, such as the day.")
    ] = None,
    reward: Annotated[str | None, typer.Option(help="Column of the log with the reward.")] = None,
    table: Annotated[
        str | None,
        typer.Option(help="For a log in a database: a table or an SQL query. For Excel: a sheet."),
    ] = None,
    replications: Annotated[
        int | None, whole_option("Simulated runs of each budget (as many as a few seconds allow).")
    ] = None,
    seed: Annotated[int, whole_option("The same seed gives the same plan.")] = 0,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Save a picture of the error against the budget: png, svg or pdf."),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="Save the curve of the picture as a CSV file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Find how many pulls a test needs, and how many environments it takes.

    The test is simulated in the least favourable case: one best arm, and all others equal. For example:

    tideproof plan --arms 5 --gap 0.3 --sigma 1.0 --per-environment 200 --error 0.05

    tideproof plan --arms 3 --rate 0.03 --lift 0.1 --per-environment 20000 --plot plan.png
    """
    from rich.console import Console

    from tideproof.plans.planner import plan

    check_writable(csv)
    if plot is not None:
        check_picture_path(plot)
    if log is None and any(each is not None for each in (arm, environment, reward, table)):
        raise InputError("--arm, --environment, --reward and --table describe a log: they need --from FILE")
    pilot = None if log is None else _read_pilot(log, arm, environment, reward, table)
    found = plan(
        arms=arms,
        gap=gap,
        sigma=sigma,
        rate=rate,
        lift=lift,
        per_environment=per_environment,
        error=error,
        log=pilot,
        replications=replications,
        seed=seed,
        progress=progress,
    )
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        show(Console(), found)
    if csv is not None:
        found.curve.to_csv(csv)
    if plot is not None:
        found.plot(plot)
    for what, path in {"curve": csv, "picture": plot}.items():
        if path is not None:
            typer.echo(f"{what}: {path}", err=as_json)


COMMAND = Command(
    "plan",
    plan_command,
    hint="tideproof serve runs the test as a web service, tp.Experiment in a Python program",
)


def show(console: Console, found: Plan) -> None:
    """Print a plan: its sentences and its table."""
    from rich.text import Text

    console.print(Text(escape_control_characters(found.sentence)))
    console.print(Text(found.power))
    console.print()
    for table in _design_tables(found, console.width):
        console.print(table)


def _design_tables(found: Plan, width: int) -> list[RichTable]:
    """Return the table of designs; a narrow terminal needs several tables."""
    from tideproof.report.terminal_tables import Column, make_tables

    rows = found.table.to_dicts()
    errors = [f"{100 * r['wrong']:.2f} ({100 * r['low']:.2f}\N{EN DASH}{100 * r['high']:.2f})" for r in rows]
    columns = [
        Column("pulls", [f"{row['pulls']:,}" for row in rows]),
        Column("nine of ten", [f"{n:,}" if (n := row["nine_of_ten"]) else "\N{EN DASH}" for row in rows]),
        Column("environ-\nments", [f"{row['environments']:,}" for row in rows]),
        Column("% wrong in simulation", errors),
        Column("runs", [f"{row['runs']:,}" for row in rows]),
    ]
    caption = f"runs that stop early had a budget of {found.sure.cap:,} pulls"
    first = Column("way", [row["way"] for row in rows], left=True)
    return list(make_tables(first, columns, width, caption=caption))


def _read_pilot(
    file: str, arm: str | None, environment: str | None, reward: str | None, table: str | None
) -> Pilot:
    """Read a pilot log as `analyze` does; columns that are not given are guessed and reported."""
    from rich.console import Console

    from tideproof.data.cell_reader import ReadOptions, columns_in_name, read_cells
    from tideproof.data.column_guess import guess_columns
    from tideproof.data.column_spec import ColumnSpec
    from tideproof.data.dataset import source_dataset
    from tideproof.data.sources.source_dispatch import open_source
    from tideproof.plans.pilot_study import pilot_of_cells

    with open_source(file, table) as source:
        taken = [
            name for text in (environment or "", reward or "") for name in columns_in_name(text, source.types)
        ]
        found = guess_columns(source.types, arm, environment, reward, taken=taken)
        if found.guessed:
            message = f"columns: {found} (guessed: {', '.join(found.guessed)}; options choose others)"
            Console(stderr=True).print(
                escape_control_characters(message), style="dim", highlight=False, markup=False
            )
        data = read_cells(source_dataset(source), ColumnSpec.of(*found[:3]), ReadOptions(), None)
    return pilot_of_cells(data.cells)
