"""One source, several executions.

A kernel is a plain Python function. `link` copies it together with every kernel it calls, fills
the holes a caller leaves open (which policy, which statistics) and hands each copy to a target: the
interpreter (here), `core.cpu` or `core.cuda`. What it could not link right is a `KernelError` that
names kernel, file and line.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from tideproof.core.function_references import Reference, place, references
from tideproof.errors import KernelError

Kernel = Callable[..., Any]
Jit = Callable[[Kernel, bool], Kernel]  # the copy, and whether Python calls it
F = TypeVar("F", bound=Kernel)


def kernel(f: F) -> F:
    """Tag `f` as a kernel: `link` will copy and compile it wherever another kernel calls it."""
    if not isinstance(cast(object, f), types.FunctionType):
        raise KernelError(f"@kernel goes above a plain function, `def f(...)` in a module, not {f!r}")
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
    underway: list[Kernel] = []

    def twin(g: Any, entry: bool = False) -> Kernel:
        if (g, jit, replaced) in _SHARED and not entry:
            return _SHARED[g, jit, replaced]
        if g not in made:
            _refuse_keywords(g)
            if g in underway:
                raise KernelError(f"kernel {place(g)} calls itself, if through others: write a loop instead")
            underway.append(g)
            made[g] = jit(copied(g), entry)
            underway.pop()
            if not entry and _is_closed(g, filled):
                _SHARED[g, jit, replaced] = made[g]
        return made[g]

    def copied(g: Any) -> Kernel:
        around = dict(zip(g.__code__.co_freevars, g.__closure__ or (), strict=True))
        scope, cells = dict(g.__globals__), dict(around)
        for reference in references(g.__code__):
            name = reference.name
            if reference.local:
                continue
            if name in around:
                cells[name] = types.CellType(resolved(g, reference, around[name].cell_contents))
            elif name in scope:
                scope[name] = resolved(g, reference, g.__globals__[name])
        return types.FunctionType(
            g.__code__, scope, g.__name__, g.__defaults__, tuple(cells.values()) if cells else None
        )

    def resolved(g: Any, reference: Reference, value: Any) -> Any:
        _refuse_attribute(g, reference, value)
        given = f"{reference.name!r}"
        if isinstance(value, Hole):
            if value.name not in filled:
                raise KernelError(
                    f"kernel {place(g, reference.line)} uses the hole {value.name!r}, which nobody fills: "
                    f"a policy fills its own by Policy(..., holes={{{value.name!r}: ...}})"
                )
            given, value = f"{reference.name!r}, filled by the hole {value.name!r},", filled[value.name]
        if is_kernel(value):
            return twin(filled.get(value, value))
        if _is_helper(value):
            raise KernelError(
                f"kernel {place(g, reference.line)} uses {given} which is no kernel: "
                f"put @kernel above {place(value)}"
            )
        return value

    if not is_kernel(f):
        raise KernelError(
            f"{place(f)} is no kernel: put @kernel above it" if _is_function(f) else f"{f!r} is no kernel"
        )
    return twin(f, entry=True)


def is_kernel(value: object) -> bool:
    """Tell whether `value` carries the tag of a kernel."""
    return _is_function(value) and hasattr(value, "__tideproof_kernel__")


def check_kernel(what: str, f: object) -> None:
    """Raise unless `f` is a kernel."""
    if _is_function(f) and not is_kernel(f):
        raise KernelError(f"{what} is no kernel: put @kernel above {place(f)}")
    if not is_kernel(f):
        raise KernelError(
            f"{what} is no kernel: it must be a plain function with @kernel above it, not {f!r}"
        )


def _is_function(value: object) -> TypeGuard[types.FunctionType]:
    return isinstance(value, types.FunctionType)


def _is_helper(value: object) -> TypeGuard[types.FunctionType]:
    """Tell whether `value` is a function that no compiler knows."""
    return _is_function(value) and value.__module__.partition(".")[0] not in _COMPILED


_COMPILED = ("numpy", "numba", "numba_cuda")  # whose functions compilers know: numpy.sum, libdevice.rsqrt


def _refuse_keywords(g: types.FunctionType) -> None:
    """Refuse keyword-only parameters: compiled, their defaults would be lost."""
    code = g.__code__
    if code.co_kwonlyargcount:
        names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        raise KernelError(
            f"kernel {place(g)} has keyword-only parameters ({', '.join(names)}), which the compiler does "
            f"not know: leave out the * before them, and pass them by position"
        )


def _refuse_attribute(g: types.FunctionType, reference: Reference, value: Any) -> None:
    """Refuse a kernel, or a helper, that is called through its module: such a call cannot be replaced."""
    for depth, attribute in enumerate(reference.attributes, 1):
        if not isinstance(value, (types.ModuleType, type)):
            return
        holder, value = value, getattr(value, attribute, None)
        known = is_kernel(value) or isinstance(value, Hole)
        if known or _is_helper(value):
            dotted = ".".join((reference.name, *reference.attributes[:depth]))
            tag = "" if known else f", and put @kernel above {place(value)}"
            advice = f"write `from {holder.__name__} import {attribute}`"
            if isinstance(holder, type):
                advice = f"move it out of the class {holder.__name__} into a module"
            raise KernelError(
                f"kernel {place(g, reference.line)} calls {dotted} by attribute, where no compiled twin can "
                f"take its place: {advice} and call {attribute}(...){tag}"
            )


def uses(f: Any, fill: Mapping[Any, Any]) -> Iterator[tuple[Any, Reference, Any]]:
    """Yield whatever the kernel and all that it reaches refer to: kernel, reference, value."""
    reached, to_do = {f}, [f]
    while to_do:
        g = to_do.pop()
        around = dict(zip(g.__code__.co_freevars, g.__closure__ or (), strict=True))
        for reference in references(g.__code__):
            name = reference.name
            if reference.local:
                continue
            value = around[name].cell_contents if name in around else g.__globals__.get(name)
            yield g, reference, value
            called = fill.get(value.name) if isinstance(value, Hole) else value
            if is_kernel(called) and called not in reached:
                reached.add(called)
                to_do.append(called)


def _is_closed(g: Any, filled: Mapping[Any, Any]) -> bool:
    """Tell whether the kernel and all it reaches, replaced ones included, have no hole."""
    if g.__closure__:
        return False
    used = [g.__globals__.get(r.name) for r in references(g.__code__) if not r.local]
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
