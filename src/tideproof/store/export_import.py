"""Copy experiments between stores, with all their data, or to and from JSON files.

A copy continues with a new session identifier, which is part of the ids of its pulls. The original may still
issue pulls, too, and the ids of both must differ.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Sequence

from tideproof._version import __version__
from tideproof.errors import InputError, describe_value
from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import new_session
from tideproof.experiment.snapshots import experiment_file
from tideproof.experiment.snapshots.snapshot import copy_policy_state, pack_snapshot
from tideproof.files import check_writable
from tideproof.store import hash_chain, log_replay
from tideproof.store.backend import Backend, ExperimentContents, ExperimentLog, LogEntry, Writer
from tideproof.store.log_replay import Position
from tideproof.store.read_only_view import find_log, read_all
from tideproof.store.shared_log import summary_text
from tideproof.store.store_urls import open_backend


def export(url: str, name: str, path: str | os.PathLike[str]) -> int:
    """Write an experiment of a store to a JSON file, and return how many events it has."""
    check_writable(path)
    backend = open_backend(url, read_only=True)
    try:
        state = log_replay.load_state(find_log(backend, name)).state
        events = e.without_forgotten(state.events)
        if not os.path.lexists(path):  # it contains the key of the unit IDs
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        experiment_file.write(events, pack_snapshot(state.spec, copy_policy_state(state)), path)
        return len(events)
    finally:
        backend.close()


def import_file(path: str | os.PathLike[str], url: str, name: str) -> int:
    """Create an experiment in a store from a JSON file, and return how many events it has."""
    if not name:
        raise InputError(f"the name of an experiment must be a non-empty string, not {describe_value(name)}")
    events, snapshot = experiment_file.read(path)
    state = experiment_file.rebuild_state(events, None, snapshot)
    state.events.append(_opened())
    state.fold()
    # no code fingerprint, because other code may have written the file
    writer = Writer(secrets.token_bytes(8), "", __version__)
    entries = _entries(state.events[:], len(state.book.pulls), writer.writer)
    backend = open_backend(url)
    try:
        backend.import_experiment(name, ExperimentContents(summary_text(state), entries, [], [writer]))
        copy = log_replay.copy_state(state, Position(entries[-1].seq, entries[-1].hash))
        if copy is not None and log_replay.is_snapshot_due(len(entries), 0):
            find_log(backend, name).write_snapshot(log_replay.pack_snapshot(copy))
        return len(entries)
    finally:
        backend.close()


def _entries(events: Sequence[e.Event], pulls: int, writer: bytes) -> list[LogEntry]:
    """Return the events of an experiment as entries of a log with a hash chain.

    `pulls` is the total number of pulls.
    """
    asked = [e.count_pulls(event) for event in events]
    count, previous_hash, entries = pulls - sum(asked), hash_chain.INITIAL_HASH, []
    for seq, (event, more) in enumerate(zip(events, asked, strict=True), 1):
        count += more
        entries.append(hash_chain.make_entry(event, seq, count, writer, previous_hash))
        previous_hash = entries[-1].hash
    return entries


def _opened() -> e.Opened:
    """Return an event after which new pull IDs begin with a new random prefix.

    The event begins a new session, whose ID is the prefix.
    """
    return e.Opened(time.time(), None, new_session())


def copy_all(source: Backend, target: Backend, show: Callable[[float], None]) -> list[str]:
    """Copy all experiments of one store to another and return their names.

    If the target already contains an experiment with one of the names, nothing is copied and `InputError` is
    raised.
    """
    names = [each.name for each in source.list_experiments()]
    taken = {each.name for each in target.list_experiments()}
    for name in names:
        if name in taken:
            raise InputError(f"the target already contains an experiment named {name!r}: nothing was copied")
    for done, name in enumerate(names):
        show(done / len(names))
        whole = _whole(source, name)
        target.import_experiment(name, whole)
        log = find_log(source, name)
        for mark in log.read_marks():
            snapshot = log.read_snapshot(mark, len(whole.entries) - 1)
            if snapshot is not None:  # it covers events that original and copy have in common
                find_log(target, name).write_snapshot(snapshot)
    return names


def _whole(backend: Backend, name: str) -> ExperimentContents:
    """Return all stored data of an experiment, for a copy.

    A last log entry is added, after which pull IDs begin with a new prefix.
    """
    log = find_log(backend, name)
    answers = log.read_answers()  # read before the events, so that each answer's event is among them
    summary, entries = read_all(backend, name)
    hash_chain.check_chain(entries, 0, hash_chain.INITIAL_HASH)
    last, writer = _end(entries[-1])
    return ExperimentContents(summary, [*entries, last], answers, [*log.read_writers(), writer])


def start_session(log: ExperimentLog, events: int) -> None:
    """Give the copy of an experiment its own prefix of pull IDs, by an entry in its event log.

    New pulls of copy and original then have different ids.

    `events` is the number of entries of the log. No other process may have the copy open.
    """
    log.begin(lambda: None)
    try:
        last, writer = _end(log.read(events - 1)[-1])
        log.add_writer(writer)
        log.append([last], [], None)
        log.commit()
    finally:
        log.roll_back()


def _end(last: LogEntry) -> tuple[LogEntry, Writer]:
    """Return a log entry after which new pull IDs begin with a new random prefix.

    It follows the entry `last`. Its writer is returned, too.
    """
    writer = Writer(secrets.token_bytes(8), "", __version__)
    return hash_chain.make_entry(_opened(), last.seq + 1, last.pulls, writer.writer, last.hash), writer
