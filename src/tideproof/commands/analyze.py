"""`tideproof analyze`: the honest winner from a log, in the terminal, as JSON or as an HTML report."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.number_options import number_option
from tideproof.errors import InputError
from tideproof.progress import is_stderr_interactive, progress_bar
from tideproof.store.store_urls import public
from tideproof.text import escape_control_characters, format_count

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from tideproof.analysis import Fit
    from tideproof.analysis.scale_selection import ScaleChoice
    from tideproof.analysis.within_label_test import Inside
    from tideproof.data import Missing
    from tideproof.data.cell_reader import Wish
    from tideproof.data.column_spec import Request
    from tideproof.data.dataset import Dataset
    from tideproof.report.analysis_report import Analysis
    from tideproof.stats.cells import Cells
    from tideproof.stats.variance.variance_models import Variance

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
    time: Annotated[
        str | None,
        typer.Option(
            help="Column of moments. Without an environment the tide is followed by time; with one, it is "
            "tested whether the tide moves inside."
        ),
    ] = None,
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
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="A policy chose arms by rewards: limits allow for it.")
    ] = False,
    level: Annotated[float, number_option("Confidence of all statements.")] = 0.95,
    anytime: Annotated[
        bool,
        typer.Option("--anytime", help="Statements hold however often this log is looked at while it grows."),
    ] = False,
    scale: Annotated[
        str, typer.Option(help="Compare arms by difference, ratio, odds or log; auto: as the data say.")
    ] = "auto",
    variance: Annotated[
        str,
        typer.Option(
            help="Noise: auto, or common, by-arm, by-environment, robust, clustered (differences); or "
            "interaction: arms differ from day to day."
        ),
    ] = "auto",
    robust: Annotated[
        str | None,
        typer.Option(help="cells: leave out what is simply wrong, and say so.", metavar="cells"),
    ] = None,
    prior: Annotated[
        str,
        typer.Option(help="For the chance to be best: arms are exchangeable, or flat: any gap as likely."),
    ] = "exchangeable",
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
    """Say which variant is best once the tide is taken out, and how sure that is.

    All numbers are for one look at the data, unless --anytime is given. For example

    tideproof analyze log.csv --arm variant --environment day --reward sales --html report.html

    tideproof analyze ads.csv --arm ad --environment day --successes clicks --n impressions

    tideproof analyze log.parquet --arm price --time ts --reward revenue
    """
    from rich.console import Console

    from tideproof.analysis import Fit
    from tideproof.analysis.log_options import noise_of
    from tideproof.analysis.outlier_exclusion import checked_robust
    from tideproof.analysis.scale_selection import logs_wanted
    from tideproof.analysis.segments import check_segments, judge_segments
    from tideproof.analysis.several_metrics import check_metrics, judged
    from tideproof.analysis.unlabelled_log import check_hidden, most_rows, unlabelled
    from tideproof.commands.analyze_options import named_arm, read_expected, read_share
    from tideproof.data.cell_reader import CellReading, Wish, read, written
    from tideproof.data.column_guess import ROLES, guess
    from tideproof.data.column_spec import Request
    from tideproof.data.dataset import of_source
    from tideproof.data.sources.source_dispatch import open_source
    from tideproof.files import check_writable, write_text_atomically
    from tideproof.report.analysis_report import analyse, as_dict
    from tideproof.report.html_report import html_report
    from tideproof.report.side_notes import Beside, beside
    from tideproof.stats.best.p_best import checked_prior

    check_writable(html)
    console, messages = Console(), Console(stderr=True)
    if no_environment and environment is not None:
        raise InputError("--environment and --no-environment exclude each other")
    arms = None if wide is None else [name.strip() for name in wide.split(",")]
    rewards, low, covariates = reward or [], low or [], tuple(covariate or ())
    if rewards or low:
        check_metrics(rewards, low)
    careful = checked_robust(robust)
    if by is not None:
        check_segments(adaptive, anytime)
        if careful is not None:
            raise InputError("--robust says nothing of --by: fit the segments one by one")
    noise = noise_of(cast("Variance", variance), {"unit": unit})
    link = cast("ScaleChoice", scale)
    share = None if cap is None else read_share(cap)
    wish = Wish(covariates, unit or "", by or "", share, logs_wanted(link, noise))
    known_prior = checked_prior(prior)
    with open_source(place, table) as source:
        hidden = time is not None and environment is None
        unneeded = {"environment": no_environment or hidden, "arm": wide, "reward": wide or successes}
        found = guess(
            source.types,
            arm,
            environment,
            rewards[0] if rewards else None,
            needed=[role for role in ROLES if not unneeded[role]],
            taken=[
                name
                for name in (n, sample_variance, sd, successes, by, unit, time, *covariates, *(arms or ()))
                if name
            ]
            + [name for text in (environment or "", *rewards) for name in written(text, source.types)],
        )
        others = {
            "time": time,
            "wide": wide,
            "successes": successes,
            "n": n,
            "variance": sample_variance,
            "sd": sd,
        }
        columns = ", ".join(
            [*filter(None, [str(found)]), *(f"{role} = {name}" for role, name in others.items() if name)]
        )
        if found.guessed:
            said = f"columns: {columns} (guessed: {', '.join(found.guessed)}; options choose others)"
            messages.print(escape_control_characters(said), style="dim", highlight=False, markup=False)
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
        if hidden:
            asked_for: dict[str, Any] = {
                "by": by,
                "unit": unit,
                "covariates": covariates,
                "cap": cap,
                "wide": wide,
                "n": n,
            }
            asked_for |= {
                "time_zone": time_zone,
                "successes": successes,
                "several rewards": rewards[1:],
                "--no-environment": no_environment,
                "robust": careful,
            }
            check_hidden(scale=scale, variance=noise, anytime=anytime, others=asked_for)
            request = replace(request, environment=str(time), parts=(str(time),))
        with (
            progress_bar("reading", 100.0)
            if progress and is_stderr_interactive()
            else nullcontext() as report
        ):
            tide, bins = None, None
            if hidden:
                cells, tide, bins = unlabelled(of_source(source).timed(request, most_rows()), wish.logs)
                data = CellReading(cells, {}, None)
            else:
                data = read(of_source(source), request, wish, report)
            inside = _inside(of_source(source), request, wish, data.cells, time)
            guards = {
                name: read(of_source(source), replace(request, reward=name), replace(wish, cap=None), report)
                for name in rewards[1:]
            }

    def fitted(cells: Cells, lower: bool, inside: Inside | None = None) -> Fit:
        return Fit(
            cells,
            direction="minimize" if lower else "maximize",
            adaptive=adaptive,
            level=level,
            variance=noise,
            scale=link,
            prior=known_prior,
            anytime=anytime,
            tide=tide,
            bins=bins,
            inside=inside,
            robust=careful,
        )

    lower = minimize or found.reward in low
    with _busy(messages, f"comparing {format_count(len(data.cells.arms), 'arm')}", progress):
        fit = fitted(data.cells, lower, inside)
        analysis = analyse(fit)
    fits = {name: fitted(each.cells, name in low) for name, each in guards.items()}
    base = None if control is None else named_arm(control, fit.cells.arms)
    asked = Beside(
        control=base,
        metrics=judged({str(found.reward): fit, **fits}, base) if fits else None,
        segments=None
        if by is None
        else judge_segments(
            data,
            by,
            direction=fit.direction,
            level=level,
            variance=noise,
            scale=link,
            anytime=anytime,
            adaptive=adaptive,
        ),
        expected=None if expect is None else read_expected(expect, fit.cells.arms),
        cap=data.cap,
    )
    with _busy(messages, "looking at single rows", progress):
        analysis, more = beside(analysis, asked)
    if as_json:
        typer.echo(json.dumps(as_dict(analysis) | more | {"columns": found._asdict()}, default=str))
    else:
        show(console, analysis)
    if html is not None:
        with _busy(messages, "writing the report", progress):
            write_text_atomically(html, html_report(analysis, public(place), columns))
        messages.print(f"report: {html}", highlight=False, markup=False)
    if code := CODES[analysis.standing]:
        raise typer.Exit(code)


COMMAND = Command(
    "analyze",
    analyze_command,
    EXITS,
    then="--html report.html keeps it as a page; tideproof plan --from FILE plans the next test",
)


def _busy(messages: Console, doing: str, wanted: bool) -> AbstractContextManager[Any]:
    """Say what is being done for as long as it takes, if somebody looks."""
    return messages.status(doing) if wanted and is_stderr_interactive() else nullcontext()


def _inside(rows: Dataset, request: Request, wish: Wish, cells: Cells, time: str | None) -> Inside | None:
    """Test whether the tide moves inside the labels, where that is not asked of many rows for nothing."""
    from tideproof.analysis.within_label_test import MOST, look_inside

    plain = not (wish.by or wish.unit or wish.covariates or wish.cap or request.n or request.wide)
    if not plain or not request.environment or (time is None and cells.n.sum() > MOST):
        return None
    return look_inside(rows, request, cells, time)


def show(console: Console, analysis: Analysis) -> None:
    """Print the verdict, the table of arms, warnings and notes."""
    from rich.text import Text

    from tideproof.report.control_report import sentence

    colour = {"winner": "bold green", "open": "bold yellow", "not_comparable": "bold red"}[analysis.standing]
    console.print(Text(escape_control_characters(f"{analysis.verdict}."), style=colour))
    if analysis.against is not None:
        console.print(Text(escape_control_characters(sentence(analysis.fit, analysis.against))))
    console.print()
    for table in _arms(analysis, console.width):
        console.print(table)
    for answer in analysis.answers:
        console.print(Text(escape_control_characters(answer)))
    for warning in analysis.warnings:
        console.print(
            Text("Careful: ", style="bold red") + Text(escape_control_characters(warning), style="not bold")
        )
    for note in analysis.notes:
        console.print(Text(escape_control_characters(note), style="dim"))


def _arms(analysis: Analysis, width: int, most: int = 100) -> Iterator[RichTable]:
    """Yield the arms, the best first, in one table or, on a narrow screen, several."""
    from rich import box

    from tideproof.report.arms_table import arm_columns
    from tideproof.report.terminal_tables import tables

    first, *others = (
        column._replace(cells=[escape_control_characters(cell) for cell in column.cells[:most]])
        for column in arm_columns(analysis)
    )
    more = len(analysis.arms) - most
    caption = f"{more:,} more arms: --html shows and --json lists all" if more > 0 else None
    return tables(first, others, width, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
