"""Routes for monitoring: liveness, readiness and metrics."""

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

AnyCaller = Annotated[Key, needs(Right.OPEN)]


@router.get("/healthz", summary="Check that the service is alive")
async def alive(_caller: AnyCaller) -> m.Health:
    """Return status 200 as long as the process runs, whatever the state of the store."""
    return m.Health(status="alive", version=__version__)


@router.get("/readyz", summary="Check that the service is ready")
async def ready(request: Request, _caller: AnyCaller) -> m.Health:
    """Return status 200 if the store can be read and written, and the service is not stopping."""
    service = service_of(request)
    if service.stopping:
        raise Problem(
            503,
            "the service is shutting down: send requests to another instance, or retry later",
            "StoreError",
        )
    await service.call(service.readiness.check)
    return m.Health(status="ready", version=__version__)


@router.get(
    "/metrics",
    summary="Get metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, key: Annotated[Key, needs(Right.READ)]) -> Response:
    """Return the metrics of the service in Prometheus's text format."""
    return Response(service_of(request).metrics.text(), media_type=MEDIA)
