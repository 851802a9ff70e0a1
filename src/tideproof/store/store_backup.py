"""Back up a store while other processes write, and check the copy before it gets its final name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tideproof.errors import InputError, StoreError
from tideproof.files import check_writable
from tideproof.store.backend import Backend
from tideproof.store.chain_heads import head_of
from tideproof.store.export_import import copy_all, start_session
from tideproof.store.read_only_view import find_log
from tideproof.store.store_check import StoreFindings, fsck
from tideproof.store.store_urls import open_backend
from tideproof.text import public_url

Show = Callable[[float, str], None]


def backup(url: str, target: str, show: Show = lambda share, doing: None) -> StoreFindings:
    """Copy all experiments of a store to a new file or into another store.

    `target` is the path of the file or the URL of the store.

    Return the findings of a check of the copy, with the numbers of events and the heads of the hash chains
    that the source had: each copy has one more event, after which its pulls have other ids.
    """
    source = open_backend(url, read_only=True)
    try:
        if "://" in target:
            return _copy_to_store(source, target, show)
        if os.path.lexists(target):
            raise InputError(
                f"{target!r} already exists, and a backup overwrites no file: choose another name"
            )
        check_writable(target)
        return _write_file(source, Path(target), show)
    finally:
        source.close()


def _copy_to_store(source: Backend, url: str, show: Show) -> StoreFindings:
    """Copy all experiments into the store at a URL, and check the copy."""
    target = open_backend(url)
    try:
        names = copy_all(source, target, lambda share: show(0.5 * share, "copying"))
        checked = [
            _as_of_source(target, fsck(target, name, lambda share, doing: show(0.5 + 0.5 * share, doing)))
            for name in names
        ]
    finally:
        target.close()
    found = StoreFindings(
        tuple({fault: None for each in checked for fault in each.faults}),
        tuple(experiment for each in checked for experiment in each.experiments),
    )
    if found.all_faults:
        raise StoreError(f"the copy in {public_url(url)!r} is damaged: {found.all_faults[0]}")
    return found


def _as_of_source(copy: Backend, found: StoreFindings) -> StoreFindings:
    """Return the check results of a copied store with the event counts and hashes of the original."""
    if found.all_faults:
        return found
    experiments = []
    for each in found.experiments:
        head = head_of(each.name, find_log(copy, each.name).read(each.events - 2, each.events - 1))
        experiments.append(replace(each, events=head.events, head=head.hash))
    return replace(found, experiments=tuple(experiments))


def _write_file(source: Backend, target: Path, show: Show) -> StoreFindings:
    """Copy a store to a temporary file beside the target, check the copy, and rename it.

    Only the owner may read the file.
    """
    from tideproof.store.sqlite_backend import SqliteBackend

    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    temporary.touch(0o600)
    try:
        copy = SqliteBackend(str(temporary))
        try:
            if isinstance(source, SqliteBackend):
                source.copy_to(str(temporary), lambda share: show(0.3 * share, "copying"))
                for each in copy.list_experiments():
                    log = copy.log(each.name)
                    assert log is not None
                    start_session(log, each.events)
            else:
                copy_all(source, copy, lambda share: show(0.3 * share, "copying"))
            found = _as_of_source(copy, fsck(copy, None, lambda share, doing: show(0.3 + 0.7 * share, doing)))
        finally:
            copy.close()
        if found.all_faults:
            raise StoreError(f"the copy is damaged and was deleted: {found.all_faults[0]}")
        if os.path.lexists(target):
            raise InputError(
                f"{str(target)!r} was created during the backup, and a backup never overwrites a file"
            )
        os.rename(temporary, target)
        return found
    finally:
        for left in ("", "-wal", "-shm"):
            temporary.with_name(temporary.name + left).unlink(missing_ok=True)
