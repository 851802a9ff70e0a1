"""Idempotency keys: store a command with its answer, so that a repeated command returns the same answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from tideproof.errors import InputError, describe_value
from tideproof.experiment.pull import Pull
from tideproof.experiment.recommendation import Recommendation
from tideproof.experiment.unit_assignments import hash_outcome_key
from tideproof.store.backend import StoredAnswer

if TYPE_CHECKING:
    from tideproof.experiment.experiment import Experiment


# Arguments that identify people, by method
_PERSONAL = {"ask": ("unit",), "tell": ("key",), "tell_many": ("keys",), "forget_unit": ("unit",)}


class UsedKey(InputError):
    """Error: the idempotency key was already used for a different command."""


def encode_command(run: Experiment, key: Any, method: Callable[..., Any], args: Any, kwargs: Any) -> str:
    """Encode a method call of an experiment as JSON; raise `InputError` if there is no such method."""
    if not isinstance(key, str) or not key:
        raise InputError(f"an idempotency key must be a non-empty string, not {describe_value(key)}")
    if getattr(method, "__self__", None) is not run:
        raise InputError(
            f"once() needs a method of this experiment, such as run.ask, not {describe_value(method)}"
        )
    hidden = {name for name in _PERSONAL.get(method.__name__, ()) if kwargs.get(name) is not None}
    if hidden:
        salt = run.internals.state.book.salt
        kwargs = kwargs | {name: _hide(kwargs[name], salt) for name in hidden}
    name = method.__name__
    if name == "forget_unit":  # which would otherwise be stored with the answer
        args = [_hide(each, run.internals.state.book.salt) for each in args]
    return json.dumps([name, args, kwargs], sort_keys=True, default=_plain)


def _hide(value: Any, salt: str) -> Any:
    """Replace identifiers by keyed hashes, so that the store does not contain them."""
    if isinstance(value, (list, tuple)):
        return [_hide(each, salt) for each in value]
    return None if value is None else hash_outcome_key(str(value), salt)


def _plain(value: Any) -> Any:
    """Return an argument of a command as a value that JSON can represent."""
    if isinstance(value, Pull):
        return value.id
    return value.item() if hasattr(value, "item") else repr(value)


def encode_answer(run: Experiment, key: str, command: str, result: Any) -> StoredAnswer:
    """Convert the result of a command to the form in which it is stored.

    Each pull becomes its number.
    """
    if isinstance(result, Recommendation) and json.loads(command)[0] == "look":
        result = None  # a repeated look returns the recommendation of that time
    book = run.internals.state.book
    pulls = result if isinstance(result, list) else [result]
    if result is not None and not all(isinstance(pull, Pull) for pull in pulls):
        raise InputError(
            f"once() needs a method that changes the experiment, such as ask or tell, "
            f"not {json.loads(command)[0]}"
        )
    numbers = None if result is None else [book.number[pull.id] for pull in pulls]
    text = json.dumps(numbers if isinstance(result, list) or numbers is None else numbers[0])
    return StoredAnswer(key, len(run.internals.state.events), command, text)


def decode_answer(run: Experiment, stored: StoredAnswer, command: str) -> Any:
    """Return the stored result of a command that is repeated with the same idempotency key.

    Raise `UsedKey` if the command is a different one.
    """
    check_same_command(stored, command)
    result, pulls = json.loads(stored.answer), run.internals.state.book.pulls
    if json.loads(command)[0] == "look":
        return run.recommend()
    if result is None:
        return None
    return [pulls[number] for number in result] if isinstance(result, list) else pulls[result]


def check_same_command(stored: StoredAnswer, command: str) -> None:
    """Raise `UsedKey` if the idempotency key of a stored answer is repeated with another command."""
    if stored.command != command:
        raise UsedKey(
            f"the idempotency key {stored.key!r} was already used for another call, "
            f"{_describe_command(stored.command)}, not for {_describe_command(command)}: use a new key for "
            f"each new call"
        )


def creation_answer(key: str, options: Mapping[str, Any]) -> StoredAnswer:
    """Return the answer that is stored with a new experiment if it was created with an idempotency key."""
    return StoredAnswer(key, 1, json.dumps(["create", [], options], sort_keys=True, default=_plain), "null")


def _describe_command(command: str) -> str:
    """Return an encoded method call in the form of Python, with long arguments shortened.

    >>> _describe_command('["ask", [], {"environment": "monday"}]')
    'ask(environment="monday")'
    """
    name, args, kwargs = json.loads(command)
    arguments = [*map(json.dumps, args), *(f"{key}={json.dumps(value)}" for key, value in kwargs.items())]
    return f"{name}({shorten(', '.join(arguments), 80, placeholder=' ...')})"
