"""The command `tideproof calibrate`, which checks error rates and interval coverage by simulation."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import (
    OUTPUT,
    NoProgress,
    flag_option,
    read_budgets,
    text_option,
    whole_option,
)
from tideproof.errors import InputError
from tideproof.files import check_picture_path
from tideproof.text import format_count

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from tideproof.research.trust.ledger_part import LedgerPart, PartOptions
    from tideproof.research.trust.log_runs import CalibrationCounts

_LOGS = 2_000  # simulated logs of each setting
_LOG_OPTIONS = ("logs", "workers")
SAVE_INTERVAL = 10.0  # seconds between two writes of the rows computed so far


SETTINGS, SIMULATION = "Settings", "Simulation"


def calibrate_command(
    part: Annotated[str, text_option("Part to check (above).", SETTINGS, "NAME")] = "logs",
    only: Annotated[str, text_option("Only these rows, such as 'money*'.", SETTINGS, "PATTERN")] = "*",
    worlds: Annotated[int | None, whole_option("stops and ends: number of random worlds.", SETTINGS)] = None,
    budgets: Annotated[
        str | None, text_option("stops: budgets in pulls, such as 300,1000.", SETTINGS, "NUMBERS")
    ] = None,
    heavy: Annotated[bool, flag_option("--heavy", "stops: noise with heavy tails.", SETTINGS)] = False,
    once: Annotated[
        bool, flag_option("--once", "looks: intervals valid for one analysis.", SETTINGS)
    ] = False,
    prior: Annotated[
        str | None, text_option("chances: prior, exchangeable or flat.", SETTINGS, "NAME")
    ] = None,
    logs: Annotated[int | None, whole_option("logs: number of logs of each row.", SIMULATION)] = None,
    runs: Annotated[int | None, whole_option("Other parts: number of runs of each row.", SIMULATION)] = None,
    replications: Annotated[int | None, whole_option("plans: as in tideproof plan.", SIMULATION)] = None,
    seed: Annotated[int | None, whole_option("Random seed (not used by logs and looks).", SIMULATION)] = None,
    engine: Annotated[
        str | None, text_option("stops and plans: cpu, cuda or auto.", SIMULATION, "NAME")
    ] = None,
    workers: Annotated[int | None, whole_option("Parallel processes or threads.", SIMULATION)] = None,
    plot: Annotated[Path | None, text_option("chances: save a reliability diagram.", OUTPUT, "FILE")] = None,
    out: Annotated[Path | None, text_option("Folder for a page and CSV files.", OUTPUT, "FOLDER")] = None,
    no_progress: NoProgress = False,
) -> None:
    """Check error rates and the coverage of confidence intervals by simulation, where true values are known.

    A promise counts as broken (marked with !) if the result is worse than promised and the probability of
    such a result by chance is below 0.001.

    Each part (--part) checks other promises:

    * logs: answers of tideproof analyze; by default for 2,000 logs of each setting
    * stops: stopping rules; by default in 200 worlds, or in 20 for the budget 5000
    * ends: final intervals of adaptive runs; by default in the worlds of the paper and 40 more
    * looks: intervals that stay valid however often a growing log is analyzed
    * planned_looks: the same for a planned number of looks, some of them missed or early
    * chances: probabilities of being the best
    * plans: error rates of the tests that tideproof plan suggests
    * interactions: intervals if environments shift some arms more than others
    * wrong_cells: answers with --robust cells if some arm-environment pairs are outlying
    * times: logs with times instead of environments
    * combinations: options together, such as units with many looks
    * variations: the same in logs of random sizes and shapes; by default 500 logs of each

    An option whose description begins with the name of a part, such as "stops:", applies only to that part.
    --heavy uses Student's t distribution with 5 degrees of freedom. By default, there is one worker per core;
    plans always uses all cores.
    """
    given: dict[str, Any] = {
        "logs": logs,
        "runs": runs,
        "seed": seed,
        "worlds": worlds,
        "budgets": None if budgets is None else _read_ascending(budgets),
        "heavy": heavy or None,
        "once": once or None,
        "prior": prior,
        "replications": replications,
        "engine": engine,
        "workers": workers,
        "plot": plot,
    }
    named = {name: value for name, value in given.items() if value is not None}
    if part == "logs":
        _refuse_others(part, named, _LOG_OPTIONS)
        _check_logs(_LOGS if logs is None else logs, only, workers, out, not no_progress)
        return
    from tideproof.research.trust.ledger_part import PartOptions
    from tideproof.research.trust.ledger_part_registry import find_part

    found = find_part(part)
    _refuse_others(part, named, ("runs", *found.options))
    if plot is not None:
        check_picture_path(plot)
    named.pop("plot", None)
    _check_part(part, found, PartOptions(**{"runs": found.runs} | named), only, out, plot, not no_progress)


def _read_ascending(text: str) -> tuple[int, ...]:
    """Parse the value of the option --budgets: a list of budgets in ascending order."""
    found = read_budgets(text)
    if sorted(set(found)) != found or found[0] < 1:
        raise InputError(f"--budgets must be whole numbers above 0 in ascending order, not {text!r}")
    return tuple(found)


def _refuse_others(part: str, given: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Raise `InputError` if a command-line option has no effect on the selected simulations."""
    for name in given:
        if name not in allowed:
            options = ", ".join(f"--{each}" for each in (*allowed, "only", "out"))
            raise InputError(f"--{name} has no effect on --part {part}, whose options are {options}")


