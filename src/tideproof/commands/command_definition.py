"""What a command is: a name, a function whose signature is its options, and what its exit codes mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

EXITS = {0: "done", 2: "bad input", 130: "interrupted"}


class Command(NamedTuple):
    """One word after `tideproof`.

    Attributes
    ----------
    name : that word.
    run : what it does; its signature and docstring are read by typer.
    exits : what its exit codes mean, where it says more than all commands do.
    then : what one may want to do next, said after it to who looks.
    """

    name: str
    run: Callable[..., None]
    exits: Mapping[int, str] = {}
    then: str = ""

    @property
    def epilogue(self) -> str:
        """The last line of its help: every exit code.

        >>> Command("greet", print, {3: "nobody there"}).epilogue
        'Exit codes: 0 done; 2 bad input; 3 nobody there; 130 interrupted.'
        """
        meanings = {**EXITS, **self.exits}
        return f"Exit codes: {'; '.join(f'{code} {meanings[code]}' for code in sorted(meanings))}."
