"""The command `tideproof plan`, which finds how many pulls a test needs before it begins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import (
    OUTPUT,
    AsJson,
    NoProgress,
    number_option,
    spell_option,
    text_option,
    whole_option,
)
from tideproof.errors import InputError
from tideproof.files import check_picture_path, check_writable
from tideproof.text import escape_control_characters

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from tideproof.plans.look_costs import LookCosts
    from tideproof.plans.pilot_study import Pilot
    from tideproof.plans.plan_result import Plan


PILOT = "Pilot log"


def plan_command(
    arms: Annotated[int | None, whole_option("Number of arms.", "Test")] = None,
    per_environment: Annotated[int | None, whole_option("Pulls in one environment (a day).", "Test")] = None,
    error: Annotated[float, number_option("Allowed probability of error.", "Test")] = 0.05,
    gap: Annotated[
        float | None, number_option("Best mean minus the mean of each other arm.", "Means")
    ] = None,
    sigma: Annotated[
        float | None, number_option("Standard deviation of the noise.", "Means", default="1")
    ] = None,
    rate: Annotated[
        float | None, number_option("Conversion rate of all arms but the best.", "Conversions")
    ] = None,
    lift: Annotated[
        float | None, number_option("Relative lift over the other arms: 0.1 means 10 %.", "Conversions")
    ] = None,
    looks: Annotated[int | None, whole_option("Costs of so many planned looks.", "Test")] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Log of a pilot test, as for tideproof analyze.",
            rich_help_panel=PILOT,
        ),
    ] = None,
    arm: Annotated[str | None, text_option("Column with the arm.", PILOT, "COLUMN")] = None,
    environment: Annotated[str | None, text_option("Column with the environment.", PILOT, "COLUMN")] = None,
    reward: Annotated[str | None, text_option("Column with the reward.", PILOT, "COLUMN")] = None,
    table: Annotated[str | None, text_option("Table, SQL query or Excel sheet.", PILOT)] = None,
    replications: Annotated[
        int | None, whole_option("Simulated tests for each budget.", "Simulation")
    ] = None,
    seed: Annotated[int, whole_option("Random seed.", "Simulation")] = 0,
    plot: Annotated[
        Path | None, text_option("Save a chart of the error rate by budget.", OUTPUT, "FILE")
    ] = None,
    csv: Annotated[
        Path | None, text_option("Save the error rates by budget as a CSV file.", OUTPUT, "FILE")
    ] = None,
    as_json: AsJson = False,
    no_progress: NoProgress = False,
) -> None:
    """Find how many pulls a test needs, and how many environments (such as days) it lasts.

    Required are --arms, --per-environment, and either --gap for means or --rate and --lift for conversions.
    --gap or --lift is the smallest lead of the best arm that the test must find. With --from, a pilot log
    provides --arms, --per-environment, and --sigma or --rate if they are not given.

    The test is simulated in the least favourable case: one best arm, and all others equal. The probability
    that the test selects a wrong arm is then at most --error. By default, there are as many replications as a
    few seconds allow.

    With --looks 14 the test has an even split and ends after at most 14 environments. The result says how
    long it lasts if it is analyzed once, after each environment as planned, or at any time.
    """
    from rich.console import Console

    from tideproof.plans.planner import plan_with_names

    check_writable(csv)
    if plot is not None:
        check_picture_path(plot)
    if log is None and any(each is not None for each in (arm, environment, reward, table)):
        raise InputError(
            "--arm, --environment, --reward and --table can be used only with --from FILE, the pilot log"
        )
    if looks is not None:
        if log is not None:
            raise InputError("--looks cannot be combined with --from: give the parameters of the test")
        from tideproof.plans.look_costs import plan_looks_with_names

        costs = plan_looks_with_names(
            spell_option,
            looks,
            arms=arms,
            gap=gap,
            sigma=sigma,
            rate=rate,
            lift=lift,
            per_environment=per_environment,
            error=error,
            replications=replications,
            seed=seed,
        )
        _show_look_costs(Console(), costs, as_json)
        _save(costs, csv, plot, as_json)
        return
    pilot = None if log is None else _read_pilot(log, arm, environment, reward, table)
    found = plan_with_names(
        spell_option,
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
        progress=not no_progress,
    )
    if as_json:
        typer.echo(json.dumps(found.to_dict()))
    else:
        show(Console(), found)
    _save(found, csv, plot, as_json)


def _save(found: Plan | LookCosts, csv: Path | None, plot: Path | None, as_json: bool) -> None:
    """Write the power curve and the picture of a planned test to the given files."""
    if csv is not None:
        found.curve.to_csv(csv)
    if plot is not None:
        found.plot(plot)
    for what, path in {"curve": csv, "picture": plot}.items():
        if path is not None:
            typer.echo(f"{what}: {path}", err=as_json)


def _show_look_costs(console: Console, found: LookCosts, as_json: bool) -> None:
    """Print how long a test lasts if it is analyzed once, at planned times, or at any time."""
    from rich.text import Text

    from tideproof.report.table_layout import Column, make_tables

    if as_json:
        typer.echo(json.dumps(found.to_dict()))
        return
    rows = found.table.to_dicts()
    named = {
        look: [f"{100 * row['named']:.1f}" for row in found.curve if row["look"] == look]
        for look in sorted({round(share * found.looks) for share in (0.25, 0.5, 0.75, 1.0)} - {0})
    }
    columns = [
        Column("mean\nduration", [f"{row['mean_looks']:.1f}" for row in rows]),
        Column("mean pulls", [f"{row['pulls']:,}" for row in rows]),
        *(Column(f"% named\nby look {look}", shares) for look, shares in named.items()),
        Column("width of the\nlast interval", [f"{row['width']:.2f}" for row in rows]),
    ]
    console.print(Text(found.sentence))
    console.print(Text(found.advice))
    console.print()
    caption = "Durations are in environments. Widths are relative to those of one look."
    for table in make_tables(
        Column("looks", [row["design"] for row in rows], left=True), columns, console.width, caption=caption
    ):
        console.print(table)


COMMAND = Command(
    "plan",
    plan_command,
    examples=(
        "tideproof plan --arms 5 --gap 0.3 --sigma 1 --per-environment 200",
        "tideproof plan --arms 3 --rate 0.03 --lift 0.1 --per-environment 20000",
        "tideproof plan --arms 2 --gap 0.1 --per-environment 200 --looks 14",
        "tideproof plan --from pilot.csv --gap 0.3 --plot plan.png",
    ),
    hint="tideproof serve runs the test as a web service, tp.Experiment in a Python program",
)


def show(console: Console, found: Plan) -> None:
    """Print how many pulls a planned test needs.

    The output is a summary, the statistical power and a table of designs.
    """
    from rich.text import Text

    console.print(Text(escape_control_characters(found.sentence)))
    if found.question.interaction > 0.0:
        return  # the designs are for the environments of the test only
    console.print(Text(found.power))
    console.print()
    for table in _design_tables(found, console.width):
        console.print(table)


def _design_tables(found: Plan, width: int) -> list[RichTable]:
    """Return a table that compares designs of a test, split into several tables for a narrow terminal."""
    from tideproof.report.table_layout import Column, make_tables

    rows = found.table.to_dicts()
    errors = [f"{100 * r['wrong']:.2f} ({100 * r['low']:.2f}\N{EN DASH}{100 * r['high']:.2f})" for r in rows]
    columns = [
        Column("pulls", [f"{row['pulls']:,}" for row in rows]),
        Column(
            "90th per-\ncentile", [f"{n:,}" if (n := row["percentile_90"]) else "\N{EN DASH}" for row in rows]
        ),
        Column("environ-\nments", [f"{row['environments']:,}" for row in rows]),
        Column("% wrong in simulation", errors),
        Column("runs", [f"{row['runs']:,}" for row in rows]),
    ]
    budget = f"{found.calibrated_stop.budget:,} pulls"
    caption = f"In the simulation, tests with early stopping had a budget of {budget}."
    first = Column("design", [row["design"] for row in rows], left=True)
    return list(make_tables(first, columns, width, caption=caption))


def _read_pilot(
    file: str, arm: str | None, environment: str | None, reward: str | None, table: str | None
) -> Pilot:
    """Read the log of a pilot study.

    The names of columns that are not specified are guessed and reported.
    """
    from tideproof.plans.pilot_study import pilot_of
    from tideproof.report.report_tables import TerminalObserver

    return pilot_of(file, arm, environment, reward, table, TerminalObserver(progress=False))
