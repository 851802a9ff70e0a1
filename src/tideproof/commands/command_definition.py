"""The class `Command`, which defines one command of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

EXITS = {0: "done", 2: "bad input", 130: "interrupted"}


class Command(NamedTuple):
    """Definition of one command of the command line, such as `tideproof analyze`.

    Attributes
    ----------
    name : the word after `tideproof`.
    run : the function of the command; typer reads options and help from its signature and docstring.
    exits : meanings of exit codes that differ from those of all commands.
    examples : command lines that the help page shows before the options.
    hint : a suggestion for the next command, printed after the command in an interactive terminal.
    """

    name: str
    run: Callable[..., None]
    exits: Mapping[int, str] = {}
    hint: str = ""
    examples: tuple[str, ...] = ()

    @property
    def epilogue(self) -> str:
        """Last line of a command's help page: the list of exit codes and their meanings.

        >>> Command("greet", print, {3: "no answer"}).epilogue
        'Exit codes: 0 done; 2 bad input; 3 no answer; 130 interrupted.'
        """
        meanings = {**EXITS, **self.exits}
        return f"Exit codes: {'; '.join(f'{code} {meanings[code]}' for code in sorted(meanings))}."
