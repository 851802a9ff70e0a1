"""Run a method of an experiment for an HTTP route: in a worker thread, once per idempotency key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Header

from tideproof.experiment.experiment import Experiment
from tideproof.serve.auth.api_keys import Key

if TYPE_CHECKING:
    from tideproof.serve.service import Service

IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="A unique string of your choice. Repeating a request with the same key changes nothing "
        "and returns the same response.",
    ),
]


def author_of(key: Key, by: str | None) -> str:
    """Return the author of an event: id and name of the API key, and the name of a person.

    It is the name that the person gave at login or, without a login, the `by` field of the request.

    >>> author_of(Key("k1", "shop", "reporter", None, 0.0), "ann")
    'k1 shop: ann'
    """
    person = key.person or by
    return f"{key.id} {key.name}" + (f": {person}" if person else "")


async def run_command(
    service: Service, key: Key, name: str, once: str | None, method: str, /, *args: Any, **kwargs: Any
) -> Any:
    """Call a method of an experiment in a worker thread, and wake the streams that wait for its events."""

    def work() -> Any:
        run = service.experiments.get(name)
        return run_method(run, key, once, method, *args, **kwargs)

    found = await service.call(work)
    service.notifier.notify(name)
    return found


def run_method(run: Experiment, key: Key, once: str | None, method: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call a method of an experiment, at most once per idempotency key; a blocking call."""
    # The thread may have served another caller before, whose environment must not become the default here.
    run.internals.forget_environment()
    called = getattr(run, method)
    if once is None:
        return called(*args, **kwargs)
    return run.once(f"{key.id}:{once}", called, *args, **kwargs)
