"""A command of an experiment as a route gives it: in a thread, once for each idempotency key, by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Header

from tideproof.experiment.experiment import Experiment
from tideproof.serve.auth.api_keys import Key

if TYPE_CHECKING:
    from tideproof.serve.service import Service

Once = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="Of your own choice: a repeat with the same key does nothing, and has the same answer.",
    ),
]


def signed(key: Key, by: str | None) -> str:
    """Return who does something, as the events say it: the id and the name of the key, and what they say.

    >>> signed(Key("k1", "shop", "reporter", None, 0.0), "ann")
    'k1 shop: ann'
    """
    return f"{key.id} {key.name}" + (f": {by}" if by else "")


async def command(
    service: Service, key: Key, name: str, once: str | None, method: str, /, *args: Any, **kwargs: Any
) -> Any:
    """Return what a method of an experiment returns, once what it did is kept; wake who follows it."""

    def work() -> Any:
        run = service.experiments.get(name)
        return do(run, key, once, method, *args, **kwargs)

    found = await service.call(work)
    service.feed.news(name)
    return found


def do(run: Experiment, key: Key, once: str | None, method: str, /, *args: Any, **kwargs: Any) -> Any:
    """Return what a method of an experiment returns; blocking."""
    vars(run._here).pop("label", None)  # where another caller was, whom this thread served
    called = getattr(run, method)
    if once is None:
        return called(*args, **kwargs)
    return run.once(f"{key.id}:{once}", called, *args, **kwargs)
