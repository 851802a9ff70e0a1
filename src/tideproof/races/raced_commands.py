"""Commands of a race: checks of what the user gave, values of parameters, and programs to run.

Without a shell, a command is split into words as a shell would do it. Since starting a shell takes time, all
commands of a race use one, or none does.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import product
from typing import Literal, get_args

from tideproof.errors import CommandFailed, InputError
from tideproof.races.process_runner import ProcessRunner, RunMeasurement, describe_exit, last_lines

Shell = Literal["none", "sh"]

_SHELL_SYNTAX = re.compile(r"[|&;<>()`*?\[]|\$|(?:^|\s)[~#]|^\s*\w+=")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|\\.")
_MOST_VALUES = 1000  # of one parameter


@dataclass(frozen=True, slots=True)
class CommandSet:
    """The commands of a race and their parameters, as a user gives them.

    Attributes
    ----------
    commands : their texts; {NAME} is replaced by each value of the parameter NAME.
    names : names in results, in the order of the commands; the others are named by their text.
    shell : "none" or "sh".
    parameters : values of each parameter.
    setup, cleanup : shell commands that run once before and after the race.
    prepare : shell commands that run before each run: none, one for all, or one for each command.
    """

    commands: Sequence[str]
    names: Sequence[str] = ()
    shell: Shell = "none"
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    setup: str | None = None
    prepare: Sequence[str] = ()
    cleanup: str | None = None


@dataclass(frozen=True, slots=True)
class RacedCommand:
    """One command of a race, with the values of its parameters filled in.

    Attributes
    ----------
    name : its name in results.
    text : the command line.
    arguments : the program and its arguments.
    parameters : the value of each parameter of the command.
    prepare : the shell command before each of its runs.
    """

    name: str
    text: str
    arguments: list[str]
    parameters: dict[str, str]
    prepare: str | None = None


class CommandContestant:
    """A command in a race; each run first runs an unmeasured preparation, then the command."""

    def __init__(self, command: RacedCommand, runner: ProcessRunner) -> None:
        self.name = command.name
        self._command = command
        self._runner = runner

    def run(self, first: bool = False) -> RunMeasurement:
        """Run the command of a race once, and return the time and memory it took."""
        if self._command.prepare is not None:
            run_helper(self._command.prepare, f"--prepare of {self.name}")
        if first:
            return self._runner.run_and_explain(self._command.arguments, self.name)
        return self._runner.run(self._command.arguments, self.name)


def expand_commands(given: CommandSet) -> list[RacedCommand]:
    """Return the commands of a race, one for each combination of the values of their parameters.

    >>> [each.text for each in expand_commands(CommandSet(["sleep {t}"], parameters={"t": ["1", "2"]}))]
    ['sleep 1', 'sleep 2']
    """
    if given.shell not in get_args(Shell):
        raise InputError(f"shell must be one of {', '.join(get_args(Shell))}, not {given.shell!r}")
    if len(given.names) > len(given.commands):
        raise InputError(
            f"there are {len(given.names)} names for {len(given.commands)} commands; give at most one each"
        )
    if len(given.prepare) not in (0, 1, len(given.commands)):
        raise InputError(
            f"--prepare must be given once, or once for each of the {len(given.commands)} commands, "
            f"not {len(given.prepare)} times"
        )
    _check_parameters(given)
    found = []
    for number, text in enumerate(given.commands):
        name = given.names[number] if number < len(given.names) else None
        prepare = given.prepare[number % len(given.prepare)] if given.prepare else None
        used = [each for each in given.parameters if f"{{{each}}}" in text]
        for values in product(*(given.parameters[each] for each in used)):
            chosen = dict(zip(used, values, strict=True))
            line = _fill(text, chosen)
            title = _named(name, chosen) if name is not None else line
            arguments = ["/bin/sh", "-c", line] if given.shell == "sh" else split_command(line)
            filled = None if prepare is None else _fill(prepare, chosen)
            found.append(RacedCommand(title, line, arguments, chosen, filled))
    return _with_unique_names(found)


def _check_parameters(given: CommandSet) -> None:
    """Raise an error for a parameter that no command contains, or for wrong numbers of its values."""
    for name, values in given.parameters.items():
        if not any(f"{{{name}}}" in text for text in given.commands):
            raise InputError(f"no command contains {{{name}}}, the parameter that was given")
        if not 1 <= len(values) <= _MOST_VALUES:
            raise InputError(f"parameter {name} must have 1 to {_MOST_VALUES} values, not {len(values)}")


def _fill(text: str, values: Mapping[str, str]) -> str:
    """Replace the names of parameters in braces by their values in a text."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _named(name: str, values: Mapping[str, str]) -> str:
    """Return the name of a command, with its parameters appended if the name does not contain them."""
    filled = _fill(name, values)
    missing = [f"{key}={value}" for key, value in values.items() if f"{{{key}}}" not in name]
    return f"{filled} ({', '.join(missing)})" if missing else filled


