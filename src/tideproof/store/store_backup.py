"""A copy of a store, made while others write, and looked through before it gets its name."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from tideproof.errors import InputError, StoreError
from tideproof.files import check_writable
from tideproof.store.backend import Backend
from tideproof.store.export_import import copy_all, open_anew
from tideproof.store.store_check import StoreFindings, fsck
from tideproof.store.store_urls import place_of, public, sqlite_path

Show = Callable[[float, str], None]


def backup(url: str, target: str, show: Show = lambda share, doing: None) -> StoreFindings:
    """Copy all experiments to a new file or, where that is a URL, into a store; return what is there now."""
    source = place_of(url, read_only=True)
    try:
        if "://" in target:
            return _carried(source, target, show)
        if os.path.lexists(target):
            raise InputError(f"{target!r} is there already: a backup overwrites nothing")
        check_writable(target)
        return _written(source, url, Path(target), show)
    finally:
        source.close()


def _carried(source: Backend, url: str, show: Show) -> StoreFindings:
    target = place_of(url)
    try:
        names = copy_all(source, target, lambda share: show(0.5 * share, "copying"))
        checked = [fsck(target, name, lambda share, doing: show(0.5 + 0.5 * share, doing)) for name in names]
    finally:
        target.close()
    found = StoreFindings(
        tuple({fault: None for each in checked for fault in each.faults}),
        tuple(experiment for each in checked for experiment in each.experiments),
    )
    if found.all_faults:
        raise StoreError(f"the copy in {public(url)!r} is not whole: {found.all_faults[0]}")
    return found


def _written(source: Backend, url: str, target: Path, show: Show) -> StoreFindings:
    """Write a file beside the target, look it through and rename it."""
    from tideproof.store.sqlite_backend import SqlitePlace

    beside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    beside.touch(0o600)
    try:
        copy = SqlitePlace(str(beside))
        try:
            if isinstance(source, SqlitePlace):
                source.copy_to(str(beside), lambda share: show(0.3 * share, "copying"))
                for each in copy.listed():
                    log = copy.log(each.name)
                    assert log is not None
                    open_anew(log, each.events)
            else:
                copy_all(source, copy, lambda share: show(0.3 * share, "copying"))
            found = fsck(copy, None, lambda share, doing: show(0.3 + 0.7 * share, doing))
        finally:
            copy.close()
        if found.all_faults:
            raise StoreError(f"the copy is not whole, and was not kept: {found.all_faults[0]}")
        if isinstance(source, SqlitePlace):
            beside.chmod(stat.S_IMODE(os.stat(sqlite_path(url)).st_mode) | stat.S_IWUSR)
        if os.path.lexists(target):
            raise InputError(f"{str(target)!r} has been made meanwhile: a backup overwrites nothing")
        os.rename(beside, target)
        return found
    finally:
        for left in ("", "-wal", "-shm"):
            beside.with_name(beside.name + left).unlink(missing_ok=True)
