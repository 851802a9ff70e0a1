"""Experiments from place to place: between stores with everything, to and from JSON files.

A copy goes on under a session of its own, for whoever has the original may give out ids, too.
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
from tideproof.experiment.snapshots.snapshot import copied, packed
from tideproof.files import check_writable
from tideproof.store import hash_chain as kept
from tideproof.store import log_state
from tideproof.store.backend import Backend, Entry, ExperimentLog, Whole, Writer
from tideproof.store.log_state import Position
from tideproof.store.read_only_view import known, read_all
from tideproof.store.shared_log import about
from tideproof.store.store_urls import place_of


def export(url: str, name: str, path: str | os.PathLike[str]) -> int:
    """Write the JSON file that `Experiment.save` writes, and return how many events it has."""
    check_writable(path)
    place = place_of(url, read_only=True)
    try:
        state = log_state.load(known(place, name)).state
        happened = e.without_old_salts(state.events)
        experiment_file.write(happened, packed(state.spec, copied(state)), path)
        return len(happened)
    finally:
        place.close()


def take_in(path: str | os.PathLike[str], url: str, name: str) -> int:
    """Begin an experiment in a store that goes on where such a file ends; return its events."""
    if not name:
        raise InputError(f"an experiment's name must be a string, not {describe_value(name)}")
    happened, snapshot = experiment_file.read(path)
    state = experiment_file.refold(happened, None, snapshot)
    state.events.append(_opened())
    state.fold()
    writer = Writer(secrets.token_bytes(8), "", __version__)  # no mark: other code may have asked
    entries = _entries(state.events[:], len(state.book.pulls), writer.writer)
    place = place_of(url)
    try:
        place.put(name, Whole(about(state), entries, [], [writer]))
        copy = log_state.snapshot_of(state, Position(entries[-1].seq, entries[-1].hash))
        if copy is not None and log_state.is_due(len(entries), 0):
            known(place, name).keep(log_state.packed(copy))
        return len(entries)
    finally:
        place.close()


def _entries(happened: Sequence[e.Event], pulls: int, writer: bytes) -> list[Entry]:
    """Return events as they are kept; in the end there were so many pulls."""
    asked = [len(event.arms) if isinstance(event, e.Asked) else 0 for event in happened]
    count, before, found = pulls - sum(asked), kept.START, []
    for seq, (event, more) in enumerate(zip(happened, asked, strict=True), 1):
        count += more
        found.append(kept.entry(event, seq, count, writer, before))
        before = found[-1].hash
    return found


def _opened() -> e.Opened:
    return e.Opened(time.time(), None, new_session())


def copy_all(source: Backend, target: Backend, show: Callable[[float], None]) -> list[str]:
    """Copy every experiment, all of it, and return their names; one that is there already is an error."""
    names = [each.name for each in source.listed()]
    there = {each.name for each in target.listed()}
    for name in names:
        if name in there:
            raise InputError(f"there is an experiment {name!r} already: nothing was copied")
    for done, name in enumerate(names):
        show(done / len(names))
        whole = _whole(source, name)
        target.put(name, whole)
        log = known(source, name)
        for mark in log.marks():
            snapshot = log.snapshot(mark, len(whole.entries) - 1)
            if snapshot is not None:  # it is of the first events, which both have
                known(target, name).keep(snapshot)
    return names


def _whole(place: Backend, name: str) -> Whole:
    """Return all of an experiment, with an end that lets a copy go on."""
    log = known(place, name)
    answers = log.answers()  # before the events that they belong to
    said, entries = read_all(place, name)
    kept.check(entries, 0, kept.START)
    last, writer = _end(entries[-1])
    return Whole(said, [*entries, last], answers, [*log.writers(), writer])


def open_anew(log: ExperimentLog, events: int) -> None:
    """Let a copy with so many events, which nobody else has open, go on with ids of its own."""
    log.begin(lambda: None)
    try:
        last, writer = _end(log.read(events - 1)[-1])
        log.sign(writer)
        log.append([last], [], None)
        log.commit()
    finally:
        log.roll_back()


def _end(last: Entry) -> tuple[Entry, Writer]:
    """Return the entry behind the last one of a copy, and who wrote it."""
    writer = Writer(secrets.token_bytes(8), "", __version__)
    return kept.entry(_opened(), last.seq + 1, last.pulls, writer.writer, last.hash), writer
