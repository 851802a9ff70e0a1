"""Reader for experiment files of format 2, which stored kernel buffers instead of all events.

Such an experiment becomes two events: its creation, and all of its saved contents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.errors import InputError
from tideproof.experiment.events import event_records
from tideproof.experiment.pull import CANCELLED, PENDING, SUMMARISED, TOLD, Label, Pull, checked_label
from tideproof.experiment.state.pulls_book import Summary

if TYPE_CHECKING:
    from tideproof.experiment.events.event_application import EventApplier

FORMAT = 2


def convert_to_events(saved: dict[str, Any], name: str) -> list[event_records.Event]:
    """Return the two events that represent a document of format 2."""
    try:
        created = [
            "Created", 0.0, None, saved["arms"], saved["budget"], saved["policy"], saved["seed"],
            saved["direction"], {}, "",
        ]  # fmt: skip
        return [event_records.record_to_event(created), event_records.Carried(0.0, None, saved)]
    except KeyError as error:
        raise InputError(f"{name} is damaged: it lacks {error}") from None
    except TypeError:
        raise InputError(f"{name} is not a saved tideproof experiment") from None


def restore_state(state: EventApplier, saved: dict[str, Any]) -> None:
    """Restore a new experiment from the contents of a document of format 2."""
    try:
        _restore_book(state, saved)
        _restore_policy_state(state, saved)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the saved experiment is damaged: {error}") from None


def _restore_book(state: EventApplier, saved: dict[str, Any]) -> None:
    book = state.book
    for number, (arm, label, status, reward) in enumerate(saved["pulls"]):
        if status not in (PENDING, TOLD, SUMMARISED, CANCELLED):
            raise InputError(f"the saved experiment is damaged: a pull cannot be {status!r}")
        pull = Pull(str(number), book.arms[arm], checked_label(label))
        book.pulls.append(pull)
        book.status.append(status)
        book.rewards.append(None if reward is None else float(reward))
        book.asked_at.append(0.0)
        book.number[pull.id] = number
        if status == PENDING:
            book.pending[number] = None
    book.lost = book.status.count(CANCELLED)
    for pull, status in zip(book.pulls, book.status, strict=True):
        book.asked[book.arms.index(pull.arm)] += status != CANCELLED
    book.settled = book.status.count(TOLD) + book.status.count(SUMMARISED)
    book.current = saved["current"]
    for key, *told in saved["summaries"]:
        book.keyed[key] = len(book.summaries)
        book.summaries.append((key, Summary(*told), 0.0))
    book.surplus = sum(s.n for _, s, _ in book.summaries) - book.status.count(SUMMARISED)


def _restore_policy_state(state: EventApplier, saved: dict[str, Any]) -> None:
    """Restore the cells of the environments, and the kernel buffers if their layout is unchanged."""
    policy_state, book = state.policy_state, state.book
    environments, K = policy_state.environments, len(book.arms)
    for entry in saved["environments"]:
        row = environments.row(_label(entry["label"]))
        cells, count = environments.rows, 3 * K
        buffer = np.array(entry["cells"]["floats"], float)
        cells.n[row], cells.mean[row], cells.squares[row] = buffer[:count].reshape(3, K)
        if cells.n[row].any():
            environments.with_rewards.append(row)
    for number in book.pending:
        pull = book.pulls[number]
        environments.rows.pending[environments.row(pull.environment), book.arms.index(pull.arm)] += 1
    policy_state.rebuild()
    buffers = saved["state"]["floats"], saved["state"]["ints"]
    if [len(b) for b in buffers] == [len(policy_state.memory.floats), len(policy_state.memory.ints)]:
        policy_state.memory.floats[:], policy_state.memory.ints[:] = buffers
        for entry in saved["environments"]:
            slot = environments.slot(environments.row(_label(entry["label"]))).memory
            slot.floats[:], slot.ints[:] = entry["slot"]["floats"], entry["slot"]["ints"]
    policy_state.batches = int(saved["batches"])
    state._update_horizon()


def _label(label: Any) -> Label:
    return checked_label(label)
