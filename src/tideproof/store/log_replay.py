"""Compute the state of an experiment from its event log, starting at a snapshot where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tideproof.errors import StoreError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_log import EventLog
from tideproof.experiment.snapshots.experiment_file import policy_from_description, rebuild_state
from tideproof.experiment.snapshots.snapshot import (
    code_fingerprint,
    copy_whole_state,
    resume,
    serialize_state,
)
from tideproof.experiment.state.experiment_state import State
from tideproof.garbage_collection import pause_garbage_collection
from tideproof.policies.policy_registry import Chosen
from tideproof.store import hash_chain
from tideproof.store.backend import ExperimentLog, LogEntry, Snapshot

MIN_EVENTS_BETWEEN_SNAPSHOTS = 2000  # replaying them takes a tenth of a second
SNAPSHOT_DIVISOR = 64  # a long log gets a snapshot when it has grown by one part in 64


class Position(NamedTuple):
    """Position in an event log: the number and the hash of the last event that was read."""

    seq: int
    hash: bytes


class LogState(NamedTuple):
    """State of an experiment, as computed from its event log.

    `position` is that of the last event that the state includes, and `snapshot` the number of events that the
    snapshot covers.

    The state was computed from this snapshot and the events after it; without a snapshot the number is 0.
    """

    state: State
    position: Position
    snapshot: int


def read_created_event(log: ExperimentLog) -> e.Created:
    """Return the first event of a log, which created the experiment."""
    (first,) = hash_chain.decode_events(_read(log, Position(0, hash_chain.INITIAL_HASH), 1))
    assert isinstance(first, e.Created)
    return first


def load_state(log: ExperimentLog, policy: Chosen | None = None, snapshots: bool = True) -> LogState:
    """Compute the current state of an experiment from its event log.

    `snapshots=False` replays all events instead of starting from a snapshot.
    """
    with pause_garbage_collection():
        return _load_state(log, policy, snapshots)


def _load_state(log: ExperimentLog, policy: Chosen | None, snapshots: bool) -> LogState:
    """Compute the current state of an experiment while the garbage collector is disabled."""
    spec = policy_from_description(read_created_event(log).policy, policy)
    mark = code_fingerprint(spec)
    found = log.read_snapshot(mark) if mark and snapshots else None
    if found is not None:
        state = State(read_created_event(log), spec)
        earlier_events = EventLog(
            [],
            found.seq,
            lambda: hash_chain.decode_events(_read(log, Position(0, hash_chain.INITIAL_HASH), found.seq)),
        )
        if resume(state, earlier_events, found.contents):
            state.book.salt = log.read_salt(found.seq)
            position = catch_up(log, state, Position(found.seq, found.hash))
            return LogState(state, position, found.seq)
    entries = _read(log, Position(0, hash_chain.INITIAL_HASH))
    state = rebuild_state(hash_chain.decode_events(entries), policy)
    return LogState(state, Position(entries[-1].seq, entries[-1].hash), 0)


def catch_up(
    log: ExperimentLog, state: State, position: Position, between: Callable[[], None] = lambda: None
) -> Position:
    """Update the state of an experiment with the events that were logged after a position.

    Return the new position.

    `between` is called after each event.
    """
    new = _read(log, position)
    if not new:
        return position
    events = hash_chain.decode_events(new)
    state.append_events(events, between)
    if any(isinstance(event, (e.Salted, e.UnitForgotten)) for event in events):
        state.events[:] = e.without_forgotten(state.events)
    return Position(new[-1].seq, new[-1].hash)


def _read(log: ExperimentLog, after: Position, upto: int | None = None) -> list[LogEntry]:
    """Read the event-log entries after a position, and check their hash chain."""
    found = log.read(after.seq, upto)
    hash_chain.check_chain(found, *after)
    if upto is not None and len(found) != upto - after.seq:
        raise StoreError(
            f"the store is damaged: events are missing after event {after.seq + len(found)} of {upto}"
        )
    return found


def is_snapshot_due(events: int, snapshot: int) -> bool:
    """Return whether enough events were logged since the last snapshot to write a new one.

    The log has `events` events, and the last snapshot covers the first `snapshot` of them.
    """
    return events - snapshot >= max(MIN_EVENTS_BETWEEN_SNAPSHOTS, events // SNAPSHOT_DIVISOR)


def copy_state(state: State, position: Position) -> tuple[str, Position, object] | None:
    """Return a copy of an experiment's state for a snapshot, or None if its policy allows no snapshots."""
    mark = code_fingerprint(state.spec)
    contents = copy_whole_state(state) if mark else None
    return None if mark is None or contents is None else (mark, position, contents)


def pack_snapshot(copy: tuple[str, Position, object]) -> Snapshot:
    """Serialize a copy of an experiment's state as a snapshot that a store can save."""
    mark, position, contents = copy
    return Snapshot(position.seq, mark, position.hash, serialize_state(contents))
