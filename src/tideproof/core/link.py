"""One source, several executions.

A kernel is a plain Python function. `link` copies it together with every kernel it calls, fills
the holes a caller leaves open (which policy, which statistics) and hands each copy to a target: the
interpreter (here), `core.cpu` or `core.cuda`.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

Kernel = Callable[..., Any]
Jit = Callable[[Kernel, bool], Kernel]  # the copy, and whether Python calls it
F = TypeVar("F", bound=Kernel)


def kernel(f: F) -> F:
    """Tag `f` as a kernel: `link` will copy and compile it wherever another kernel calls it."""
    f.__tideproof_kernel__ = True  # type: ignore[attr-defined]
    return f


class Hole:
    """A module-level name in a kernel's file that is filled when the kernel is linked."""

    def __init__(self, name: str) -> None:
        self.name = name


def hole(name: str) -> Any:
    """Leave `name` open: a kernel or a constant that `link` receives under that name."""
    return Hole(name)


def link(f: Kernel, jit: Jit, fill: Mapping[Any, Any] | None = None) -> Kernel:
    """Copy the kernel `f` and all kernels it reaches, holes filled, each passed through `jit`.

    A kernel that is a key of `fill` is replaced by its value wherever it is called.

    Names are resolved once, in the module of the function that uses them, so a kernel must import
    the kernels it calls by name. Kernels without holes are compiled once for all who replace the same ones.

    >>> @kernel
    ... def double(x): return 2 * x
    >>> link(double, interpreted)(21)
    42
    """
    filled = dict(fill or {})
    replaced = frozenset(pair for pair in filled.items() if is_kernel(pair[0]))
    made: dict[Kernel, Kernel] = {}

    def twin(g: Any, entry: bool = False) -> Kernel:
        if (g, jit, replaced) in _SHARED and not entry:
            return _SHARED[g, jit, replaced]
        if g not in made:
            scope = dict(g.__globals__)
            for name in g.__code__.co_names:
                value = scope.get(name)
                if isinstance(value, Hole):
                    value = filled[value.name]
                if is_kernel(value):
                    value = twin(filled.get(value, value))
                if name in scope:
                    scope[name] = value
            copy = types.FunctionType(g.__code__, scope, g.__name__, g.__defaults__, g.__closure__)
            made[g] = jit(copy, entry)
            if not entry and _is_closed(g, filled):
                _SHARED[g, jit, replaced] = made[g]
        return made[g]

    return twin(f, entry=True)


def is_kernel(value: object) -> bool:
    """Tell whether `value` carries the tag of a kernel."""
    return hasattr(value, "__tideproof_kernel__")


def _is_closed(g: Any, filled: Mapping[Any, Any]) -> bool:
    """Tell whether the kernel and all it reaches, replaced ones included, have no hole."""
    used = [g.__globals__.get(name) for name in g.__code__.co_names]
    reached = [filled.get(u, u) for u in used if is_kernel(u)]
    return not any(isinstance(u, Hole) for u in used) and all(_is_closed(u, filled) for u in reached)


_SHARED: dict[tuple[Kernel, Jit, frozenset[Any]], Kernel] = {}


def interpreted(f: Kernel, entry: bool) -> Kernel:
    """Run the copy as it is."""
    return f


def quietly(f: Kernel) -> Kernel:
    """Wrap an interpreted entry point: unsigned arithmetic wraps around on purpose."""
    wrapped: Kernel = np.errstate(over="ignore")(f)
    return wrapped
