"""Whether the arms in a log are those that this code would have asked for."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import NamedTuple

from tideproof.experiment.events import event_records as e
from tideproof.experiment.snapshots.experiment_file import chosen
from tideproof.experiment.snapshots.snapshot import mark_of
from tideproof.experiment.state.experiment_state import State
from tideproof.policies.policy_registry import Chosen
from tideproof.store import hash_chain as kept
from tideproof.store.backend import Entry, ExperimentLog


class Recomputed(NamedTuple):
    """What came of it.

    Attributes
    ----------
    asked : asks that were computed again.
    trusted : those of other code, or of a unit, whose arm follows from a salt that may be gone.
    other : number of the first event whose arms are others, None if there is none.
    state : of all events.
    """

    asked: int
    trusted: int
    other: int | None
    state: State


def recompute(
    log: ExperimentLog,
    policy: Chosen | None = None,
    found: list[Entry] | None = None,
    each: Callable[[int, State], None] | None = None,
) -> Recomputed:
    """Fold all events, and ask the policy again wherever code with the same mark asked it.

    `found` are all entries, if they were read; `each` is told the number of every event that was folded, and
    the state then.
    """
    found = log.read(0) if found is None else found
    kept.check(found, 0, kept.START)
    happened = kept.events(found)
    created = happened[0]
    assert isinstance(created, e.Created)
    state = State(created, chosen(created.policy, policy))
    mark = mark_of(state.spec)
    same = {each.writer for each in log.writers() if mark and each.mark == mark}
    return _recompute(state, found, happened, same, each or (lambda seq, state: None))


def _recompute(
    state: State,
    found: list[Entry],
    happened: list[e.Event],
    same: Container[bytes],
    each: Callable[[int, State], None],
) -> Recomputed:
    asked = trusted = 0
    other: int | None = None
    each(1, state)
    for entry, event in zip(found[1:], happened[1:], strict=True):
        if isinstance(event, e.Asked):
            if event.unit is None and entry.writer in same:
                asked += 1
                made = state.ask(event.label, len(event.arms), event.at, event.by, None)
                if made == event:
                    each(entry.seq, state)
                    continue
                other = entry.seq if other is None else other
                if made is not None and not state.take_back():
                    raise AssertionError("an ask can be taken back")
            else:
                trusted += 1
        state.events.append(event)
        state.fold()
        each(entry.seq, state)
    return Recomputed(asked, trusted, other, state)
