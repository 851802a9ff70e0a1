"""`tideproof calibrate`: every promise played many times over, and counted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.number_options import read_budgets, whole_option
from tideproof.errors import InputError
from tideproof.files import check_picture_path
from tideproof.text import format_count

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from tideproof.research.trust.ledger_part import LedgerPart, PartOptions
    from tideproof.research.trust.log_runs import CalibrationCounts

_LOGS = 2_000
_OF_LOGS = ("logs", "workers")
_OFTEN = 10.0  # seconds between two writings of what was played so far


def calibrate_command(
    part: Annotated[
        str,
        typer.Option(
            metavar="PART",
            help="What to play: logs; stops, ends (of adaptive runs), looks, chances (P(best)), plans, "
            "interactions (of arms and days), wrong_cells or times (logs without labels).",
        ),
    ] = "logs",
    logs: Annotated[int | None, whole_option("Of logs: how many of each setting; 2,000.")] = None,
    runs: Annotated[int | None, whole_option("Of all other parts: runs of each cell.")] = None,
    only: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            help="Settings, worlds or cells whose name matches, such as 'money*' or '0[0-4]*'.",
        ),
    ] = "*",
    seed: Annotated[int | None, whole_option("Of all parts but logs and looks: another draw.")] = None,
    worlds: Annotated[
        int | None,
        whole_option("Of stops and ends: random worlds; 200, and 40 beside the panels of the paper."),
    ] = None,
    caps: Annotated[
        str | None,
        typer.Option(help="Of stops: pulls, separated by commas; 300,1000 and in 20 worlds 5000."),
    ] = None,
    heavy: Annotated[
        bool, typer.Option("--heavy", help="Of stops: noise like Student's t with 5 degrees of freedom.")
    ] = False,
    once: Annotated[
        bool, typer.Option("--once", help="Of looks: as if each look were the only one, for comparison.")
    ] = False,
    prior: Annotated[
        str | None, typer.Option(help="Of chances: exchangeable, or flat for comparison.")
    ] = None,
    replications: Annotated[int | None, whole_option("Of plans: those of a plan, as plan has them.")] = None,
    engine: Annotated[
        str | None, typer.Option(help="Of stops and plans: cpu, cuda (a GPU) or auto, a GPU if there is one.")
    ] = None,
    workers: Annotated[
        int | None,
        whole_option("Processes or threads side by side; one a core unless it is given. Plans take all."),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Of chances: draw reliability, as png, svg or pdf.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder for the ledger as a page and as CSV files.")
    ] = None,
    progress: Annotated[bool, typer.Option(help="Show a progress bar.")] = True,
) -> None:
    """Play what is promised in worlds whose truth is known, and count how often it is wrong.

    A promise marked ! was broken: chance alone would do that in less than one of a thousand. For
    example

    tideproof calibrate --part logs --only 'money*' --logs 500

    tideproof calibrate --part stops --only '*, 5 arms, *' --caps 300
    """
    given: dict[str, Any] = {
        "logs": logs,
        "runs": runs,
        "seed": seed,
        "worlds": worlds,
        "caps": None if caps is None else _caps(caps),
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
        _refuse_others(part, named, _OF_LOGS)
        _play_logs(_LOGS if logs is None else logs, only, workers, out, progress)
        return
    from tideproof.research.trust.ledger_part import PartOptions
    from tideproof.research.trust.ledger_parts import find_part

    found = find_part(part)
    _refuse_others(part, named, ("runs", *found.options))
    if plot is not None:
        check_picture_path(plot)
    named.pop("plot", None)
    _play_part(part, found, PartOptions(**{"runs": found.runs} | named), only, out, plot, progress)


def _caps(text: str) -> tuple[int, ...]:
    found = read_budgets(text)
    if sorted(set(found)) != found or found[0] < 1:
        raise InputError(f"--caps must be whole numbers above 0 in ascending order, not {text!r}")
    return tuple(found)


def _refuse_others(part: str, given: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Refuse an option that would do nothing."""
    for name in given:
        if name not in allowed:
            options = ", ".join(f"--{each}" for each in (*allowed, "only", "out"))
            raise InputError(f"--{name} says nothing of --part {part}, which has {options}")


