"""Checks of told rewards: which are new, which repeat known ones, and which are not allowed."""

from __future__ import annotations

from collections.abc import Sequence

from tideproof.errors import ConflictingReward, InputError
from tideproof.experiment.events import event_records as e
from tideproof.experiment.pull import PullStatus
from tideproof.experiment.state.pulls_book import Book

NewReward = tuple[int, float, str | None]  # number of the pull, reward and key


def new_rewards(
    book: Book, numbers: Sequence[int], rewards: Sequence[float], keys: Sequence[str | None]
) -> list[NewReward]:
    """Return the rewards that were not recorded before, or raise an error if one is not allowed."""
    if len(numbers) != len(rewards):
        raise InputError(f"{len(numbers)} pulls but {len(rewards)} rewards")
    if len(numbers) != len(keys):
        raise InputError(f"{len(numbers)} pulls but {len(keys)} keys")
    told: dict[tuple[int, str | None], float] = {}
    new: list[NewReward] = []
    for number, reward, key in zip(numbers, rewards, keys, strict=True):
        name, status = book.pulls[number].id, book.status[number]
        if status in (PullStatus.SUMMARISED, PullStatus.CANCELLED):
            raise InputError(f"pull {name} is {status}; a reward for it is no longer accepted")
        if number in book.reserved:
            raise InputError(
                f"pull {name} is reserved: call expose(pull) first, which records that its unit saw it"
            )
        of_unit = number in book.of_units
        if key is not None and not of_unit:
            raise InputError(
                f"pull {name} belongs to no unit: key={key!r} is for rewards that are added up; omit "
                f"it, because other rewards may be repeated"
            )
        if of_unit and key is None:
            new.append((number, reward, None))
            continue
        if status == PullStatus.LATE and key is None:
            continue
        before = _recorded_reward(book, number) if key is None else book.added.get((number, key))
        known = told.get((number, key), before)
        if known is not None and known != reward:
            which = f"pull {name}" if key is None else f"{key!r} of pull {name}"
            raise ConflictingReward(
                f"{which} has the reward {known!r}, not {reward!r}: correct(pull, reward) replaces it"
            )
        if known is None:
            told[number, key] = reward
            new.append((number, reward, key))
    return new


def _recorded_reward(book: Book, number: int) -> float | None:
    """Return the recorded reward of a pull, or None for a default, which a late reward replaces."""
    return None if book.status[number] == PullStatus.DEFAULTED else book.rewards[number]


def reward_event(book: Book, new: Sequence[NewReward], at: float, by: str | None) -> e.Told | e.Added:
    """Return the event that records new rewards."""
    pulls, rewards, keys = zip(*new, strict=True)
    if book.of_units.isdisjoint(pulls):
        return e.Told(at, by, pulls, rewards)
    return e.Added(at, by, pulls, rewards, keys)
