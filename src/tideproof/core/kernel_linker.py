"""Link kernels: copy a plain Python function with all kernels it calls, for the interpreter, a CPU or a GPU.

`link` fills the holes of a kernel, which are placeholders for other kernels or constants, such as the policy
or its statistics. It passes each copy to a target: the interpreter (in this module), `core.cpu_target` or
`core.cuda_target`. Code that cannot be linked correctly raises a `KernelError` that names the kernel, its
file and line.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard, TypeVar, cast

import numpy as np

from tideproof.core.function_references import Reference, find_references, locate
from tideproof.errors import KernelError

Kernel = Callable[..., Any]
Jit = Callable[[Kernel, bool], Kernel]  # receives a copied kernel, and whether it is the entry point
F = TypeVar("F", bound=Kernel)


def kernel(f: F) -> F:
    """Mark a plain function as a kernel, which can be compiled together with the kernels that it calls."""
    if not isinstance(cast(object, f), types.FunctionType):
        raise KernelError(f"@kernel must decorate a plain function, `def f(...)` in a module, not {f!r}")
    f.__tideproof_kernel__ = True  # type: ignore[attr-defined]
    return f


class Hole:
    """Named placeholder in a compilable function (kernel); linking replaces it by a function or constant."""

    def __init__(self, name: str) -> None:
        self.name = name


def hole(name: str) -> Any:
    """Return a named placeholder for a compilable function; linking replaces it by a function or constant."""
    return Hole(name)


def link(f: Kernel, jit: Jit, fill: Mapping[Any, Any] | None = None) -> Kernel:
    """Copy kernel `f` and the kernels it calls, fill their placeholders and compile each copy with `jit`.

    `fill` gives the values of the placeholders (holes) by name. A kernel that is a key of `fill` is replaced
    by its value wherever it is called.

    Names are resolved once, in the module of the function that uses them, so a kernel must import the
    kernels it calls by name. Kernels without holes are compiled once for all callers with the same
    replacements.

    >>> @kernel
    ... def double(x): return 2 * x
    >>> link(double, use_interpreter)(21)
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
                raise KernelError(
                    f"kernel {locate(g)} calls itself, directly or through other kernels: "
                    f"write a loop instead"
                )
            underway.append(g)
            made[g] = jit(copied(g), entry)
            underway.pop()
            if not entry and _is_closed(g, filled):
                _SHARED[g, jit, replaced] = made[g]
        return made[g]

    def copied(g: Any) -> Kernel:
        around = dict(zip(g.__code__.co_freevars, g.__closure__ or (), strict=True))
        scope, cells = dict(g.__globals__), dict(around)
        for reference in find_references(g.__code__):
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
        description = f"{reference.name!r}"
        if isinstance(value, Hole):
            if value.name not in filled:
                raise KernelError(
                    f"kernel {locate(g, reference.line)} uses the placeholder (hole) {value.name!r}, which "
                    f"has no value: "
                    f"define it with Policy(..., holes={{{value.name!r}: ...}})"
                )
            description = f"{reference.name!r}, the value of the placeholder {value.name!r},"
            value = filled[value.name]
        if is_kernel(value):
            return twin(filled.get(value, value))
        if _is_helper(value):
            raise KernelError(
                f"kernel {locate(g, reference.line)} uses {description} which is not a kernel: "
                f"put @kernel above {locate(value)}"
            )
        return value

    if not is_kernel(f):
        raise KernelError(
            f"{locate(f)} is not a kernel: put @kernel above it"
            if _is_function(f)
            else f"{f!r} is not a kernel"
        )
    return twin(f, entry=True)


def is_kernel(value: object) -> bool:
    """Return whether `value` is a function marked by `@kernel`."""
    return _is_function(value) and hasattr(value, "__tideproof_kernel__")


def check_kernel(what: str, f: object) -> None:
    """Raise an error unless `f` is a function marked by `@kernel`.

    The error begins with the text `what`.
    """
    if _is_function(f) and not is_kernel(f):
        raise KernelError(f"{what} is not a kernel: put @kernel above {locate(f)}")
    if not is_kernel(f):
        raise KernelError(
            f"{what} is not a kernel: it must be a plain function with @kernel above it, not {f!r}"
        )


def _is_function(value: object) -> TypeGuard[types.FunctionType]:
    """Return whether `value` is a plain Python function."""
    return isinstance(value, types.FunctionType)


def _is_helper(value: object) -> TypeGuard[types.FunctionType]:
    """Return whether `value` is a Python function of a package not supported by the compilers."""
    return _is_function(value) and value.__module__.partition(".")[0] not in _COMPILED


_COMPILED = ("numpy", "numba", "numba_cuda")  # packages whose functions the compilers support


def _refuse_keywords(g: types.FunctionType) -> None:
    """Raise an error if a kernel has keyword-only parameters.

    Compilation would lose their defaults.
    """
    code = g.__code__
    if code.co_kwonlyargcount:
        names = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        raise KernelError(
            f"kernel {locate(g)} has keyword-only parameters ({', '.join(names)}), which the compiler does "
            f"not support: remove the * before them, and pass them by position"
        )


def _refuse_attribute(g: types.FunctionType, reference: Reference, value: Any) -> None:
    """Raise an error if a kernel calls a function as `module.f()`.

    Compiled code cannot replace such a function.

    The same holds for a function that is an attribute of a class.
    """
    for depth, attribute in enumerate(reference.attributes, 1):
        if not isinstance(value, (types.ModuleType, type)):
            return
        holder, value = value, getattr(value, attribute, None)
        known = is_kernel(value) or isinstance(value, Hole)
        if known or _is_helper(value):
            dotted = ".".join((reference.name, *reference.attributes[:depth]))
            tag = "" if known else f", and put @kernel above {locate(value)}"
            advice = f"write `from {holder.__name__} import {attribute}`"
            if isinstance(holder, type):
                advice = f"move it out of the class {holder.__name__} into a module"
            raise KernelError(
                f"kernel {locate(g, reference.line)} calls {dotted} as an attribute, which cannot be "
                f"replaced by compiled code: {advice} and call {attribute}(...){tag}"
            )


def walk_references(f: Any, fill: Mapping[Any, Any]) -> Iterator[tuple[Any, Reference, Any]]:
    """Yield every global name, with its value, that is used in a kernel or in the kernels it calls.

    Each item is the kernel that has the reference, the reference and the value.
    """
    reached, to_do = {f}, [f]
    while to_do:
        g = to_do.pop()
        around = dict(zip(g.__code__.co_freevars, g.__closure__ or (), strict=True))
        for reference in find_references(g.__code__):
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
    """Return whether a kernel and all kernels it calls contain no placeholders for functions or constants.

    A kernel that is replaced counts as its replacement.
    """
    if g.__closure__:
        return False
    used = [g.__globals__.get(r.name) for r in find_references(g.__code__) if not r.local]
    reached = [filled.get(u, u) for u in used if is_kernel(u)]
    return not any(isinstance(u, Hole) for u in used) and all(_is_closed(u, filled) for u in reached)


_SHARED: dict[tuple[Kernel, Jit, frozenset[Any]], Kernel] = {}


def use_interpreter(f: Kernel, entry: bool) -> Kernel:
    """Return the kernel unchanged, because the Python interpreter needs no compilation.

    This is the target of `link` for the interpreter.
    """
    return f


def ignore_overflow(f: Kernel) -> Kernel:
    """Wrap an interpreted function so that integer overflow, which is intended there, gives no warnings."""
    wrapped: Kernel = np.errstate(over="ignore")(f)
    return wrapped
