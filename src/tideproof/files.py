"""Read and write files: explain failures in error messages, and replace files atomically."""

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

PICTURE_FORMATS = (".png", ".svg", ".pdf")

# The objects of this process that have a store open, each with the device and inode of the store's file.
_open_stores: WeakKeyDictionary[Any, tuple[int, int]] = WeakKeyDictionary()


def require_path(path: Any) -> str:
    """Return a file path as text, or raise an error unless it is a string or a `pathlib.Path`."""
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or "\0" in text:
        raise InputError(f"a path must be a string or a pathlib.Path, not {describe_value(path)}")
    return text


def mark_store_open(owner: Any, path: str) -> None:
    """Record that the object `owner` has opened the database file at `path`.

    This holds until `mark_store_closed` is called or `owner` is garbage-collected.
    """
    _open_stores[owner] = _file_identity(path)


def mark_store_closed(owner: Any) -> None:
    """Record that the object `owner` has closed its database file."""
    _open_stores.pop(owner, None)


def is_store_open(path: str) -> bool:
    """Return whether this process has the database file at `path` open.

    On POSIX systems, opening and closing the file a second time drops all locks that the process holds on it.
    """
    try:
        return _file_identity(path) in set(_open_stores.values())
    except (OSError, ValueError):
        return False


def _file_identity(path: str) -> tuple[int, int]:
    """Return the device and inode of a file, which identify it whatever its path."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the text of a UTF-8 file, or raise an error that says why it cannot be read."""
    name = require_path(path)
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFile(f"cannot read {name!r}: there is no such file") from None
    except OSError as error:
        raise InputError(f"cannot read {name!r}: {error.strerror}") from None


def check_writable(path: str | os.PathLike[str] | None) -> None:
    """Raise an error unless a file can be written at `path`; call it before an expensive computation."""
    if path is None:
        return
    name = require_path(path)
    folder = str(Path(path).parent)
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # for example a name that is too long, or a folder without permission
        raise InputError(f"cannot write {name!r}: {error.strerror}") from None
    if not os.path.isdir(folder):
        raise MissingFile(f"cannot write {name!r}: there is no folder {folder!r}")
    if os.path.isdir(path):
        raise InputError(f"cannot write {name!r}: it is a folder")
    if os.path.exists(path) and _is_read_only(path):
        raise InputError(f"cannot write {name!r}: it is read-only")
    target_folder = os.path.dirname(os.path.realpath(path))  # the target of a link is replaced, not the link
    if _is_read_only(target_folder) or not os.access(target_folder, os.X_OK):
        raise InputError(f"cannot write {name!r}: the folder {target_folder!r} is read-only")


def _is_read_only(path: str | os.PathLike[str]) -> bool:
    """Return whether a file or folder is read-only for the current user.

    It also counts as read-only if no user has write permission.
    """
    return not os.stat(path).st_mode & 0o222 or not os.access(path, os.W_OK)


def check_picture_path(path: str | os.PathLike[str] | None) -> None:
    """Raise an error unless a picture can be drawn and saved at `path`; call it before a long computation."""
    if find_spec("matplotlib") is None:
        raise MissingExtra.for_module("matplotlib", "plot", "a plot")
    if path is not None and Path(path).suffix.lower() not in PICTURE_FORMATS:
        raise InputError(f"a picture must end in {', '.join(PICTURE_FORMATS)}; {os.fspath(path)!r} does not")
    check_writable(path)


@contextmanager
def explain_write_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Context manager that turns a failure to write a file into an `InputError` with the reason."""
    check_writable(path)
    try:
        yield
    except OSError as error:
        if isinstance(error, InputError):  # the message is explained already
            raise
        raise InputError(f"cannot write {os.fspath(path)!r}: {error.strerror or error}") from None


def write_text_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to the file `path` in one step, so that a crash never leaves half of a file.

    The text is written to a temporary file, which then replaces `path`.
    """
    with replace_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


@contextmanager
def replace_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Context manager that yields a temporary path to write to, and then renames it to `path` in one step.

    The temporary file is in the folder of `path` and has the same suffix. It is removed if writing fails.
    """
    target = Path(os.path.realpath(require_path(path)))  # the target of a link is replaced, not the link
    temporary = target.with_name(f".{target.stem}.{secrets.token_hex(8)}{target.suffix}")
    with explain_write_errors(path):
        try:
            if target.exists():  # a user who could not read the old file cannot read the new one
                temporary.touch(stat.S_IMODE(target.stat().st_mode))
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            yield temporary
            with open(temporary, "rb") as file:
                os.fsync(file.fileno())
            os.replace(temporary, target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
