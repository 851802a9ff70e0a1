"""The state of a log: by a snapshot and the events behind it, or by all events."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tideproof.errors import StoreError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.events.event_log import Happened
from tideproof.experiment.snapshots.experiment_file import chosen, refold
from tideproof.experiment.snapshots.snapshot import copied_whole, mark_of, packed_whole, resume
from tideproof.experiment.state.experiment_state import State
from tideproof.policies.policy_registry import Chosen
from tideproof.store import hash_chain as kept
from tideproof.store.backend import Entry, ExperimentLog, Snapshot

FEWEST = 2000  # events between two snapshots: folding them takes a tenth of a second
SHARE = 64  # of a long log, one in so many


class Position(NamedTuple):
    """Up to which event a log was read, and the hash of that one."""

    seq: int
    hash: bytes


class LogState(NamedTuple):
    """A state, where it stands in the log, and how many events its snapshot had."""

    state: State
    position: Position
    snapshot: int


def created_of(log: ExperimentLog) -> e.Created:
    """Return what an experiment began with."""
    (first,) = kept.events(_read(log, Position(0, kept.START), 1))
    assert isinstance(first, e.Created)
    return first


def load(log: ExperimentLog, policy: Chosen | None = None, snapshots: bool = True) -> LogState:
    """Return the state of everything in the log."""
    spec = chosen(created_of(log).policy, policy)
    mark = mark_of(spec)
    found = log.snapshot(mark) if mark and snapshots else None
    if found is not None:
        state = State(created_of(log), spec)
        past = Happened([], found.seq, lambda: kept.events(_read(log, Position(0, kept.START), found.seq)))
        if resume(state, past, found.contents):
            state.book.salt = log.salt(found.seq)
            position = catch_up(log, state, Position(found.seq, found.hash))
            return LogState(state, position, found.seq)
    all_of_it = _read(log, Position(0, kept.START))
    state = refold(kept.events(all_of_it), policy)
    return LogState(state, Position(all_of_it[-1].seq, all_of_it[-1].hash), 0)


def catch_up(
    log: ExperimentLog, state: State, position: Position, between: Callable[[], None] = lambda: None
) -> Position:
    """Take in what others did since, and return where that ends; `between` is called after each event."""
    new = _read(log, position)
    if not new:
        return position
    happened = kept.events(new)
    state.follow(happened, between)
    if any(isinstance(event, e.Salted) for event in happened):
        state.events[:] = e.without_old_salts(state.events)
    return Position(new[-1].seq, new[-1].hash)


def _read(log: ExperimentLog, after: Position, upto: int | None = None) -> list[Entry]:
    found = log.read(after.seq, upto)
    kept.check(found, *after)
    if upto is not None and len(found) != upto - after.seq:
        raise StoreError("the store is damaged: it has lost events")
    return found


def is_due(events: int, snapshot: int) -> bool:
    """Tell whether a log of that length wants another snapshot than one of its first events."""
    return events - snapshot >= max(FEWEST, events // SHARE)


def snapshot_of(state: State, position: Position) -> tuple[str, Position, object] | None:
    """Return a copy of a state that `packed` makes a snapshot of; None if there can be none."""
    mark = mark_of(state.spec)
    contents = copied_whole(state) if mark else None
    return None if mark is None or contents is None else (mark, position, contents)


def packed(copy: tuple[str, Position, object]) -> Snapshot:
    """Return such a copy as it is kept."""
    mark, position, contents = copy
    return Snapshot(position.seq, mark, position.hash, packed_whole(contents))