def _with_unique_names(commands: list[RacedCommand]) -> list[RacedCommand]:
    """Number the commands that have the same name, so that all names are unique."""
    names = [each.name for each in commands]
    seen: dict[str, int] = {}
    found = []
    for each in commands:
        seen[each.name] = seen.get(each.name, 0) + 1
        number = f" #{seen[each.name]}" if names.count(each.name) > 1 else ""
        found.append(
            RacedCommand(each.name + number, each.text, each.arguments, each.parameters, each.prepare)
        )
    return found


def split_command(text: str) -> list[str]:
    """Split a command into words, or raise an error if it needs a shell.

    >>> split_command("sort --reverse 'my file'")
    ['sort', '--reverse', 'my file']
    >>> split_command("sort < file")
    Traceback (most recent call last):
    tideproof.errors.InputError: 'sort < file' needs a shell; --shell sh runs all commands in one
    """
    if _SHELL_SYNTAX.search(_QUOTED.sub(_keep_expansions, text)):
        raise InputError(f"{text!r} needs a shell; --shell sh runs all commands in one")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError(f"cannot split {text!r} into words: {str(error).lower()}") from None
    if not words:
        raise InputError("a command must not be empty")
    return words


def _keep_expansions(quoted: re.Match[str]) -> str:
    """Return the part of a quoted text that a shell would still replace, such as variables."""
    return "$" if quoted[0].startswith('"') and re.search(r"[$`]", quoted[0]) else "x"


def parse_parameter_list(text: str) -> tuple[str, list[str]]:
    """Parse a parameter with a list of values, such as n=1,2,4.

    >>> parse_parameter_list("n=1,2,4")
    ('n', ['1', '2', '4'])
    """
    name, sign, values = text.partition("=")
    found = [value.strip() for value in values.split(",")]
    if not sign or not re.fullmatch(r"[\w-]+", name) or not all(found):
        raise InputError(f"--parameter-list must be written as NAME=VALUE,VALUE,..., not {text!r}")
    return name, found


def parse_parameter_scan(text: str) -> tuple[str, list[str]]:
    """Parse a parameter with a range of numbers and an optional step, such as n=1:9:2.

    >>> parse_parameter_scan("n=1:9:4"), parse_parameter_scan("x=0.1:0.3:0.1")
    (('n', ['1', '5', '9']), ('x', ['0.1', '0.2', '0.3']))
    """
    name, sign, values = text.partition("=")
    try:
        numbers = [Decimal(part) for part in values.split(":")]
    except InvalidOperation:
        numbers = []
    if not sign or not re.fullmatch(r"[\w-]+", name) or len(numbers) not in (2, 3):
        raise InputError(
            f"--parameter-scan must be written as NAME=FIRST:LAST or NAME=FIRST:LAST:STEP, not {text!r}"
        )
    first, last, step = (*numbers, Decimal(1))[:3]
    if not all(number.is_finite() for number in numbers) or step <= 0 or last < first:
        raise InputError(f"--parameter-scan must go up from FIRST to LAST in steps above 0, not {text!r}")
    count = int((last - first) / step) + 1
    if count > _MOST_VALUES:
        raise InputError(f"--parameter-scan must have at most {_MOST_VALUES} values; {text!r} has {count}")
    return name, [str(first + number * step) for number in range(count)]


def parse_variable(text: str) -> tuple[str, str]:
    """Parse the setting of an environment variable, such as LC_ALL=C."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise InputError(f"--env must be written as NAME=VALUE, not {text!r}")
    return name, value


def run_helper(text: str, name: str) -> None:
    """Run a shell command that prepares or cleans up; background processes it starts keep running."""
    with tempfile.TemporaryFile() as errors:
        ended = subprocess.run(
            ["/bin/sh", "-c", text], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors
        )
        if ended.returncode:
            shown = last_lines(errors)
            raise CommandFailed(
                f"{name}: {describe_exit(ended.returncode)}" + (f"; stderr: {shown}" if shown else "")
            )


@contextmanager
def prepared_contestants(
    given: CommandSet,
    commands: Sequence[RacedCommand],
    *,
    variables: Mapping[str, str],
    folder: str | None,
    timeout: float,
    accept_failures: bool,
) -> Iterator[list[CommandContestant]]:
    """Return a context manager that runs the setup before a race, and the cleanup after it.

    It yields the contestants. The cleanup runs even if the race fails.
    """
    if folder is not None and not os.path.isdir(folder):
        raise InputError(f"--cwd must be a folder; there is no folder {folder!r}")
    runner = ProcessRunner({**os.environ, **variables}, timeout, accept_failures)
    with nullcontext() if folder is None else chdir(folder), runner:
        try:
            for text in _helpers(given.setup, commands):
                run_helper(text, "--setup")
            yield [CommandContestant(command, runner) for command in commands]
        finally:
            for text in _helpers(given.cleanup, commands):
                run_helper(text, "--cleanup")


def _helpers(text: str | None, commands: Sequence[RacedCommand]) -> list[str]:
    """Return the distinct setup or cleanup commands of a race, with parameters filled in."""
    if text is None:
        return []
    return list(dict.fromkeys(_fill(text, command.parameters) for command in commands))
