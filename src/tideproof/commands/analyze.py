"""The command `tideproof analyze`, which finds the best arm in a log and reports it as text, JSON or HTML."""

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
    from tideproof.analysis.within_label_test import WithinLabelTest
    from tideproof.data import Missing
    from tideproof.data.cell_reader import ReadOptions
    from tideproof.data.column_spec import ColumnSpec
    from tideproof.data.dataset import Dataset
    from tideproof.report.analysis_report import Analysis
    from tideproof.stats.cells import Cells
    from tideproof.stats.variance.variance_models import Variance

EXIT_CODES = {"winner": 0, "open": 3, "not_comparable": 4}
EXITS = {
    0: "one arm is the best at this confidence level",
    3: "several may be the best",
    4: "arms cannot be compared",
}


def analyze_command(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="The log: a CSV, TSV, Parquet or JSON Lines file or a glob of them, an Excel file, a "
            "DuckDB or "
            "SQLite database, postgresql://…, or - for standard input.",
        ),
    ],
    arm: Annotated[str | None, typer.Option(help="Column with the arm (variant) of each row.")] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            help="Column with the environment of each row, such as the day. A timestamp column can be "
            "used as "
            "hour(ts), day(ts) or week(ts); rep:block combines two columns into one environment; "
            "'cow + period' gives each row two environments whose shifts add up."
        ),
    ] = None,
    no_environment: Annotated[
        bool,
        typer.Option("--no-environment", help="All rows share one environment: do not adjust for shifts."),
    ] = False,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column with the time of each row. Without --environment, the shift is estimated as a "
            "function of time; with it, the analysis tests whether the shift changes within environments."
        ),
    ] = None,
    reward: Annotated[
        list[str] | None,
        typer.Option(
            help="Column with the reward, or a ratio of two columns such as 'revenue / sessions'. May "
            "be repeated: "
            "the first reward decides, and the others must not get worse."
        ),
    ] = None,
    low: Annotated[
        list[str] | None,
        typer.Option(help="One of several rewards for which lower values are better. May be repeated."),
    ] = None,
    control: Annotated[str | None, typer.Option(help="Arm with which all others are compared.")] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Column with segments, such as the country; each is analysed separately."),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Column with the user or unit ID. Standard errors are clustered by it."),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            help="Numeric column that was known before the arm was assigned. Adjusting for it reduces noise."
        ),
    ] = None,
    cap: Annotated[
        str | None, typer.Option(help="Winsorize rewards at this quantile, such as 99.9%.", metavar="SHARE")
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(
            help="Intended shares of the arms, such as 50:50 or A=50,B=50. The analysis tests whether "
            "the rows "
            "agree with them.",
            metavar="SHARES",
        ),
    ] = None,
    minimize: Annotated[bool, typer.Option("--minimize", help="Lower rewards are better.")] = False,
    adaptive: Annotated[
        bool,
        typer.Option(
            "--adaptive",
            help="A policy chose the arms depending on earlier rewards. Confidence intervals allow for that.",
        ),
    ] = False,
    level: Annotated[float, number_option("Confidence level of all statements.")] = 0.95,
    anytime: Annotated[
        bool,
        typer.Option(
            "--anytime", help="Keep the confidence level although the growing log is analysed repeatedly."
        ),
    ] = False,
    scale: Annotated[
        str,
        typer.Option(
            help="Compare arms by difference, ratio, odds or log; auto chooses a scale from the data."
        ),
    ] = "auto",
    variance: Annotated[
        str,
        typer.Option(
            help="Model of the noise variance: auto, common, by-arm, by-environment, robust or "
            "clustered (for "
            "differences), or interaction (differences of arms vary between environments)."
        ),
    ] = "auto",
    robust: Annotated[
        str | None,
        typer.Option(help="cells: exclude outlying cells, and report which.", metavar="cells"),
    ] = None,
    prior: Annotated[
        str,
        typer.Option(
            help="Prior for the probability of being the best: exchangeable (arms are similar) or flat (all "
            "differences are equally likely)."
        ),
    ] = "exchangeable",
    n: Annotated[
        str | None, typer.Option(help="For aggregated rows: column with the number of rewards in each row.")
    ] = None,
    sample_variance: Annotated[
        str | None, typer.Option(help="For aggregated rows: column with their sample variance.")
    ] = None,
    sd: Annotated[
        str | None, typer.Option(help="For aggregated rows: column with their standard deviation.")
    ] = None,
    successes: Annotated[
        str | None,
        typer.Option(help="For aggregated rows of 0/1 rewards: column with the number of ones among n."),
    ] = None,
    wide: Annotated[
        str | None,
        typer.Option(
            help="For a table with one column per arm: these columns, such as A,B,C.", metavar="A,B,…"
        ),
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="In a database: a table or an SQL query. In an Excel file: a sheet.")
    ] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Time zone of hour(), day() and week(), such as Europe/Berlin.", show_default="UTC"
        ),
    ] = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="Decimal separator, . or , if it cannot be recognised from the data."),
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows with missing values.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Find the best arm in a log after adjusting for the shifts of environments.

    The confidence level holds for a single analysis, unless --anytime is given. For example:

    tideproof analyze log.csv --arm variant --environment day --reward sales --html report.html

    tideproof analyze ads.csv --arm ad --environment day --successes clicks --n impressions

    tideproof analyze log.parquet --arm price --time ts --reward revenue
    """
    from rich.console import Console

    from tideproof.analysis import Fit
    from tideproof.analysis.log_options import variance_with_units
    from tideproof.analysis.outlier_exclusion import check_robust
    from tideproof.analysis.scale_selection import needs_logs
    from tideproof.analysis.segments import check_segments, fit_segments
    from tideproof.analysis.several_metrics import check_metrics, combine_metrics
    from tideproof.analysis.unlabelled_log import check_hidden_tide_options, fit_tide_or_bins, most_rows
    from tideproof.commands.analyze_options import find_arm, read_expected, read_share
    from tideproof.data.cell_reader import CellReading, ReadOptions, columns_in_name, read_cells
    from tideproof.data.column_guess import ROLES, guess_columns
    from tideproof.data.column_spec import ColumnSpec
    from tideproof.data.dataset import source_dataset
    from tideproof.data.sources.source_dispatch import open_source
    from tideproof.files import check_writable, write_text_atomically
    from tideproof.report.analysis_report import analyse, analysis_to_dict
    from tideproof.report.html_report import html_report
    from tideproof.report.side_notes import ExtraParts, add_extra_parts
    from tideproof.stats.best.p_best import checked_prior

    check_writable(html)
    console, messages = Console(), Console(stderr=True)
    if no_environment and environment is not None:
        raise InputError("--environment and --no-environment cannot be combined: give one of them")
    arms = None if wide is None else [name.strip() for name in wide.split(",")]
    rewards, low, covariates = reward or [], low or [], tuple(covariate or ())
    if rewards or low:
        check_metrics(rewards, low)
    careful = check_robust(robust)
    if by is not None:
        check_segments(adaptive, anytime)
        if careful is not None:
            raise InputError("--robust cannot be combined with --by: analyse the segments one by one")
    noise = variance_with_units(cast("Variance", variance), {"unit": unit})
    link = cast("ScaleChoice", scale)
    share = None if cap is None else read_share(cap)
    wish = ReadOptions(covariates, unit or "", by or "", share, needs_logs(link, noise))
    known_prior = checked_prior(prior)
    with open_source(file, table) as source:
        hidden = time is not None and environment is None
        unneeded = {"environment": no_environment or hidden, "arm": wide, "reward": wide or successes}
        found = guess_columns(
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
            + [
                name for text in (environment or "", *rewards) for name in columns_in_name(text, source.types)
            ],
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
            message = f"columns: {columns} (guessed: {', '.join(found.guessed)}; options choose others)"
            messages.print(escape_control_characters(message), style="dim", highlight=False, markup=False)
        missing: Missing = "drop" if drop_missing else "refuse"
        point: Any = decimal
        request = ColumnSpec.of(
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
            check_hidden_tide_options(scale=scale, variance=noise, anytime=anytime, others=asked_for)
            request = replace(request, environment=str(time), parts=(str(time),))
        with (
            progress_bar("reading", 100.0)
            if progress and is_stderr_interactive()
            else nullcontext() as report
        ):
            tide, bins = None, None
            if hidden:
                cells, tide, bins = fit_tide_or_bins(
                    source_dataset(source).timed(request, most_rows()), wish.logs
                )
                data = CellReading(cells, {}, None)
            else:
                data = read_cells(source_dataset(source), request, wish, report)
            inside = _test_within_labels(source_dataset(source), request, wish, data.cells, time)
            guards = {
                name: read_cells(
                    source_dataset(source), replace(request, reward=name), replace(wish, cap=None), report
                )
                for name in rewards[1:]
            }

    def fit_cells(cells: Cells, lower: bool, inside: WithinLabelTest | None = None) -> Fit:
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
    with _show_status(messages, f"comparing {format_count(len(data.cells.arms), 'arm')}", progress):
        fit = fit_cells(data.cells, lower, inside)
        analysis = analyse(fit)
    fits = {name: fit_cells(each.cells, name in low) for name, each in guards.items()}
    base = None if control is None else find_arm(control, fit.cells.arms)
    asked = ExtraParts(
        control=base,
        metrics=combine_metrics({str(found.reward): fit, **fits}, base) if fits else None,
        segments=None
        if by is None
        else fit_segments(
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
    with _show_status(messages, "looking for influential rows", progress):
        analysis, more = add_extra_parts(analysis, asked)
    if as_json:
        typer.echo(json.dumps(analysis_to_dict(analysis) | more | {"columns": found._asdict()}, default=str))
    else:
        show(console, analysis)
    if html is not None:
        with _show_status(messages, "writing the report", progress):
            write_text_atomically(html, html_report(analysis, public(file), columns))
        messages.print(f"report: {html}", highlight=False, markup=False)
    if code := EXIT_CODES[analysis.standing]:
        raise typer.Exit(code)


COMMAND = Command(
    "analyze",
    analyze_command,
    EXITS,
    hint="--html report.html writes a report; tideproof plan --from FILE plans the next test",
)


def _show_status(messages: Console, message: str, enabled: bool) -> AbstractContextManager[Any]:
    """Return a context manager that shows a message in an interactive terminal while it is active."""
    return messages.status(message) if enabled and is_stderr_interactive() else nullcontext()


def _test_within_labels(
    rows: Dataset, request: ColumnSpec, wish: ReadOptions, cells: Cells, time: str | None
) -> WithinLabelTest | None:
    """Test whether the shift changes within environments, if the log allows that test.

    A large log is tested only if a time column is given, because the test takes long.
    """
    from tideproof.analysis.within_label_test import MOST, compare_with_shorter

    plain = not (wish.by or wish.unit or wish.covariates or wish.cap or request.n or request.wide)
    if not plain or not request.environment or (time is None and cells.n.sum() > MOST):
        return None
    return compare_with_shorter(rows, request, cells, time)


def show(console: Console, analysis: Analysis) -> None:
    """Print an analysis: the verdict, the table of arms, warnings and notes."""
    from rich.text import Text

    from tideproof.report.control_report import control_sentence

    colour = {"winner": "bold green", "open": "bold yellow", "not_comparable": "bold red"}[analysis.standing]
    console.print(Text(escape_control_characters(f"{analysis.verdict}."), style=colour))
    if analysis.against is not None:
        console.print(Text(escape_control_characters(control_sentence(analysis.fit, analysis.against))))
    console.print()
    for table in _arm_tables(analysis, console.width):
        console.print(table)
    for answer in analysis.answers:
        console.print(Text(escape_control_characters(answer)))
    for warning in analysis.warnings:
        console.print(
            Text("Careful: ", style="bold red") + Text(escape_control_characters(warning), style="not bold")
        )
    for note in analysis.notes:
        console.print(Text(escape_control_characters(note), style="dim"))


def _arm_tables(analysis: Analysis, width: int, most: int = 100) -> Iterator[RichTable]:
    """Yield tables of the arms, the best first; a narrow terminal needs several tables."""
    from rich import box

    from tideproof.report.arms_table import arm_columns
    from tideproof.report.terminal_tables import make_tables

    first, *others = (
        column._replace(cells=[escape_control_characters(cell) for cell in column.cells[:most]])
        for column in arm_columns(analysis)
    )
    more = len(analysis.arms) - most
    caption = f"{more:,} more arms; --html and --json show all" if more > 0 else None
    return make_tables(first, others, width, caption=caption, box=box.SIMPLE_HEAD, pad_edge=False)
