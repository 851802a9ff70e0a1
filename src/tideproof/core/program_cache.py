"""Disk cache of compiled programs, so that only the first process that needs a program compiles it.

numba's own cache does not notice a changed callee. Here the name of a file is a hash of everything that
determines the machine code: the bytecode of every kernel in the program, the constants they use, the values
of holes, compiler options, the types of the arguments, the machine and all versions. If a file is missing
or damaged, the program is compiled again. The environment variable `TIDEPROOF_CACHE` names another folder,
or is `off`.
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

from tideproof.core.function_references import find_references
from tideproof.core.kernel_linker import Hole, Kernel, is_kernel

_EXPIRY_SECONDS = 60 * 86400.0  # an unused file is removed after 60 days


class UnhashableValue(Exception):
    """Error for a kernel that uses a value without a reliable hash: its program is not cached."""


def attach_disk_cache(
    program: Kernel, f: Kernel, jit: Kernel, fill: Mapping[Any, Any], packing: ProgramPacking | None = None
) -> Kernel:
    """Make a compiled program use the disk cache, and return the program.

    `program` must be the result of `link(f, jit, fill)`. It stays without a cache if the cache is off, or if
    a kernel uses a value that cannot be hashed.
    """
    folder, dispatcher = _cache_folder(), cast(Any, program)
    if folder is not None:
        with contextlib.suppress(UnhashableValue):
            packing = packing or ProgramPacking(_pack, _unpack)
            key = fingerprint(f, fill) + fingerprint(jit, {}) + packing.about
            dispatcher._cache = DiskCache(folder, key, packing)  # noqa: SLF001  numba offers nothing public
    return program


class ProgramPacking(NamedTuple):
    """Functions that convert a compiled program to data for pickle, and back.

    Attributes
    ----------
    pack : function of the program that returns data for pickle.
    unpack : function of numba's target, the types of the arguments and the data; returns the program.
    about : text with everything else that determines the machine code, such as compiler options.
    """

    pack: Callable[[Any], Any]
    unpack: Callable[[Any, Any, Any], Any]
    about: str = ""


def _pack(result: Any) -> Any:
    """Return a compiled CPU program as data that can be pickled."""
    return result._reduce()  # noqa: SLF001  numba offers nothing public


def _unpack(target: Any, arguments: Any, packed: Any) -> Any:
    """Restore a compiled CPU program from unpickled data."""
    from numba.core.compiler import CompileResult

    result = CompileResult._rebuild(target, *packed)  # noqa: SLF001  numba offers nothing public
    # state classes may be created at run time: use those of this process, not their unpickled copies
    return result._replace(signature=result.signature.replace(args=tuple(arguments)))


def is_missing(program: Kernel, arguments: tuple[Any, ...]) -> bool:
    """Return whether a program that uses the disk cache is not yet stored there for these argument types."""
    dispatcher = cast(Any, program)
    cache = getattr(dispatcher, "_cache", None)
    if not isinstance(cache, DiskCache) or not cache.is_open():
        return False
    types = tuple(dispatcher.typeof_pyval(argument) for argument in arguments)
    return not cache.path(types, dispatcher.targetctx.codegen()).exists()


def fingerprint(f: Kernel, fill: Mapping[Any, Any]) -> str:
    """Return a hash of a kernel, of all kernels it calls and of every global value that they use.

    >>> def one(x): return x + ONE
    >>> one.__globals__["ONE"] = 1
    >>> before = fingerprint(one, {})
    >>> one.__globals__["ONE"] = 2
    >>> before == fingerprint(one, {})
    False
    """
    seen: dict[Any, int] = {}
    return hashlib.sha256("\n".join(_describe(f, fill, seen)).encode()).hexdigest()


def _describe(value: Any, fill: Mapping[Any, Any], seen: dict[Any, int]) -> Iterator[str]:
    """Yield texts that describe a function or constant completely, as the input of a hash function.

    `seen` maps each function that was described already to a number, which is yielded if it occurs again.
    """
    if isinstance(value, Hole):
        yield from _describe(fill[value.name], fill, seen)
    elif isinstance(value, types.FunctionType):
        if value in seen:
            yield f"function {seen[value]}"
            return
        seen[value] = len(seen)
        code = value.__code__
        if value.__closure__:
            raise UnhashableValue(value)
        yield f"{_describe_code(code, value.__doc__)} {value.__defaults__}"
        for reference in dict.fromkeys(str(each) for each in find_references(code) if not each.local):
            name, *attributes = reference.split(".")
            if name not in value.__globals__:
                continue
            used = _read_attributes(value.__globals__[name], attributes)
            if is_kernel(used):
                used = fill.get(used, used)
            elif isinstance(used, types.FunctionType) or (attributes and not isinstance(used, _CONSTANTS)):
                continue  # functions of numpy and the like: the hash includes the versions of packages
            yield reference
            yield from _describe(used, fill, seen)
    elif isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields"):
        yield f"{value.__qualname__} {value._fields}"
    elif isinstance(value, (types.ModuleType, type)):
        yield value.__name__
    elif isinstance(value, (numbers.Number, str, type(None))):
        yield repr(value)
    elif isinstance(value, tuple):
        for part in value:
            yield from _describe(part, fill, seen)
    else:
        raise UnhashableValue(value)


def _describe_code(code: types.CodeType, docstring: str | None) -> str:
    """Return a text that identifies compiled code, without its docstring and addresses in memory."""
    constants = [
        _describe_code(each, None)
        if isinstance(each, types.CodeType)
        else repr(None if each is docstring else each)
        for each in code.co_consts
    ]
    return f"{code.co_code!r} {constants} {code.co_names} {code.co_varnames}"


_CONSTANTS = (numbers.Number, np.generic, str, tuple, np.ndarray)  # types that compile as constants


def _read_attributes(value: Any, attributes: Iterable[str]) -> Any:
    """Return the value of nested attributes of a module or class, such as `norm` of `linalg` of numpy."""
    for attribute in attributes:
        if not isinstance(value, (types.ModuleType, type)):
            break
        value = getattr(value, attribute, None)
    return value


def _cache_folder() -> Path | None:
    """Return the folder of the disk cache, or None if it is off or there is no home folder."""
    setting = os.environ.get("TIDEPROOF_CACHE", "")
    if setting.lower() == "off":
        return None
    if setting:
        return Path(setting)
    home = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA", "~/AppData/Local")}
    base = os.environ.get("XDG_CACHE_HOME") or home.get(sys.platform, "~/.cache")
    try:
        return Path(base).expanduser() / "tideproof"
    except RuntimeError:  # the user has no home folder
        return None


class DiskCache:
    """Disk cache of compiled programs with numba's interface: one file for each program and signature.

    The name of a file also identifies the machine.
    """

    def __init__(self, folder: Path, program: str, packing: ProgramPacking) -> None:
        self.cache_path = str(folder)
        self._folder, self._program, self._packing = folder, program, packing

    def load_overload(self, arguments: Any, target: Any) -> Any:
        """Return the compiled program for arguments of these types from the cache, or None."""
        target.refresh()
        path = self.path(arguments, target.codegen())
        try:
            result = self._packing.unpack(target, arguments, pickle.loads(zlib.decompress(path.read_bytes())))
            os.utime(path)
        except Exception:  # a damaged file only means that the program is compiled again
            return None
        return result

    def save_overload(self, arguments: Any, result: Any) -> None:
        """Store a newly compiled program in the cache; errors are ignored, because the cache is optional."""
        from numba.core.serialize import dumps

        if result.lifted or result.library.has_dynamic_globals:
            return
        with contextlib.suppress(Exception):  # numba's internals may change: then nothing is cached
            data = zlib.compress(dumps(self._packing.pack(result)), 1)
            self._folder.mkdir(parents=True, exist_ok=True)
            for old in [*self._folder.glob("*.bin"), *self._folder.glob("*.tmp")]:
                if old.stat().st_mtime < time.time() - _EXPIRY_SECONDS:
                    old.unlink(missing_ok=True)
            handle, temporary = tempfile.mkstemp(dir=self._folder, suffix=".tmp")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, self.path(arguments, result.codegen))

    def path(self, arguments: Any, codegen: Any) -> Path:
        """Return the path of the cached program for arguments of these types; the file may not exist."""
        machine = codegen.magic_tuple(), sys.version, [version(p) for p in ("numba", "llvmlite", "numpy")]
        key = f"{self._program} {[_describe_type(t) for t in arguments]} {machine}"
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.bin"

    def is_open(self) -> bool:
        """Return whether the cache folder can be written to."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
        return os.access(self._folder, os.W_OK)

    def enable(self) -> None:
        """Do nothing; numba's cache interface requires this method."""

    def disable(self) -> None:
        """Do nothing; numba's cache interface requires this method."""

    def flush(self) -> None:
        """Do nothing; numba's cache interface requires this method."""


def _describe_type(kind: Any) -> str:
    """Return a text that identifies a numba type; for a NamedTuple it includes the names of the fields.

    The text of numba itself omits them.
    """
    if hasattr(kind, "instance_class"):
        fields = ", ".join(f"{f}: {_describe_type(t)}" for f, t in zip(kind.fields, kind.types, strict=True))
        return f"{kind.instance_class.__name__}({fields})"
    return str(kind)
