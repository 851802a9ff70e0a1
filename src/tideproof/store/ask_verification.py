"""Check an event log: let the policy choose the arms again, and compare them with the logged arms."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from tideproof.experiment.events import event_records as e
from tideproof.experiment.snapshots.experiment_file import policy_from_description
from tideproof.experiment.snapshots.snapshot import code_fingerprint
from tideproof.experiment.state.experiment_state import State
from tideproof.policies.policy_registry import Chosen
from tideproof.store import hash_chain
from tideproof.store.backend import ExperimentLog, LogEntry


class RecomputedAsks(NamedTuple):
    """Result of comparing the arms in an event log with those that the policy chooses when it runs again.

    Attributes
    ----------
    asked : number of asks whose arms were chosen again.
    trusted : number of asks that were applied without a check: those that other code wrote, and those for a
    unit, whose arm depends on a salt that may have been deleted.
    other : number of the first event whose arms differ from the ones chosen again; None if all agree.
    state : the state after all events.
    """

    asked: int
    trusted: int
    other: int | None
    state: State


def recompute_asks(
    log: ExperimentLog,
    policy: Chosen | None = None,
    entries: list[LogEntry] | None = None,
    each: Callable[[int, State], None] | None = None,
) -> RecomputedAsks:
    """Apply all events of a log, and let the policy choose the arm of every logged pull again.

    Asks that other code wrote are applied without a check, because other code may choose other arms.
    `entries` holds all entries of the log if the caller has already read them. `each` is called after every
    event with the number of the event and the current state.
    """
    entries = log.read(0) if entries is None else entries
    hash_chain.check_chain(entries, 0, hash_chain.INITIAL_HASH)
    events = hash_chain.decode_events(entries)
    created = events[0]
    assert isinstance(created, e.Created)
    state = State(created, policy_from_description(created.policy, policy))
    mark = code_fingerprint(state.spec)
    same = {each.writer for each in log.read_writers() if mark and each.mark == mark}
    return _recompute_asks(state, entries, events, same, each or (lambda seq, state: None))


def _recompute_asks(
    state: State,
    entries: list[LogEntry],
    events: list[e.Event],
    same: Container[bytes],
    each: Callable[[int, State], None],
) -> RecomputedAsks:
    """Replay an event log, and compare its arms with those that the policy chooses now.

    Only arms that the current code version logged are compared.

    `same` holds the identifiers of the writers with this version.
    """
    asked = trusted = 0
    different: int | None = None
    each(1, state)
    for entry, event in zip(entries[1:], events[1:], strict=True):
        if isinstance(event, e.Asked):
            if event.unit is None and entry.writer in same:
                asked += 1
                if different is None and state.choose_arms(event.label, len(event.arms)) != event.arms:
                    different = entry.seq
            else:
                trusted += 1
        elif isinstance(event, e.AskedPairs):
            if entry.writer in same:
                asked += 1
                pairs = list(zip(event.arms, event.environments, strict=True))
                if different is None and state.choose_pairs(len(pairs)) != pairs:
                    different = entry.seq
            else:
                trusted += 1
        state.events.append(event)
        state.fold()
        each(entry.seq, state)
    return RecomputedAsks(asked, trusted, different, state)
