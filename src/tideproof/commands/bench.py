"""The command `tideproof bench`, which finds the fastest of several commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from tideproof.commands.command_definition import Command
from tideproof.commands.option_types import (
    OUTPUT,
    AsJson,
    NoProgress,
    flag_option,
    number_option,
    parse_percentage,
    text_option,
    whole_option,
)
from tideproof.files import check_picture_path, check_writable, write_text_atomically

if TYPE_CHECKING:
    from tideproof.races.race_result import RaceResult

EXITS = {
    0: "decided (with --gate: no command is slower)",
    1: "with --gate or --compare, a command is slower",
    2: "bad input or a failed command",
    3: "undecided",
}
EXIT_CODES = {"fastest": 0, "same": 0, "not slower": 0, "slower": 1, "undecided": 3}
COMMANDS, DECISION, RUNS = "Commands", "Decision", "Runs"


def bench_command(
    command: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="The commands; quote each of them.")
    ] = None,
    name: Annotated[list[str] | None, text_option("Name of a command, in order.", COMMANDS)] = None,
    shell: Annotated[str, text_option("none or sh, for all commands.", COMMANDS, "NAME")] = "none",
    parameter_list: Annotated[list[str] | None, text_option("NAME=1,2,4 replaces {NAME}.", COMMANDS)] = None,
    parameter_scan: Annotated[
        list[str] | None, text_option("NAME=FIRST:LAST:STEP, likewise.", COMMANDS)
    ] = None,
    env: Annotated[list[str] | None, text_option("Environment variable NAME=VALUE.", COMMANDS)] = None,
    cwd: Annotated[str | None, text_option("Working folder of the commands.", COMMANDS, "PATH")] = None,
    time: Annotated[str, text_option("wall, cpu or auto (above).", DECISION, "NAME")] = "wall",
    gate: Annotated[
        str | None, text_option("Limit of slowdown against the first, such as 2%.", DECISION, "SHARE")
    ] = None,
    same_within: Annotated[str, text_option("Difference that does not matter.", DECISION, "SHARE")] = "1%",
    confidence: Annotated[float, number_option("Confidence level.", DECISION)] = 0.95,
    rule: Annotated[str, text_option("betting or calibrated (above).", DECISION, "NAME")] = "betting",
    max_time: Annotated[float, number_option("Seconds until it ends undecided.", DECISION)] = 60.0,
    min_rounds: Annotated[int, whole_option("Rounds before a decision.", DECISION)] = 8,
    seed: Annotated[int | None, whole_option("Random seed of the order.", DECISION)] = None,
    warmup: Annotated[int, whole_option("Runs of each before it begins.", RUNS)] = 3,
    timeout: Annotated[float, number_option("Seconds until a run is killed.", RUNS)] = 300.0,
    setup: Annotated[str | None, text_option("Shell command before the race.", RUNS)] = None,
    prepare: Annotated[list[str] | None, text_option("Shell command before each run.", RUNS)] = None,
    cleanup: Annotated[str | None, text_option("Shell command after the race.", RUNS)] = None,
    ignore_failure: Annotated[
        bool, flag_option("--ignore-failure", "Accept exit codes other than 0.", RUNS)
    ] = False,
    compare: Annotated[
        bool, flag_option("--compare", "Compare result files instead of commands.", OUTPUT)
    ] = False,
    export_json: Annotated[
        Path | None, text_option("Save all times, in hyperfine's format.", OUTPUT, "FILE")
    ] = None,
    export_markdown: Annotated[
        Path | None, text_option("Save a summary for a pull request.", OUTPUT, "FILE")
    ] = None,
    plot: Annotated[Path | None, text_option("Save a picture of the result.", OUTPUT, "FILE")] = None,
    as_json: AsJson = False,
    no_progress: NoProgress = False,
) -> None:
    """Find which of several commands is the fastest on a machine whose speed keeps changing.

    All commands run once in each round, in random order, and times are compared within rounds only. The race
    ends as soon as the fastest command is certain, or the fastest ones are the same within --same-within.

    * --time wall (default) is the time one waits, cpu the CPU time, and auto chooses after the warm-up: cpu
      if each command is one thread that computes
    * --gate 2% tests whether a command is more than 2 % slower than the first one
    * --compare takes result files of two programs, such as base.json head.json, which were measured before
    * --rule betting (default) calls one of two identical commands faster in at most 5 % of races, whatever
      the noise; calibrated assumes normal noise and needs fewer runs of commands that take many seconds
    """
    for path in (export_json, export_markdown):
        check_writable(path)
    if plot is not None:
        check_picture_path(plot)
    if compare:
        _compare_files(command or [], gate, confidence, as_json)
        return
    from tideproof.races.command_race import ProcessOptions, race_commands
    from tideproof.races.live_table import live_table
    from tideproof.races.process_runner import interrupt_on_termination
    from tideproof.races.race_options import RaceOptions
    from tideproof.races.raced_commands import (
        CommandSet,
        parse_parameter_list,
        parse_parameter_scan,
        parse_variable,
    )

    given = CommandSet(
        commands=command or [],
        names=name or [],
        shell=cast(Any, shell),  # checked with the commands
        parameters=dict(
            [
                *map(parse_parameter_list, parameter_list or []),
                *map(parse_parameter_scan, parameter_scan or []),
            ]
        ),
        setup=setup,
        prepare=prepare or [],
        cleanup=cleanup,
    )
    options = RaceOptions(
        clock=cast(Any, time),  # checked by the options, as rule is
        warmup=warmup,
        min_rounds=min_rounds,
        max_time=max_time,
        same_within=parse_percentage("--same-within", same_within),
        confidence=confidence,
        gate=None if gate is None else parse_percentage("--gate", gate),
        rule=cast(Any, rule),
        seed=seed,
    )
    processes = ProcessOptions(dict(map(parse_variable, env or [])), cwd, timeout, ignore_failure)
    outputs = [None if path is None else path.absolute() for path in (export_json, export_markdown, plot)]
    with live_table(not no_progress and not as_json) as observer, interrupt_on_termination():
        result, failure = race_commands(given, options, processes, observer)
    _show(result, as_json)
    _save(result, *outputs)
    if failure is not None:
        raise failure
    if result.end == "interrupted":
        raise KeyboardInterrupt
    if code := EXIT_CODES[result.standing]:
        raise typer.Exit(code)


def _show(result: RaceResult, as_json: bool) -> None:
    """Print the result of a race of commands as text or as JSON."""
    from rich.console import Console

    from tideproof.races.live_table import print_result

    if as_json:
        typer.echo(json.dumps(result.to_dict()))
    else:
        print_result(Console(), result)


def _save(result: RaceResult, to_json: Path | None, to_markdown: Path | None, picture: Path | None) -> None:
    """Write the result of a race to the requested files, and print their paths on stderr."""
    if to_json is not None:
        write_text_atomically(to_json, json.dumps(result.to_dict(), indent=1))
    if to_markdown is not None:
        write_text_atomically(to_markdown, result.to_markdown())
    if picture is not None:
        result.plot(picture)
    for what, path in {"times": to_json, "summary": to_markdown, "picture": picture}.items():
        if path is not None:
            typer.echo(f"{what}: {path}", err=True)


def _compare_files(files: list[str], gate: str | None, confidence: float, as_json: bool) -> None:
    """Compare two programs by saved result files of benchmarks, and print which one is slower."""
    from tideproof.races.file_comparison import compare_result_files

    limit = 0.0 if gate is None else parse_percentage("--gate", gate)
    found = compare_result_files(files, limit, confidence)
    typer.echo(json.dumps(found.to_dict()) if as_json else str(found))
    if code := EXIT_CODES[found.standing]:
        raise typer.Exit(code)


COMMAND = Command(
    "bench",
    bench_command,
    EXITS,
    examples=(
        "tideproof bench './old input' './new input' --name old --name new",
        "tideproof bench ./base ./head --gate 2% --export-markdown summary.md",
        "tideproof bench 'xz -{n} -c big' --parameter-list n=1,4,9 --time cpu",
    ),
    hint="--export-json times.json keeps all times; tideproof analyze reads such files",
)
