"""Compiled programs on disk, so that only the first process that needs one waits for the compiler.

numba's own cache does not notice an edited callee. Here a file is named by a hash of everything that
decides the machine code: the bytecode of every kernel the program reaches, the constants they use,
how its holes are filled, how it is compiled, the types of its arguments, the machine and all
versions. A file that is missing or broken only costs the time to compile. `TIDEPROOF_CACHE` names another
folder, or `off`.
"""

from __future__ import annotations

import contextlib
import hashlib
import numbers
import os
import pickle
import sys
import tempfile
import time
import types
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from tideproof.core.function_references import references
from tideproof.core.kernel_linker import Hole, Kernel, is_kernel

_FORGOTTEN = 60 * 86400.0  # seconds after which an unused file is removed


class Unknown(Exception):
    """A kernel uses something that cannot be told apart by value: its program is not kept."""


def keep(
    program: Kernel, f: Kernel, jit: Kernel, fill: Mapping[Any, Any], packing: Packing | None = None
) -> Kernel:
    """Let `program`, which is `link(f, jit, fill)`, be read from disk and be written to it."""
    folder, dispatcher = _folder(), cast(Any, program)
    if folder is not None:
        with contextlib.suppress(Unknown):
            packing = packing or Packing(_pack, _unpack)
            key = fingerprint(f, fill) + fingerprint(jit, {}) + packing.about
            dispatcher._cache = _Disk(folder, key, packing)
    return program


class Packing(NamedTuple):
    """How a compiled program becomes something to pickle, and a program again.

    Attributes
    ----------
    pack : (program) -> what can be pickled.
    unpack : (numba's target, types of the arguments, what was pickled) -> program.
    about : what else decides the machine code.
    """

    pack: Callable[[Any], Any]
    unpack: Callable[[Any, Any, Any], Any]
    about: str = ""


def _pack(result: Any) -> Any:
    return result._reduce()


def _unpack(target: Any, arguments: Any, packed: Any) -> Any:
    from numba.core.compiler import CompileResult

    result = CompileResult._rebuild(target, *packed)
    # state classes may be made at run time; the live ones are meant, not their unpickled twins
    return result._replace(signature=result.signature.replace(args=tuple(arguments)))


