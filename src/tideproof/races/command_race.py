"""A whole race of commands: setup, warm-up, measured rounds, cleanup and result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tideproof.errors import CommandFailed
from tideproof.races.calibrated_race import new_race
from tideproof.races.process_runner import memory_floor
from tideproof.races.race import RaceObserver
from tideproof.races.race_options import RaceOptions
from tideproof.races.race_result import RaceResult, collect_result
from tideproof.races.raced_commands import CommandSet, expand_commands, prepared_contestants


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """Options for running the processes of a race, such as their timeout.

    Attributes
    ----------
    variables : environment variables that are added to those of this process.
    folder : the working folder; None for the current one.
    timeout : seconds after which one run is killed.
    accept_failures : whether commands may end with an exit code other than 0.
    """

    variables: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None
    timeout: float = 300.0
    accept_failures: bool = False


def race_commands(
    given: CommandSet,
    options: RaceOptions,
    processes: ProcessOptions,
    observer: RaceObserver | None = None,
) -> tuple[RaceResult, CommandFailed | None]:
    """Race commands against each other; return the result, and the error if a failure ended the race.

    A failure before the end of the first round is raised.
    """
    commands = expand_commands(given)
    with prepared_contestants(
        given,
        commands,
        variables=processes.variables,
        folder=processes.folder,
        timeout=processes.timeout,
        accept_failures=processes.accept_failures,
    ) as contestants:
        race = new_race(contestants, options)
        race.run(observer)
    parameters = {command.name: command.parameters for command in commands if command.parameters}
    return replace(collect_result(race, memory_floor()), parameters=parameters), race.failure