def _play_logs(logs: int, only: str, workers: int | None, out: Path | None, progress: bool) -> None:
    from rich.console import Console

    from tideproof.research.trust.log_runs import calibrate
    from tideproof.research.trust.log_settings import chosen
    from tideproof.research.trust.trust_ledger import broken_promises, verdict, write_ledger

    settings, power_settings = chosen(only)
    _make(out)
    played = calibrate(settings, power_settings, logs, workers, progress)
    console = Console()
    for table in _shown(played, console.width):
        console.print(table)
    failed = broken_promises(played)
    for said in failed:
        console.print(f"broken: {said}", highlight=False, soft_wrap=True)
    console.print(verdict(played), highlight=False)
    for path in write_ledger(played, out) if out is not None else ():
        typer.echo(f"written: {path}")
    if failed:
        raise typer.Exit(3)


def _play_part(
    name: str,
    part: LedgerPart,
    asked: PartOptions,
    only: str,
    out: Path | None,
    plot: Path | None,
    progress: bool,
) -> None:
    """Play another part, sum it up, say which promises were broken, and write all rows."""
    from tideproof.checks import require_whole_number
    from tideproof.research.trust.ledger_part import broken_rows

    for option in ("runs", "workers", "worlds", "replications"):
        if getattr(asked, option) is not None:
            require_whole_number(option, getattr(asked, option), 0 if option == "worlds" else 1)
    rows = _rows(part, asked, only, _make(out), name, progress)
    found = part.table(rows)
    failed = broken_rows(found)
    for line in part.summarize(rows):
        typer.echo(line)
    for row in failed if asked.is_promised else ():
        said = ", ".join(f"{column} {found[column][row]}" for column in found.columns)
        typer.echo(f"broken: {said}")
    what = "broken" if asked.is_promised else "not promised of this, and not so"
    typer.echo(f"{part.promise}: {what} in {len(failed)} of {format_count(len(found), 'row')}")
    if plot is not None and part.draw is not None:
        part.draw(rows, plot)
    for path in (None if out is None else out / f"{name}.csv", plot):
        if path is not None:
            typer.echo(f"written: {path}")
    if failed and asked.is_promised:
        raise typer.Exit(3)


def _rows(
    part: LedgerPart, asked: PartOptions, only: str, out: Path | None, name: str, progress: bool
) -> list[Any]:
    """Play, and write what there is from time to time: if a long run ends early that is not lost."""
    from tideproof.progress import progress_bar
    from tideproof.research.trust.ledger_part import filter_by_name, no_match_error

    there = part.cells(asked)
    cells = filter_by_name(there, only)
    if not cells:
        raise no_match_error(f"cell of {name}", only, there)
    rows: list[Any] = []
    written = time.monotonic()
    watch = progress_bar("playing", len(cells), "cells") if progress else nullcontext(lambda _: None)
    with watch as show:
        for done, more in enumerate(part.play(cells, asked), 1):
            rows += more
            show(done)
            if out is not None and (done == len(cells) or time.monotonic() - written > _OFTEN):
                part.table(rows).to_csv(out / f"{name}.csv")
                written = time.monotonic()
    return rows


def _shown(played: CalibrationCounts, width: int) -> Iterator[RichTable]:
    """Yield the tables for a screen."""
    from tideproof.report.terminal_tables import Column, tables
    from tideproof.research.trust.trust_ledger import display_tables, title

    for columns in display_tables(played):
        first, *others = (Column(name, cells) for name, cells in columns.items())
        yield from tables(first._replace(left=True), others, width, title=title(played))


def _make(folder: Path | None) -> Path | None:
    """Make the folder before time is spent on what to put there."""
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
    then="docs/trust.md says what each number promises",
)
