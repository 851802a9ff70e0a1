"""What an experiment says: recommendation, shares, its events as a list, a stream or a file."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from tideproof.serve import described
from tideproof.serve import models as m
from tideproof.serve.access import needs
from tideproof.serve.commands import do
from tideproof.serve.export import exported
from tideproof.serve.keys import Key
from tideproof.serve.problems import RESPONSES
from tideproof.serve.rights import Right
from tideproof.serve.service import Service, service_of

router = APIRouter(prefix="/v1/experiments/{name}", tags=["reading"], responses=RESPONSES)

Reader = Annotated[Key, needs(Right.READ)]
After = Annotated[int, Query(ge=0, le=m.WHOLE, description="Number of the last event that is known.")]

BEAT = 15.0  # seconds after which a stream says that it is still there
PAGE = 500  # events that a stream reads at once
CHUNK = 2**16  # characters of a file at once


@router.get("/recommendation", summary="Say which arm would be selected")
async def recommendation(
    name: str, request: Request, key: Reader, prior: Literal["exchangeable", "flat"] = "exchangeable"
) -> m.RecommendationInfo:
    """Say which arm would be selected now, its margin, how sure that is, and what looks wrong."""
    service = service_of(request)
    found = await service.call(
        lambda: described.recommendation(service.experiments.get(name).recommend(prior=prior))
    )
    return m.RecommendationInfo(**found)


@router.get("/shares", summary="Say how the next pulls would be shared")
async def shares(
    name: str,
    request: Request,
    key: Reader,
    environment: Annotated[str | None, Query(min_length=1, max_length=200)] = None,
    number: Annotated[
        int | None, Query(ge=-m.WHOLE, le=m.WHOLE, description="An environment that is a number.")
    ] = None,
    n: Annotated[int | None, Query(ge=1, le=100_000)] = None,
) -> m.Shares:
    """Return the share of each arm in the next pulls, without asking for them."""
    service = service_of(request)
    label = environment if number is None else number
    found = await service.call(
        lambda: do(service.experiments.get(name), key, None, "shares", environment=label, n=n)
    )
    return m.Shares(shares=found)


@router.get("/events", summary="List what happened")
async def events(
    name: str,
    request: Request,
    key: Reader,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> m.EventList:
    """List events behind a number, in order."""
    service = service_of(request)
    found = await service.call(service.experiments.entries, name, after, limit)
    return m.EventList(
        events=[m.EventInfo(**described.event(each)) for each in found],
        next=found[-1].seq if found else after,
    )


@router.get(
    "/stream",
    summary="Follow what happens",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(
    name: str,
    request: Request,
    key: Reader,
    after: After = 0,
    last: Annotated[str | None, Header(alias="Last-Event-ID", max_length=30)] = None,
) -> StreamingResponse:
    """Send events behind a number as they happen (server-sent events); a browser goes on where it was."""
    service = service_of(request)
    await service.call(service.experiments.log, name)
    if last is not None and last.isascii() and last.isdigit():
        after = int(last[:15])
    service.feed.check()
    return StreamingResponse(
        _followed(service, key, name, after),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _followed(service: Service, key: Key, name: str, after: int) -> AsyncIterator[str]:
    with service.feed.following():
        yield ": here\n\n"
        beat = time.monotonic()
        while not service.stopping:
            if not service.keys.fresh:
                await service.call(service.keys.read)
            if not service.keys.is_valid(key.id):
                return
            found = await service.call(service.experiments.entries, name, after, PAGE)
            for entry in found:
                said = described.event(entry)
                yield f"id: {entry.seq}\nevent: {said['kind']}\ndata: {json.dumps(said)}\n\n"
            if found:
                after, beat = found[-1].seq, time.monotonic()
                continue
            if time.monotonic() - beat > BEAT:
                beat = time.monotonic()
                yield ": still here\n\n"
            await service.feed.wait(name)


@router.get(
    "/export",
    summary="Save an experiment as a file",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def export(name: str, request: Request, key: Reader) -> StreamingResponse:
    """Return the file that `tp.Experiment.load` reads; without what units are hashed with."""
    service = service_of(request)
    text = await service.call(lambda: exported(service.experiments.get(name)))
    return StreamingResponse(
        _chunks(text),
        media_type="application/json",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}.json"},
    )


def _chunks(text: str) -> Iterator[bytes]:
    for start in range(0, len(text), CHUNK):
        yield text[start : start + CHUNK].encode()
