"""`tideproof analyze`: the honest winner from a log, in the terminal, as JSON or as an HTML report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tideproof.commands.command import Command
from tideproof.commands.numbers import number_option
from tideproof.errors import InputError
from tideproof.progress import is_watched, progress_bar
from tideproof.words import decimals, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from tideproof.estimate import Fit
    from tideproof.estimate.scaled import ScaleChoice
    from tideproof.frames import Missing
    from tideproof.report.analysis import Analysis
    from tideproof.stats.cells import Cells
    from tideproof.stats.noise import Variance

CODES = {"winner": 0, "open": 3, "not_comparable": 4}
EXITS = {0: "one arm is best at this level", 3: "several may be", 4: "arms cannot be compared"}


def analyze_command(
    place: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Parquet or JSON lines, a glob of them, Excel, a DuckDB or SQLite file, "
            "postgresql://…, or - for a pipe.",
        ),
    ],
    arm: Annotated[str | None, typer.Option(help="Column of the variants.")] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            help="Column of the days; or hour(ts), day(ts), week(ts) of a timestamp; or pairs, rep:block; or "
            "two that add up, 'cow + period'."
        ),
    ] = None,
    no_environment: Annotated[
        bool, typer.Option("--no-environment", help="All rows belong together: adjust nothing.")
    ] = False,
    reward: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of what was earned, or a quotient: 'revenue / sessions'. Several: the first "
            "decides, the others must not get worse."
        ),
    ] = None,
    low: Annotated[
        list[str] | None, typer.Option(help="Of several rewards, one in which a low number is good.")
    ] = None,
    control: Annotated[str | None, typer.Option(help="The arm that all others are compared with.")] = None,
    by: Annotated[str | None, typer.Option(help="Column of segments: who wins in each?")] = None,
    unit: Annotated[
        str | None, typer.Option(help="Column of who a reward came from, where one gives several.")
    ] = None,
    covariate: Annotated[
        list[str] | None, typer.Option(help="Column of a number known before the arm was: less noise.")
    ] = None,
    cap: Annotated[
        str | None, typer.Option(help="Rewards above this quantile count as that: 99.9%.", metavar="SHARE")
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(help="Shares that arms should have: 50:50, or A=50,B=50.", metavar="SHARES"),
    ] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="A low reward is good.")] = False,
    level: Annotated[float, number_option("Confidence of all statements.")] = 0.95,
    variance: Annotated[
        str,
        typer.Option(help="Noise: auto, or common, by-arm, by-environment, robust, clustered (differences)."),
    ] = "auto",
    scale: Annotated[
        str, typer.Option(help="What to compare: difference, ratio, odds, or auto: what the data say.")
    ] = "auto",
    n: Annotated[str | None, typer.Option(help="Aggregated rows: the column of their count.")] = None,
    sample_variance: Annotated[str | None, typer.Option(help="Aggregated rows: their variance.")] = None,
    sd: Annotated[str | None, typer.Option(help="Aggregated rows: their standard deviation.")] = None,
    successes: Annotated[
        str | None, typer.Option(help="Aggregated 0s and 1s: the column of how many of n were 1.")
    ] = None,
    wide: Annotated[
        str | None, typer.Option(help="Columns that are arms, each with its rewards: A,B,C.", metavar="A,B,…")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="In a database: a table or a query. In Excel: a sheet.")
    ] = None,
    time_zone: Annotated[
        str | None, typer.Option(help="Whose hours, days and weeks: Europe/Berlin. Otherwise UTC.")
    ] = None,
    decimal: Annotated[
        str | None, typer.Option(help="What stands before decimals, . or , if that cannot be told.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows that lack a value.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write a report to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")] = False,
    progress: Annotated[bool, typer.Option(help="Show how far the reading is.")] = True,
) -> None:
    """Say which variant is best once the tide is taken out, and how sure that is."""
    from rich.console import Console

    from tideproof.commands.analyze_options import named_arm, read_expected, read_share
    from tideproof.estimate import Fit
    from tideproof.estimate.metrics import check_metrics, judged
    from tideproof.estimate.reading import noise_of
    from tideproof.estimate.segments import judge_segments
    from tideproof.files import check_folder, replace_text
    from tideproof.frames.guess import ROLES, guess
    from tideproof.frames.opened import of_source
    from tideproof.frames.read import Wish, read, written
    from tideproof.frames.request import Request
    from tideproof.frames.source import open_source
    from tideproof.report.analysis import analyse, as_dict
    from tideproof.report.beside import Beside, beside
    from tideproof.report.html_report import html_report

    check_folder(html)
    console, messages = Console(), Console(stderr=True)
    if no_environment and environment is not None:
        raise InputError("--environment and --no-environment exclude each other")
    arms = None if wide is None else [name.strip() for name in wide.split(",")]
    rewards, low, covariates = reward or [], low or [], tuple(covariate or ())
    if rewards or low:
        check_metrics(rewards, low)
    wish = Wish(covariates, unit or "", by or "", None if cap is None else read_share(cap))
    noise = noise_of(cast("Variance", variance), {"unit": unit})
    link = cast("ScaleChoice", scale)
    with open_source(place, table) as source:
        unneeded = {"environment": no_environment, "arm": wide, "reward": wide or successes}
        found = guess(
            source.types,
            arm,
            environment,
            rewards[0] if rewards else None,
            needed=[role for role in ROLES if not unneeded[role]],
            taken=[
                name
                for name in (n, sample_variance, sd, successes, by, unit, *covariates, *(arms or ()))
                if name
            ]
            + [name for text in (environment or "", *rewards) for name in written(text, source.types)],
        )
        others = {"wide": wide, "successes": successes, "n": n, "variance": sample_variance, "sd": sd}
        columns = ", ".join(
            [*filter(None, [str(found)]), *(f"{role} = {name}" for role, name in others.items() if name)]
        )
        if found.guessed:
            said = f"columns: {columns} (guessed: {', '.join(found.guessed)}; options choose others)"
            messages.print(printable(said), style="dim", highlight=False, markup=False)
        missing: Missing = "drop" if drop_missing else "refuse"
        point: Any = decimal
        request = Request.of(
            *found[:3],
            n=n,
            variance=sample_variance,
            sd=sd,
            successes=successes,
            missing=missing,
            time_zone=time_zone,
            decimal=point,
            wide=arms,
        )
        with progress_bar("reading", 100.0) if progress and is_watched() else nullcontext() as report:
            data = read(of_source(source), request, wish, report)
            guards = {
                name: read(of_source(source), replace(request, reward=name), replace(wish, cap=None), report)
                for name in rewards[1:]
            }

    def fitted(cells: Cells, lower: bool) -> Fit:
        return Fit(
            cells, direction="minimize" if lower else "maximize", level=level, variance=noise, scale=link
        )

    lower = minimize or found.reward in low
    fit = fitted(data.cells, lower)
    fits = {name: fitted(each.cells, name in low) for name, each in guards.items()}
    base = None if control is None else named_arm(control, fit.cells.arms)
    asked = Beside(
        control=base,
        metrics=judged({str(found.reward): fit, **fits}, base) if fits else None,
        segments=None
        if by is None
        else judge_segments(data, by, direction=fit.direction, level=level, variance=noise, scale=link),
        expected=None if expect is None else read_expected(expect, fit.cells.arms),
        cap=data.cap,
    )
    analysis, more = beside(analyse(fit), asked)
    if as_json:
        typer.echo(json.dumps(as_dict(analysis) | more | {"columns": found._asdict()}, default=str))
    else:
        show(console, analysis)
    if html is not None:
        replace_text(
            html,
            html_report(
                replace(analysis, notes=[*analysis.answers, *analysis.notes]), _public(place), columns
            ),
        )
        messages.print(f"report: {html}", highlight=False, markup=False)
    if code := CODES[analysis.standing]:
        raise typer.Exit(code)


COMMAND = Command("analyze", analyze_command, EXITS)


def show(console: Console, analysis: Analysis) -> None:
    """Print the verdict, the table of arms, warnings and notes."""
    from rich.text import Text

    colour = {"winner": "bold green", "open": "bold yellow", "not_comparable": "bold red"}[analysis.standing]
    console.print(Text(printable(f"{analysis.verdict}."), style=colour))
    console.print()
    for table in _arms(analysis, console.width):
        console.print(table)
    for answer in analysis.answers:
        console.print(Text(printable(answer)))
    for warning in analysis.warnings:
        console.print(Text("Careful: ", style="bold red") + Text(printable(warning), style="not bold"))
    for note in analysis.notes:
        console.print(Text(printable(note), style="dim"))


def _arms(analysis: Analysis, width: int, most: int = 40) -> Iterator[RichTable]:
    """Yield the arms, the best first, in one table or, on a narrow screen, several."""
    from rich import box

    from tideproof.report.screen import Column, tables

    rows = analysis.arms.to_dicts()
    shown = rows[:most]
    limits = [] if analysis.fit.exact else [x for row in rows for x in (row["low"], row["high"])]
    digits = _digits(limits)
    mean = f"adjusted mean ± {100 * analysis.fit.level:g} %"
    columns = {
        "n": [f"{row['n']:,}" for row in shown],
        mean: [_number(row["mean"], digits) + _reach(row, digits) for row in shown],
        "raw mean": [_number(row["raw_mean"], digits) for row in shown],
        "bias": [_number(row["bias"], digits, "+") for row in shown],
    }
    if analysis.standing == "not_comparable":  # nobody is best of all
        columns["group"] = [str(row["group"]) for row in shown]
    else:
        columns["p_best"] = [_number(row["p_best"], 3) for row in shown]
        columns["can be best"] = [row["can be best"] for row in shown]
    arm = Column("arm", [printable(str(row["arm"])) for row in shown], left=True)
    others = [Column(name, cells, name == "can be best") for name, cells in columns.items()]
    caption = f"{len(rows) - most:,} more arms: --json lists all" if len(rows) > most else None
    return tables(arm, others, width, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)


def _reach(row: dict[str, Any], digits: int) -> str:
    return "" if row["low"] is None else f" ± {(row['high'] - row['low']) / 2:.{digits}f}"


def _digits(limits: list[float | None]) -> int:
    """Return the decimals that show two digits of the widest interval.

    >>> _digits([1.0, 1.5, 2.0, 2.01]), _digits([1e6, 1e6 + 1e-7]), _digits([None, None]), _digits([])
    (2, 8, 3, 3)
    """
    known = [x for x in limits if x is not None]
    widths = [high - low for low, high in zip(known[::2], known[1::2], strict=True) if high > low]
    return min(9, decimals(max(widths), 2)) if widths else 3


def _number(x: float | None, digits: int, sign: str = "") -> str:
    return "\N{EN DASH}" if x is None else f"{x:{sign}.{digits}f}"


def _public(source: str) -> str:
    """Return the source without what is secret in a URL.

    >>> _public("postgresql://me:secret@host/db?password=x"), _public("log.csv")
    ('postgresql://host/db', 'log.csv')
    """
    from urllib.parse import urlsplit

    if "://" not in source:
        return source
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"
