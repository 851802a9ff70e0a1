"""What is new in rewards that are told, and whether it is allowed."""

from __future__ import annotations

from collections.abc import Sequence

from tideproof.errors import ConflictingReward, InputError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import CANCELLED, DEFAULTED, LATE, SUMMARISED
from tideproof.experiment.state.pulls_book import Book

New = tuple[int, float, str | None]  # number of the pull, reward and key


def new_rewards(
    book: Book, numbers: Sequence[int], rewards: Sequence[float], keys: Sequence[str | None]
) -> list[New]:
    """Return the rewards that were not told before, or say which one cannot be."""
    if len(numbers) != len(rewards):
        raise InputError(f"{len(numbers)} pulls but {len(rewards)} rewards")
    if len(numbers) != len(keys):
        raise InputError(f"{len(numbers)} pulls but {len(keys)} keys")
    told: dict[tuple[int, str | None], float] = {}
    new: list[New] = []
    for number, reward, key in zip(numbers, rewards, keys, strict=True):
        name, status = book.pulls[number].id, book.status[number]
        if status in (SUMMARISED, CANCELLED):
            raise InputError(f"pull {name} is {status}; it cannot be told any more")
        if number in book.reserved:
            raise InputError(
                f"pull {name} is reserved: expose(pull) says that its unit saw it, and lets it count"
            )
        of_unit = number in book.of_units
        if key is not None and not of_unit:
            raise InputError(
                f"pull {name} is of no unit: key={key!r} is for rewards that are added up; others may be "
                f"repeated without"
            )
        if of_unit and key is None:
            new.append((number, reward, None))
            continue
        if status == LATE and key is None:
            continue
        before = _told(book, number) if key is None else book.added.get((number, key))
        known = told.get((number, key), before)
        if known is not None and known != reward:
            which = f"pull {name}" if key is None else f"{key!r} of pull {name}"
            raise ConflictingReward(
                f"{which} was told {known!r} before; now {reward!r}: correct(pull, reward) corrects"
            )
        if known is None:
            told[number, key] = reward
            new.append((number, reward, key))
    return new


def _told(book: Book, number: int) -> float | None:
    """Return the reward of a pull; a default is none, for a late reward replaces it."""
    return None if book.status[number] == DEFAULTED else book.rewards[number]


def as_event(book: Book, new: Sequence[New], at: float, by: str | None) -> e.Told | e.Added:
    """Return the event of new rewards."""
    pulls, rewards, keys = zip(*new, strict=True)
    if book.of_units.isdisjoint(pulls):
        return e.Told(at, by, pulls, rewards)
    return e.Added(at, by, pulls, rewards, keys)
