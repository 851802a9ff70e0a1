"""For whoever looks after the service."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response

from tideproof._version import __version__
from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.problem_details import RESPONSES, Problem
from tideproof.serve.prometheus_metrics import MEDIA
from tideproof.serve.schemas import experiment_schemas as m
from tideproof.serve.service import service_of

router = APIRouter(tags=["health"], responses=RESPONSES)

Anybody = Annotated[Key, needs(Right.OPEN)]


@router.get("/healthz", summary="Say that it lives")
async def alive(nobody: Anybody) -> m.Health:
    """Answer, whatever the store does."""
    return m.Health(status="alive", version=__version__)


@router.get("/readyz", summary="Say whether it can work")
async def ready(request: Request, nobody: Anybody) -> m.Health:
    """Answer if the store can be read and the service is not stopping."""
    service = service_of(request)
    if service.stopping:
        raise Problem(503, "the service is stopping", "StoreError")
    await service.call(service.experiments.check)
    return m.Health(status="ready", version=__version__)


@router.get(
    "/metrics",
    summary="Numbers for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, key: Annotated[Key, needs(Right.READ)]) -> Response:
    """Return numbers as Prometheus reads them."""
    return Response(service_of(request).metrics.text(), media_type=MEDIA)