def _check_logs(logs: int, only: str, workers: int | None, out: Path | None, progress: bool) -> None:
    """Analyze simulated logs of rewards, and print how often the conclusions are wrong.

    The exit code is 3 if a rate is worse than promised.
    """
    from rich.console import Console

    from tideproof.research.trust.log_runs import calibrate
    from tideproof.research.trust.log_settings import chosen
    from tideproof.research.trust.trust_ledger import broken_promises, verdict, write_ledger

    settings, power_settings = chosen(only)
    _create_folder(out)
    played = calibrate(settings, power_settings, logs, workers, progress)
    console = Console()
    for table in _tables(played, console.width):
        console.print(table)
    failed = broken_promises(played)
    for promise in failed:
        console.print(f"broken: {promise}", highlight=False, soft_wrap=True)
    console.print(verdict(played), highlight=False)
    for path in write_ledger(played, out) if out is not None else ():
        typer.echo(f"written: {path}")
    if failed:
        raise typer.Exit(3)


def _check_part(
    name: str,
    part: LedgerPart,
    asked: PartOptions,
    only: str,
    out: Path | None,
    plot: Path | None,
    progress: bool,
) -> None:
    """Run the simulations that the option --part selects, and print whether the promises hold.

    `_check_logs` runs the part `logs`.

    The exit code is 3 if a promise is broken.
    """
    from tideproof.checks import require_whole_number
    from tideproof.research.trust.ledger_part import broken_rows

    for option in ("runs", "workers", "worlds", "replications"):
        if getattr(asked, option) is not None:
            require_whole_number(f"--{option}", getattr(asked, option), 0 if option == "worlds" else 1)
    rows = _simulate_rows(part, asked, only, _create_folder(out), name, progress)
    found = part.table(rows)
    failed = broken_rows(found)
    for line in part.summarize(rows):
        typer.echo(line)
    for row in failed if asked.is_promised else ():
        said = ", ".join(f"{column} {found[column][row]}" for column in found.columns)
        typer.echo(f"broken: {said}")
    what = "broken" if asked.is_promised else "exceeded"
    note = "" if asked.is_promised else " (with these options it is not promised)"
    typer.echo(f"{part.promise}: {what} in {len(failed)} of {format_count(len(found), 'row')}{note}")
    if plot is not None and part.draw is not None:
        part.draw(rows, plot)
    for path in (None if out is None else out / f"{name}.csv", plot):
        if path is not None:
            typer.echo(f"written: {path}")
    if failed and asked.is_promised:
        raise typer.Exit(3)


def _simulate_rows(
    part: LedgerPart, asked: PartOptions, only: str, out: Path | None, name: str, progress: bool
) -> list[Any]:
    """Run the simulations of a calibration check, and return their outcomes as rows of a table.

    The rows are also written from time to time, so that they are not lost if a long run ends early.
    """
    from tideproof.progress import progress_bar
    from tideproof.research.trust.ledger_part import filter_by_name, no_match_error

    available = part.cells(asked)
    cells = filter_by_name(available, only)
    if not cells:
        raise no_match_error(f"row of --part {name}", only, available)
    rows: list[Any] = []
    written = time.monotonic()
    watch = (
        progress_bar("simulating", len(cells), "combinations") if progress else nullcontext(lambda _: None)
    )
    with watch as show:
        for done, more in enumerate(part.play(cells, asked), 1):
            rows += more
            show(done)
            if out is not None and (done == len(cells) or time.monotonic() - written > SAVE_INTERVAL):
                part.table(rows).to_csv(out / f"{name}.csv")
                written = time.monotonic()
    return rows


def _tables(played: CalibrationCounts, width: int) -> Iterator[RichTable]:
    """Yield tables of simulated error rates for a terminal of the given width."""
    from tideproof.report.table_layout import Column, make_tables
    from tideproof.research.trust.trust_ledger import display_tables, title

    for columns in display_tables(played):
        first, *others = (Column(_fold(name), cells) for name, cells in columns.items())
        yield from make_tables(first._replace(left=True), others, width, title=title(played))


def _fold(header: str) -> str:
    """Break the header of a column into lines of about 15 characters."""
    return "\n".join(wrap(header, 15, break_long_words=False, break_on_hyphens=False))


def _create_folder(folder: Path | None) -> Path | None:
    """Create the output folder early, so that a failure shows before long simulations begin."""
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write into {str(folder)!r}: {error.strerror}") from None
    return folder


COMMAND = Command(
    "calibrate",
    calibrate_command,
    {3: "a promise was broken"},
    examples=(
        "tideproof calibrate --part logs --only 'money*' --logs 500",
        "tideproof calibrate --part stops --only '*, 5 arms, *' --budgets 300",
    ),
    hint="--out FOLDER writes all counts to CSV files",
)