def is_missing(program: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Tell whether the program belongs on disk, but is not there for such arguments."""
    dispatcher = cast(Any, program)
    cache = getattr(dispatcher, "_cache", None)
    if not isinstance(cache, _Disk) or not cache.is_open():
        return False
    types = tuple(dispatcher.typeof_pyval(argument) for argument in arguments)
    return not cache.path(types, dispatcher.targetctx.codegen()).exists()


def fingerprint(f: Kernel, fill: Mapping[Any, Any]) -> str:
    """Return a hash of the function, all kernels it reaches and every global value they use.

    >>> def one(x): return x + ONE
    >>> one.__globals__["ONE"] = 1
    >>> before = fingerprint(one, {})
    >>> one.__globals__["ONE"] = 2
    >>> before == fingerprint(one, {})
    False
    """
    seen: dict[Any, int] = {}
    return hashlib.sha256("\n".join(_described(f, fill, seen)).encode()).hexdigest()


def _described(value: Any, fill: Mapping[Any, Any], seen: dict[Any, int]) -> Iterator[str]:
    if isinstance(value, Hole):
        yield from _described(fill[value.name], fill, seen)
    elif isinstance(value, types.FunctionType):
        if value in seen:
            yield f"function {seen[value]}"
            return
        seen[value] = len(seen)
        code = value.__code__
        if value.__closure__:
            raise Unknown(value)
        yield f"{code.co_code!r} {code.co_consts!r} {code.co_names} {code.co_varnames} {value.__defaults__}"
        for reference in dict.fromkeys(str(each) for each in references(code) if not each.local):
            name, *attributes = reference.split(".")
            if name not in value.__globals__:
                continue
            used = _read(value.__globals__[name], attributes)
            if is_kernel(used):
                used = fill.get(used, used)
            elif isinstance(used, types.FunctionType) or (attributes and not isinstance(used, _CONSTANTS)):
                continue  # of numpy and the like: versions tell them apart
            yield reference
            yield from _described(used, fill, seen)
    elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        yield f"{value.__qualname__} {value._fields}"
    elif isinstance(value, (types.ModuleType, type)):
        yield value.__name__
    elif isinstance(value, (numbers.Number, str, type(None))):
        yield repr(value)
    elif isinstance(value, tuple):
        for part in value:
            yield from _described(part, fill, seen)
    else:
        raise Unknown(value)


_CONSTANTS = (numbers.Number, np.generic, str, tuple, np.ndarray)  # what a compiler takes from a module


def _read(value: Any, attributes: Iterable[str]) -> Any:
    """Return what a kernel reads from a module or class, however deep."""
    for attribute in attributes:
        if not isinstance(value, (types.ModuleType, type)):
            break
        value = getattr(value, attribute, None)
    return value


def _folder() -> Path | None:
    chosen = os.environ.get("TIDEPROOF_CACHE", "")
    if chosen.lower() == "off":
        return None
    if chosen:
        return Path(chosen)
    home = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local")}
    base = os.environ.get("XDG_CACHE_HOME") or home.get(sys.platform, "~/.cache")
    try:
        return Path(base).expanduser() / "tideproof"
    except RuntimeError:  # nobody's home
        return None


class _Disk:
    """What numba's dispatcher asks of a cache: one file for each program, signature and machine."""

    def __init__(self, folder: Path, program: str, packing: Packing) -> None:
        self.cache_path = str(folder)
        self._folder, self._program, self._packing = folder, program, packing

    def load_overload(self, arguments: Any, target: Any) -> Any:
        """Return the compiled program for arguments of these types, or None."""
        target.refresh()
        path = self.path(arguments, target.codegen())
        try:
            result = self._packing.unpack(target, arguments, pickle.loads(zlib.decompress(path.read_bytes())))
            os.utime(path)
        except Exception:  # whatever is wrong with the file: compile instead
            return None
        return result

    def save_overload(self, arguments: Any, result: Any) -> None:
        """Write a program that was just compiled; a folder that cannot be written to is no harm."""
        from numba.core.serialize import dumps

        if result.lifted or result.library.has_dynamic_globals:
            return
        with contextlib.suppress(Exception):  # the insides of numba may change: only time is lost
            data = zlib.compress(dumps(self._packing.pack(result)), 1)
            self._folder.mkdir(parents=True, exist_ok=True)
            for old in [*self._folder.glob("*.bin"), *self._folder.glob("*.tmp")]:
                if old.stat().st_mtime < time.time() - _FORGOTTEN:
                    old.unlink(missing_ok=True)
            handle, beside = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(beside, self.path(arguments, result.codegen))

    def path(self, arguments: Any, codegen: Any) -> Path:
        """Return where the program for these arguments is, if it is there."""
        machine = codegen.magic_tuple(), sys.version, [version(p) for p in ("numba", "llvmlite", "numpy")]
        key = f"{self._program} {[_type(t) for t in arguments]} {machine}"
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.bin"

    def is_open(self) -> bool:
        """Tell whether the folder can be written to."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
        return os.access(self._folder, os.W_OK)

    def enable(self) -> None:
        """Nothing to do: numba calls it."""

    def disable(self) -> None:
        """Nothing to do: numba calls it."""

    def flush(self) -> None:
        """Nothing to do: numba calls it."""


def _type(kind: Any) -> str:
    """Describe a numba type; a NamedTuple by its fields, since code finds them by name."""
    if hasattr(kind, "instance_class"):
        fields = ", ".join(f"{f}: {_type(t)}" for f, t in zip(kind.fields, kind.types, strict=True))
        return f"{kind.instance_class.__name__}({fields})"
    return str(kind)
