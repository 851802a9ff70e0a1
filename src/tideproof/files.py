"""Files: one that is not there is refused in words, and a crash never leaves half of one."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from tideproof.errors import InputError, MissingExtra, MissingFile, describe_value

PICTURE_FORMATS = (".png", ".svg", ".pdf")  # of pictures

# what has a store open in this process, and the file's device and number
_holders: WeakKeyDictionary[Any, tuple[int, int]] = WeakKeyDictionary()


def require_path(path: Any) -> str:
    """Return a path as text, or say what a path is."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"a path must be a string or a pathlib.Path, not {describe_value(path)}")
    return text


def mark_store_open(owner: Any, path: str) -> None:
    """Note that `owner` has a store open, until it says otherwise or is gone."""
    _holders[owner] = _number(path)


def mark_store_closed(owner: Any) -> None:
    """Note that it was closed."""
    _holders.pop(owner, None)


def is_store_open(path: str) -> bool:
    """Tell whether this process has the store at a path open.

    Whoever opens it otherwise and closes it again drops all locks that the process has on it.
    """
    try:
        return _number(path) in set(_holders.values())
    except (OSError, ValueError):
        return False


def _number(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def read_text(path: str | os.PathLike[str]) -> str:
    """Return what stands in the file."""
    name = require_path(path)
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFile(f"cannot read {name!r}: there is no such file") from None
    except OSError as error:
        raise InputError(f"cannot read {name!r}: {error.strerror}") from None


def check_writable(path: str | os.PathLike[str] | None) -> None:
    """Refuse a file that cannot be written where it should lie, before time is spent on what to write."""
    if path is None:
        return
    name = require_path(path)
    folder = str(Path(path).parent)
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # a name too long, a folder that may not be looked into
        raise InputError(f"cannot write {name!r}: {error.strerror}") from None
    if not os.path.isdir(folder):
        raise MissingFile(f"cannot write {name!r}: there is no folder {folder!r}")
    if os.path.isdir(path):
        raise InputError(f"cannot write {name!r}: it is a folder")
    if os.path.exists(path) and _read_only(path):
        raise InputError(f"cannot write {name!r}: it is read-only")
    beside = os.path.dirname(os.path.realpath(path))  # what a link points to is replaced, not the link
    if _read_only(beside) or not os.access(beside, os.X_OK):
        raise InputError(f"cannot write {name!r}: the folder {beside!r} is read-only")


def _read_only(path: str | os.PathLike[str]) -> bool:
    """Tell whether nobody may write, not even who is allowed everything, or this user may not."""
    return not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK)


def check_picture_path(path: str | os.PathLike[str] | None) -> None:
    """Refuse a picture that cannot be drawn or saved, before time is spent on its numbers."""
    if find_spec("matplotlib") is None:
        raise MissingExtra.for_module("matplotlib", "plot", "a plot")
    if path is not None and Path(path).suffix.lower() not in PICTURE_FORMATS:
        raise InputError(f"a picture must end in {', '.join(PICTURE_FORMATS)}; {os.fspath(path)!r} does not")
    check_writable(path)


@contextmanager
def explain_write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in words why a file cannot be written."""
    check_writable(path)
    try:
        yield
    except OSError as error:
        if isinstance(error, InputError):  # in words already
            raise
        raise InputError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from None


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path` in one step: beside it first, then renamed over it."""
    with replace_atomically(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="")


@contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside `path`, of the same kind, to write to; it is renamed over `path` in the end."""
    target = Path(os.path.realpath(require_path(path)))  # what a link points to, not the link
    beside = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{target.suffix}")
    with explain_write_errors(path):
        try:
            if target.exists():  # who could not read the old file cannot read the new one
                beside.touch(stat.S_IMODE(target.stat().st_mode))
                beside.chmod(stat.S_IMODE(target.stat().st_mode))
            yield beside
            with open(beside, "rb") as file:
                os.fsync(file.fileno())
            os.replace(beside, target)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
