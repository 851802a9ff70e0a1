"""The command `tideproof analyze`, which finds the best arm in a log of rewards.

It reports the result as text, JSON or HTML.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import (
    parse_number,
    read_expected,
    read_numbers,
    read_share,
    spell_option,
)
from tideproof.errors import InputError
from tideproof.files import check_writable, write_text_atomically
from tideproof.text import public_url

if TYPE_CHECKING:
    from tideproof.analysis.log_options import ColumnOptions
    from tideproof.stats.looks.look_plan import Looks

# of evaluation logs, or of a folder with them
EVALUATION_SUFFIXES = ("", ".eval", ".json", ".jsonl", ".ndjson")
EXIT_CODES = {"winner": 0, "winner_on_these": 5, "open": 3, "not_comparable": 4}
EXITS = {
    0: "one arm is the best at this confidence level",
    3: "several arms may be the best",
    4: "arms cannot be compared",
    5: "one arm is the best in these environments, but not certain in others (0 with --about these)",
}


def _option(panel: str, help: str, *names: str, metavar: str, **more: Any) -> Any:
    """Return a command-line option in a group of the help page.

    Its text fits on a line of 80 columns.
    """
    return typer.Option(*names, help=help, metavar=metavar, rich_help_panel=panel, **more)


def _column(help: str, *names: str, metavar: str = "COLUMN") -> Any:
    """Return a command-line option about the columns of the log, such as which column contains the arm."""
    return _option("Columns of the log", help, *names, metavar=metavar)


def _statistic(help: str, *names: str, metavar: str = "", **more: Any) -> Any:
    """Return a command-line option of the statistical analysis."""
    return _option("Statistics", help, *names, metavar=metavar, **more)


def _choice(help: str) -> Any:
    """Return a command-line option of the analysis that takes one of several names, listed in its help text.

    The first name in the help text is the default.
    """
    return _statistic(help, metavar="NAME", show_default=False)


def _comparison(help: str, *names: str, metavar: str = "COLUMN") -> Any:
    """Return a command-line option in the help group "Further comparisons", such as the control arm."""
    return _option("Further comparisons", help, *names, metavar=metavar)


def _evaluation(help: str, *names: str, metavar: str = "") -> Any:
    """Define a command-line option in the help group "Evaluation logs"."""
    return _option("Evaluation logs", help, *names, metavar=metavar)


def _output(help: str, *names: str, metavar: str = "") -> Any:
    """Return a command-line option in the help group "Output"."""
    return _option("Output", help, *names, metavar=metavar)


def analyze_command(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="A table, a database, -, or evaluation logs."),
    ],
    arm: Annotated[str | None, _column("The arm (variant) of each row, or 'a:b'.")] = None,
    environment: Annotated[str | None, _column("Day or batch column, or 'day(ts)', 'a:b' (above).")] = None,
    no_environment: Annotated[
        bool, _column("No adjustment for shifts.", "--no-environment", metavar="")
    ] = False,
    time: Annotated[str | None, _column("Time of each row; can replace --environment.")] = None,
    reward: Annotated[list[str] | None, _column("Reward or ratio 'a / b'; repeat it for guardrails.")] = None,
    successes: Annotated[str | None, _column("Aggregated 0/1 rewards: number of ones.")] = None,
    n: Annotated[str | None, _column("Aggregated rows: number of rewards, or 'a + b'.")] = None,
    sample_variance: Annotated[str | None, _column("Aggregated rows: sample variance.")] = None,
    sd: Annotated[str | None, _column("Aggregated rows: standard deviation.")] = None,
    wide: Annotated[str | None, _column("One column of rewards per arm.", metavar="A,B,...")] = None,
    unit: Annotated[str | None, _column("User or unit ID; clusters standard errors.")] = None,
    covariate: Annotated[
        list[str] | None, _column("Covariate measured before assignment; repeatable.")
    ] = None,
    table: Annotated[str | None, _column("Table, SQL query or Excel sheet.", metavar="TEXT")] = None,
    evals: Annotated[bool, _evaluation("A plain table is an evaluation log (above).", "--evals")] = False,
    grader: Annotated[
        str | None, _evaluation("Scorer or metric to read; all: several judges.", metavar="NAME")
    ] = None,
    group: Annotated[
        str | None, _evaluation("Field that groups items, such as passage.", metavar="FIELD")
    ] = None,
    repeats: Annotated[
        bool, _evaluation("Runs of the same model are repeated samples.", "--repeats")
    ] = False,
    time_zone: Annotated[
        str | None, _column("Time zone of days and hours (default: UTC).", metavar="ZONE")
    ] = None,
    decimal: Annotated[str | None, _column("Decimal separator of text: . or ,", metavar="SIGN")] = None,
    drop_missing: Annotated[
        bool, _column("Skip rows with missing values.", "--drop-missing", metavar="")
    ] = False,
    minimize: Annotated[bool, _statistic("Lower rewards are better.", "--minimize")] = False,
    confidence: Annotated[
        float, _statistic("Confidence level, between 0 and 1.", metavar="NUMBER", parser=parse_number)
    ] = 0.95,
    scale: Annotated[str, _choice("auto, difference, ratio, odds or log (above).")] = "auto",
    variance: Annotated[str, _choice("Variance model of the noise (above).")] = "auto",
    prior: Annotated[str, _choice("exchangeable or flat (above).")] = "exchangeable",
    adaptive: Annotated[bool, _statistic("Arms were assigned adaptively (bandit).", "--adaptive")] = False,
    anytime: Annotated[
        bool, _statistic("Intervals stay valid at every repeated analysis.", "--anytime")
    ] = False,
    looks: Annotated[
        float | None,
        _statistic("Planned number of looks (above).", metavar="NUMBER", parser=parse_number),
    ] = None,
    look: Annotated[
        float | None, _statistic("Which of them this is, from 1.", metavar="NUMBER", parser=parse_number)
    ] = None,
    spending: Annotated[str | None, _choice("pocock or obrien-fleming.")] = None,
    past_looks: Annotated[
        str | None, _statistic("Looks made before, such as 1,2,4.", metavar="NUMBERS")
    ] = None,
    look_file: Annotated[Path | None, _statistic("File of the plan and its looks.", metavar="PATH")] = None,
    about: Annotated[str, _choice("similar or these environments (above).")] = "similar",
    robust: Annotated[
        str | None, _statistic("'cells' excludes outlying arm-environment pairs.", metavar="cells")
    ] = None,
    winsorize: Annotated[
        str | None, _statistic("Winsorizing quantile, such as 99.9%.", metavar="SHARE")
    ] = None,
    control: Annotated[
        str | None, _comparison("Compare all other arms with this one.", metavar="ARM")
    ] = None,
    by: Annotated[str | None, _comparison("Column of segments; each is analyzed separately.")] = None,
    low: Annotated[list[str] | None, _comparison("Reward or guardrail to minimize.")] = None,
    expect: Annotated[
        str | None, _comparison("Intended traffic: A=50,B=50 or 50:50.", metavar="SHARES")
    ] = None,
    html: Annotated[Path | None, _output("Write an HTML report to this file.", metavar="PATH")] = None,
    as_json: Annotated[bool, _output("Print the results as JSON.", "--json")] = False,
    no_progress: Annotated[bool, _output("Show no progress bar.", "--no-progress")] = False,
) -> None:
    """Find the best arm in a log of rewards after adjusting for the shifts of environments.

    An environment is a group of rows whose rewards share one shift, such as a day. Columns that are not named
    are guessed where that is safe. Guardrails are further rewards that should not get worse.

    * --environment 'day(ts)' takes the day from the times in ts; 'day(ts, dayfirst)' and 'day(ts,
      monthfirst)' also say how dates such as 1/2/2024 are written; 'a:b' combines two columns
    * --time without --environment estimates the shift as a curve over time
    * --scale is how shifts act: difference (added), ratio (multiplied), odds (on the odds of 0/1 rewards),
      log (multiplied, rewards above 0), or by default auto (as the data say, no log)
    * --variance is auto (default), common, by-arm, by-environment, sandwich, clustered, paired, by-unit (with
      --unit), interaction, interaction+by-arm, interaction+by-environment, own-interaction or
      own-interaction+by-arm
    * --about is similar (default): a winner is the best on average over environments like these, future ones
      included; or these: a winner is the best in the observed environments
    * --looks 14 --look 5: this is the fifth of 14 planned looks; the results of all looks hold together.
      --spending pocock (default) ends tests earliest; obrien-fleming spends the error mostly on the last
      looks. --look-file plan.json stores the looks that were made
    * --prior is the assumption behind "best with probability": exchangeable (default; arms come from one
      normal distribution; shown only if one arm is clearly the best) or flat (all differences are equally
      likely)

    Logs of evaluations of language models are detected: Inspect, lm-evaluation-harness, promptfoo, OpenAI
    evals, DeepEval and HELM. Models are arms and test items are environments; NAME=FILE names an arm. With
    --evals, a table with columns such as model, item and score is read in the same way.
    """
    from tideproof.analysis.log_analysis import analyze_log
    from tideproof.analysis.log_options import (
        AnalysisOptions,
        ColumnOptions,
        ComparisonOptions,
        StatisticsOptions,
    )
    from tideproof.report.report_tables import TerminalObserver, print_report

    check_writable(html)
    if no_environment and environment is not None:
        raise InputError("--environment and --no-environment cannot be combined: give one of them")
    rewards = reward or []
    options = AnalysisOptions(
        columns=ColumnOptions(
            arm=arm,
            environment=None if no_environment else environment or "",
            reward=rewards[0] if rewards else None,
            time=time,
            n=n,
            sample_variance=sample_variance,
            sd=sd,
            successes=successes,
            wide=None if wide is None else [name.strip() for name in wide.split(",")],
            table=table,
            missing="drop" if drop_missing else "refuse",
            time_zone=time_zone,
            decimal=cast(Any, decimal),  # checked with the columns
            covariates=covariate or (),
            unit=unit,
            guess=True,
        ),
        statistics=StatisticsOptions(
            direction="minimize" if minimize else "maximize",
            confidence=confidence,
            variance=cast(Any, variance),  # checked by the fit, as scale and prior are
            scale=cast(Any, scale),
            prior=cast(Any, prior),
            anytime=anytime,
            adaptive=adaptive,
            robust=cast(Any, robust),
            winsorize=None if winsorize is None else read_share(winsorize),
            about=cast(Any, about),
            looks=_read_looks(looks, look, spending, past_looks, look_file),
        ),
        comparisons=ComparisonOptions(
            control=control,
            by=by,
            guardrails=rewards[1:],
            low=low or (),
            expected=None if expect is None else read_expected(expect),
            shorter_environments=True,
        ),
        spell=spell_option,
    )
    observer = TerminalObserver(progress=not no_progress)
    log = _open_files(files, evals, options.columns, grader, group, repeats)
    if evals:  # the columns have the names of an evaluation log now
        named = replace(options.columns, arm=None, environment="", reward=None)
        options = replace(options, columns=named)
    found = analyze_log(log, options, observer)
    file = " ".join(files)
    with observer.working("looking for influential rows"):
        report = found.report
    if as_json:
        typer.echo(json.dumps(found.to_dict(), default=str))
    else:
        print_report(report)
    if html is not None:
        from tideproof.report.html_report import html_report

        with observer.working("writing the report"):
            write_text_atomically(html, html_report(report, public_url(file), str(found.columns)))
        observer.note(f"report: {html}")
    asked_for = about == "these" and report.standing == "winner_on_these"
    if (code := EXIT_CODES[report.standing]) and not asked_for:
        raise typer.Exit(code)


def _read_looks(
    looks: float | None, look: float | None, spending: str | None, past: str | None, file: Path | None
) -> Looks | None:
    """Return the plan of repeated analyses given by command-line options; None without such options."""
    from tideproof.analysis.look_record import read_record
    from tideproof.stats.looks.look_plan import Looks

    check_writable(file)
    if looks is None and file is not None and file.exists():
        stored = read_record(file)
        looks, spending = stored.looks, spending or stored.spending
    if looks is None:
        given = {"--look": look, "--spending": spending, "--past-looks": past, "--look-file": file}
        for option, value in given.items():
            if value is not None:
                raise InputError(
                    f"{option} needs a plan: give the number of planned looks, such as --looks 14"
                )
        return None
    before = None if past is None else read_numbers("--past-looks", past)
    return Looks(looks, look=look, spending=cast(Any, spending or "pocock"), past=before, file=file)


def _open_files(
    files: list[str],
    evals: bool,
    columns: ColumnOptions,
    grader: str | None,
    group: str | None,
    repeats: bool,
) -> Any:
    """Return the evaluation log that files contain, or else the path of an ordinary log.

    Tables are evaluation logs only if the user says so.
    """
    named = [file.partition("=") for file in files]
    paths = [
        path if sign and not Path(file).exists() else file
        for file, (_, sign, path) in zip(files, named, strict=True)
    ]
    if not (evals or _is_evaluation_log(paths[0])):
        given = {"--grader": grader, "--group": group, "--repeats": repeats}
        if used := [name for name, value in given.items() if value]:
            raise InputError(
                f"{used[0]} is for evaluation logs only; for a plain table of scores add --evals"
            )
        if len(files) > 1:
            raise InputError(
                f"{files[0]} and {files[1]}: several files are read together only if they are evaluation "
                f"logs (for plain tables add --evals), or as a pattern in quotes, such as 'logs/*.csv'"
            )
        return files[0]
    from tideproof.evaluations.log_reading import read_evals

    if not evals:
        return read_evals(_named_paths(files, paths), grader=grader, group=group, repeats=repeats)
    roles = {"model": columns.arm, "item": columns.environment, "score": columns.reward}
    given_columns = {role: name for role, name in roles.items() if name}
    return read_evals(
        _named_paths(files, paths), grader=grader, group=group, repeats=repeats, columns=given_columns
    )


def _is_evaluation_log(path: str) -> bool:
    """Return whether a path holds evaluation logs; tables such as CSV files are not opened."""
    if Path(path.lower().removesuffix(".gz")).suffix not in EVALUATION_SUFFIXES:
        return False
    from tideproof.evaluations.log_reading import is_evaluation_log

    return is_evaluation_log(path)


def _named_paths(files: list[str], paths: list[str]) -> Any:
    """Return paths by the name of their arm: the argument `short=a.eval` names the arm "short"."""
    named = [file != path for file, path in zip(files, paths, strict=True)]
    if not any(named):
        return paths
    if not all(named):
        raise InputError(f"give all files a name (NAME=FILE) or none; {files[named.index(False)]} has none")
    found: dict[str, list[str]] = {}
    for file, path in zip(files, paths, strict=True):
        found.setdefault(file.partition("=")[0], []).append(path)
    return found


COMMAND = Command(
    "analyze",
    analyze_command,
    EXITS,
    hint="--html report.html writes a report; tideproof plan --from FILE plans the next test",
    examples=(
        "tideproof analyze log.csv --arm variant --environment day --reward sales",
        "tideproof analyze a.csv --arm ad --environment day --successes hits --n seen",
        "tideproof analyze log.parquet --arm price --time ts --reward revenue --json",
        "tideproof analyze logs/*.eval --control base",
    ),
)
