"""Server-sent events: a stream that lives as long as its key, and says from time to time that it does."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from fastapi.responses import StreamingResponse

from tideproof.serve.auth.api_keys import Key
from tideproof.serve.notifier import Feed
from tideproof.serve.service import Service

BEAT = 15.0  # seconds after which a stream says that it is still there


def message(number: Any, kind: str, said: Any) -> str:
    """Return one event of a stream."""
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(said)}\n\n"


def streamed(messages: AsyncIterator[str]) -> StreamingResponse:
    """Return them as an answer that nothing on its way should hold back."""
    return StreamingResponse(messages, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def following(
    service: Service,
    key: Key,
    room: Feed,
    more: Callable[[], Awaitable[Sequence[str]]],
    rest: Callable[[], Awaitable[Any]],
) -> AsyncIterator[str]:
    """Yield what `more` has as long as there is any, then `rest`, and so on while the key is valid."""
    with room.following():
        yield ": here\n\n"
        beat = time.monotonic()
        while not service.stopping:
            if not service.keys.fresh:
                await service.call(service.keys.read)
            if not service.keys.is_valid(key.id):
                return
            found = await more()
            for each in found:
                yield each
            if found:
                beat = time.monotonic()
                continue
            if time.monotonic() - beat > BEAT:
                beat = time.monotonic()
                yield ": still here\n\n"
            await rest()
