"""Idempotency keys: what a command was, and what it answered, as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tideproof.errors import InputError, describe_value
from tideproof.experiment.pull import Pull
from tideproof.store.backend import Answer

if TYPE_CHECKING:
    from tideproof.experiment.experiment import Experiment


class UsedKey(InputError):
    """A key that was used for another command."""


def command(run: Experiment, key: Any, method: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """Return a command as text, or say that it is none."""
    if not isinstance(key, str) or not key:
        raise InputError(f"a key must be a string, not {describe_value(key)}")
    if getattr(method, "__self__", None) is not run:
        raise InputError(
            f"once takes a method of this experiment, such as run.ask, not {describe_value(method)}"
        )
    return json.dumps([method.__name__, args, kwargs], sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, Pull):
        return value.id
    return value.item() if hasattr(value, "item") else repr(value)


def answer(run: Experiment, key: str, said: str, found: Any) -> Answer:
    """Return an answer to be kept: nothing, a pull or pulls."""
    book = run._state.book
    pulls = found if isinstance(found, list) else [found]
    if found is not None and not all(isinstance(pull, Pull) for pull in pulls):
        raise InputError(f"once is for what changes an experiment, not for {json.loads(said)[0]}")
    numbers = None if found is None else [book.number[pull.id] for pull in pulls]
    text = json.dumps(numbers if isinstance(found, list) or numbers is None else numbers[0])
    return Answer(key, len(run._state.events), said, text)


def same(run: Experiment, known: Answer, said: str) -> Any:
    """Return what was answered, if it was the same command."""
    if known.command != said:
        raise UsedKey(f"the key {known.key!r} was used for {known.command}, not for {said}")
    found, pulls = json.loads(known.answer), run._state.book.pulls
    if found is None:
        return None
    return [pulls[number] for number in found] if isinstance(found, list) else pulls[found]
