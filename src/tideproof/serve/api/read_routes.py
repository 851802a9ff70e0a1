"""Routes that read an experiment: recommendation, shares of arms, event log, event stream and export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from tideproof.serve import serializers
from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.export_file import export_text
from tideproof.serve.idempotent_calls import run_method
from tideproof.serve.problem_details import RESPONSES
from tideproof.serve.schemas import experiment_schemas as m
from tideproof.serve.schemas.field_types import WHOLE
from tideproof.serve.server_sent_events import format_message, stream_messages, streaming_response
from tideproof.serve.service import service_of

router = APIRouter(prefix="/v1/experiments/{name}", tags=["reading"], responses=RESPONSES)

Reader = Annotated[Key, needs(Right.READ)]
After = Annotated[int, Query(ge=0, le=WHOLE, description="Return only events after this number.")]

PAGE = 500  # events that a stream reads at once
CHUNK = 2**16  # characters per part of a download


@router.get("/recommendation", summary="Get the recommendation")
async def recommendation(
    name: str,
    request: Request,
    key: Reader,
    prior: Annotated[
        Literal["exchangeable", "flat"], Query(description="Prior of the probability `p_best`.")
    ] = "exchangeable",
) -> m.RecommendationInfo:
    """Return the arm that would be selected now, with its estimated lead, the evidence and warnings."""
    service = service_of(request)
    found = await service.call(
        lambda: serializers.recommendation(service.experiments.get(name).recommend(prior=prior))
    )
    return m.RecommendationInfo(**found)


@router.get("/shares", summary="Get the shares of the next pulls")
async def shares(
    name: str,
    request: Request,
    key: Reader,
    environment: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            description="Label of the environment of these pulls, if the label is a string. By default, the "
            "environment that a new pull would get.",
        ),
    ] = None,
    number: Annotated[
        int | None,
        Query(
            ge=-WHOLE,
            le=WHOLE,
            description="Label of the environment of these pulls, if the label is a whole number; replaces "
            "`environment`.",
        ),
    ] = None,
    n: Annotated[
        int | None,
        Query(
            ge=1,
            le=100_000,
            description="Number of pulls to which the shares apply; by default 100, or the remaining budget "
            "if it is less.",
        ),
    ] = None,
) -> m.Shares:
    """Return the share of each arm among the next pulls, without assigning these pulls."""
    service = service_of(request)
    label = environment if number is None else number
    found = await service.call(
        lambda: run_method(service.experiments.get(name), key, None, "shares", environment=label, n=n)
    )
    return m.Shares(shares=found)


@router.get("/events", summary="List events")
async def events(
    name: str,
    request: Request,
    key: Reader,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of events.")] = 100,
) -> m.EventList:
    """List the events of an experiment's event log whose number is greater than `after`, in order."""
    service = service_of(request)
    found = await service.call(service.experiments.read_entries, name, after, limit)
    return m.EventList(
        events=[m.EventInfo(**serializers.event(each)) for each in found],
        next=found[-1].seq if found else after,
    )


@router.get(
    "/stream",
    summary="Stream events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(
    name: str,
    request: Request,
    key: Reader,
    after: After = 0,
    last: Annotated[
        str | None,
        Header(
            alias="Last-Event-ID", max_length=30, description="Number of the last event that was received."
        ),
    ] = None,
) -> StreamingResponse:
    """Stream an experiment's events with numbers greater than `after`, as server-sent events.

    A browser that reconnects sends the header Last-Event-ID, and continues after that event.
    """
    service = service_of(request)
    await service.call(service.experiments.find_log, name)
    if last is not None and last.isascii() and last.isdigit():
        after = int(last[:15])
    service.notifier.check()

    async def more() -> list[str]:
        nonlocal after
        found = await service.call(service.experiments.read_entries, name, after, PAGE)
        after = found[-1].seq if found else after
        said = (serializers.event(entry) for entry in found)
        return [format_message(each["seq"], each["kind"], each) for each in said]

    return streaming_response(
        stream_messages(service, key, service.notifier, more, lambda: service.notifier.wait(name))
    )


@router.get(
    "/export",
    summary="Export an experiment as a file",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def export(name: str, request: Request, key: Reader) -> StreamingResponse:
    """Return an experiment as a JSON file that `tp.Experiment.load` can read.

    The file does not contain the salt with which the identifiers of units are hashed.
    """
    service = service_of(request)
    text = await service.call(lambda: export_text(service.experiments.get(name)))
    return StreamingResponse(
        _chunks(text),
        media_type="application/json",
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name, safe='')}.json"},
    )


def _chunks(text: str) -> Iterator[bytes]:
    """Yield the text of a download in parts of limited size."""
    for start in range(0, len(text), CHUNK):
        yield text[start : start + CHUNK].encode()
