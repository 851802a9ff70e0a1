"""Server-sent events: streams that end when their API key is revoked, with regular keep-alive lines."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from fastapi.responses import StreamingResponse

from tideproof.errors import UnknownName
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.service import Service
from tideproof.serve.stream_notifier import Notifier

BEAT = 15.0  # seconds without a message after which a keep-alive line is sent


def format_message(number: Any, kind: str, said: Any) -> str:
    """Return one server-sent event as text."""
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(said)}\n\n"


def streaming_response(messages: AsyncIterator[str]) -> StreamingResponse:
    """Return messages as a streaming response that proxies do not buffer."""
    return StreamingResponse(messages, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def stream_messages(
    service: Service,
    key: Key,
    notifier: Notifier,
    read_messages: Callable[[], Awaitable[Sequence[str]]],
    wait: Callable[[], Awaitable[Any]],
) -> AsyncIterator[str]:
    """Yield server-sent events until the API key is revoked or the experiment is deleted.

    `read_messages` returns the messages that are available; `wait` is called when there are none. `notifier`
    counts the open streams.
    """
    with notifier.count_stream():
        yield ": connected\n\n"
        beat = time.monotonic()
        while not service.stopping:
            if not service.keys.is_fresh:
                await service.call(service.keys.refresh)
            if not service.keys.is_valid(key.id):
                return
            try:
                found = await read_messages()
            except UnknownName:  # the experiment was deleted
                return
            for each in found:
                yield each
            if found:
                beat = time.monotonic()
                continue
            if time.monotonic() - beat > BEAT:
                beat = time.monotonic()
                yield ": keep-alive\n\n"
            await wait()
