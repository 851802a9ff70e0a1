"""Files of format 2, which kept the buffers of the kernels and not the order of what was told.

Such an experiment becomes two events: that it was created, and all that it carried over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tideproof.errors import InputError
from tideproof.experiment.events import event_records
from tideproof.experiment.pull import CANCELLED, OUT, SUMMARISED, TOLD, Label, Pull, checked_label
from tideproof.experiment.state.pulls_book import Summary

if TYPE_CHECKING:
    from tideproof.experiment.events.event_application import Effects

FORMAT = 2


def as_events(saved: dict[str, Any], name: str) -> list[event_records.Event]:
    """Return the events of such a document."""
    try:
        created = [
            "Created", 0.0, None, saved["arms"], saved["budget"], saved["policy"], saved["seed"],
            saved["direction"], {}, "",
        ]  # fmt: skip
        return [event_records.read(created), event_records.Carried(0.0, None, saved)]
    except KeyError as error:
        raise InputError(f"{name} is damaged: it lacks {error}") from None
    except TypeError:
        raise InputError(f"{name} is not a saved tideproof experiment") from None


def refill(state: Effects, saved: dict[str, Any]) -> None:
    """Bring a new experiment to where the saved one was."""
    try:
        _refill_book(state, saved)
        _refill_numbers(state, saved)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the saved experiment is damaged: {error}") from None


def _refill_book(state: Effects, saved: dict[str, Any]) -> None:
    book = state.book
    for number, (arm, label, status, reward) in enumerate(saved["pulls"]):
        if status not in (OUT, TOLD, SUMMARISED, CANCELLED):
            raise InputError(f"the saved experiment is damaged: a pull cannot be {status!r}")
        pull = Pull(str(number), book.arms[arm], checked_label(label))
        book.pulls.append(pull)
        book.status.append(status)
        book.rewards.append(None if reward is None else float(reward))
        book.asked_at.append(0.0)
        book.number[pull.id] = number
        if status == OUT:
            book.out[number] = None
    book.lost = book.status.count(CANCELLED)
    for pull, status in zip(book.pulls, book.status, strict=True):
        book.asked[book.arms.index(pull.arm)] += status != CANCELLED
    book.settled = book.status.count(TOLD) + book.status.count(SUMMARISED)
    book.current = saved["current"]
    for key, *told in saved["summaries"]:
        book.keyed[key] = len(book.summaries)
        book.summaries.append((key, Summary(*told), 0.0))
    book.surplus = sum(s.n for _, s, _ in book.summaries) - book.status.count(SUMMARISED)


def _refill_numbers(state: Effects, saved: dict[str, Any]) -> None:
    """Take the cells over, and the buffers where their layout is the same."""
    numbers, book = state.numbers, state.book
    places, K = numbers.places, len(book.arms)
    for entry in saved["environments"]:
        row = places.row(_label(entry["label"]))
        cells, count = places.rows, 3 * K
        buffer = np.array(entry["cells"]["floats"], float)
        cells.n[row], cells.mean[row], cells.squares[row] = buffer[:count].reshape(3, K)
        if cells.n[row].any():
            places.told.append(row)
    for number in book.out:
        pull = book.pulls[number]
        places.rows.out[places.row(pull.environment), book.arms.index(pull.arm)] += 1
    numbers.rebuild()
    buffers = saved["state"]["floats"], saved["state"]["ints"]
    if [len(b) for b in buffers] == [len(numbers.memory.floats), len(numbers.memory.ints)]:
        numbers.memory.floats[:], numbers.memory.ints[:] = buffers
        for entry in saved["environments"]:
            slot = places.slot(places.row(_label(entry["label"]))).memory
            slot.floats[:], slot.ints[:] = entry["slot"]["floats"], entry["slot"]["ints"]
    numbers.batches = int(saved["batches"])
    state._reckon()


def _label(label: Any) -> Label:
    return checked_label(label)
