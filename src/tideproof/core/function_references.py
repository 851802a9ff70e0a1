"""Find the global names that a function refers to, with line numbers, from its bytecode."""

from __future__ import annotations

import dis
import types
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple


class Reference(NamedTuple):
    """One use of a name in a function, with the attributes read from it, as in `np.linalg.norm`.

    Attributes
    ----------
    name : the name.
    attributes : `("linalg", "norm")` for `np.linalg.norm`; empty for a name alone.
    line : line number of the reference.
    local : whether the name is a parameter or local variable of the function, rather than a name of its
        module or of an enclosing function.
    """

    name: str
    attributes: tuple[str, ...]
    line: int
    local: bool

    def __str__(self) -> str:
        return ".".join((self.name, *self.attributes))


@cache
def find_references(code: types.CodeType) -> tuple[Reference, ...]:
    """Return every use of a name in a code object and in the functions defined inside it.

    >>> def f(x): return math.sqrt(x.size)
    >>> [str(reference) for reference in find_references(f.__code__)]
    ['math.sqrt', 'x.size']
    """
    return tuple(_scan(code))


def _scan(code: types.CodeType) -> Iterator[Reference]:
    """Yield every use of a name in a code object, in the order of its bytecode."""
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("EXTENDED_ARG", "CACHE")]
    for position, step in enumerate(steps):
        if step.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_FAST")):
            names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            line = (step.positions.lineno if step.positions else None) or code.co_firstlineno
            local = step.opname.startswith("LOAD_FAST")
            for name in names[:-1]:
                yield Reference(name, (), line, local)
            yield Reference(names[-1], tuple(_attributes(steps[position + 1 :])), line, local)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from find_references(inner)


def _attributes(steps: list[dis.Instruction]) -> Iterator[str]:
    """Yield the names of consecutive attribute lookups at the beginning of a sequence of bytecode."""
    for step in steps:
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            return
        yield step.argval


def locate(f: types.FunctionType | types.CodeType, line: int | None = None) -> str:
    """Return a function's name, file and line as text.

    The default is the line where the function begins.
    """
    code = f.__code__ if isinstance(f, types.FunctionType) else f
    return f"{code.co_name!r} ({code.co_filename}, line {line or code.co_firstlineno})"
