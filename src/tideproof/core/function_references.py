"""What a function refers to, and on which line: read from its bytecode, so that no source is needed."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Reference(NamedTuple):
    """A name that is looked up, and what is read from it at once.

    Attributes
    ----------
    name : the name.
    attributes : `("linalg", "norm")` of `np.linalg.norm`; empty for a name alone.
    line : where.
    local : whether it is a parameter or variable of the function, not a name of its module or of a
        function around it.
    """

    name: str
    attributes: tuple[str, ...]
    line: int
    local: bool

    def __str__(self) -> str:
        return ".".join((self.name, *self.attributes))


@cache
def references(code: types.CodeType) -> tuple[Reference, ...]:
    """Return every reference of the code, of functions inside it too.

    >>> def f(x): return math.sqrt(x.size)
    >>> [str(reference) for reference in references(f.__code__)]
    ['math.sqrt', 'x.size']
    """
    return tuple(_found(code))


def _found(code: types.CodeType) -> Iterator[Reference]:
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE")]
    for place, step in enumerate(steps):
        if step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST")):
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            line = (step.positions.lineno if step.positions else None) or code.co_firstlineno
            local = step.opname.startswith("LOAD_FAST")
            for name in names[:-1]:
                yield Reference(name, (), line, local)
            yield Reference(names[-1], tuple(_attributes(steps[place + 1 :])), line, local)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from references(inner)


def _attributes(steps: list[dis.Instruction]) -> Iterator[str]:
    """Yield the attributes that are read one from the other, from the first step on."""
    for step in steps:
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return
        yield step.argval


def place(f: types.FunctionType | types.CodeType, line: int | None = None) -> str:
    """Say which function this is, in which file, on which line: where it begins if none is given."""
    code = f.__code__ if isinstance(f, types.FunctionType) else f
    return f"{code.co_name!r} ({code.co_filename}, line {line or code.co_firstlineno})"
