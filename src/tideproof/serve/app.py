"""FastAPI application of the HTTP service: its routes, middleware and OpenAPI description."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.middleware.cors import CORSMiddleware

from tideproof._version import __version__
from tideproof.serve import problem_details
from tideproof.serve.api import (
    experiment_routes,
    form_routes,
    health_routes,
    login_routes,
    ofrep_routes,
    page_routes,
    pull_routes,
    read_routes,
    webhook_routes,
)
from tideproof.serve.auth.access_control import needs, routes_and_rights
from tideproof.serve.auth.roles import ROLES, Right
from tideproof.serve.middleware import RequestMiddleware
from tideproof.serve.pages import page_rendering
from tideproof.serve.service import Service
from tideproof.serve.service_settings import Settings

ROUTERS: tuple[APIRouter, ...] = (
    experiment_routes.router,
    pull_routes.router,
    read_routes.router,
    ofrep_routes.router,
    login_routes.router,
    webhook_routes.router,
    health_routes.router,
)
PAGES: tuple[APIRouter, ...] = (
    page_routes.router,
    form_routes.router,
)  # web pages, which are not part of the OpenAPI description
HEADERS = ("Authorization", "X-API-Key", "Content-Type", "Idempotency-Key", "If-None-Match", "Last-Event-ID")


def make_app(store: str, settings: Settings | None = None) -> FastAPI:
    """Return the FastAPI application that serves the experiments of a store (a database) over HTTP.

    `app.state.service` holds the objects that all routes share.

    Parameters
    ----------
    store
        URL of the store, such as `"sqlite:///shop.db"`.
    settings
        Settings of the service; the defaults if None.
    """
    settings = settings or Settings()
    service = Service(store, settings)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        service.stopping = False
        service.clock_keeper.start()
        service.sender.start()
        service.sweeper.start()
        yield
        service.stop()
        service.sender.stop()
        service.sweeper.stop()
        service.clock_keeper.stop()
        service.close()

    app = FastAPI(
        title="tideproof",
        version=__version__,
        description="Experiments that find the best of several arms while conditions shift over time.",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    problem_details.install(app)
    page_rendering.install(app)
    for router in (*ROUTERS, *PAGES):
        app.router.routes.extend(
            router.routes
        )  # not by include_router, which wraps routes so that their rights could not be read

    @app.get("/v1/openapi.json", include_in_schema=False, dependencies=[needs(Right.OPEN)])
    async def described(request: Request) -> dict[str, Any]:
        return app.openapi()

    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    if settings.allowed_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.allowed_origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=HEADERS,
            expose_headers=["ETag", "Location", "Retry-After", "X-Request-Id"],
        )
    app.add_middleware(RequestMiddleware, service=service)
    return app


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI description of the service, with the error format and the roles of each route."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        schemas = found["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):
            schemas.pop(name, None)
        schemas["Problem"] = problem_details.ProblemDetails.model_json_schema()
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        rights = {(path, method.lower()): right for method, path, right in routes_and_rights(app)}
        for path, methods in found["paths"].items():
            for method, operation in methods.items():
                operation["responses"].pop("422", None)
                for parameter in operation.get("parameters", ()):
                    if parameter["in"] == "path":
                        parameter["description"] = _describe_path_parameter(path, parameter["name"])
                right = rights[path, method] or Right.OPEN
                operation["x-right"] = right.value
                if right is not Right.OPEN:
                    operation["security"] = [{"key": []}]
                    roles = [role for role, had in ROLES.items() if right in had]
                    operation["description"] += f"\n\nRoles: {', '.join(roles)}."
        app.openapi_schema = found
    return app.openapi_schema


def _describe_path_parameter(path: str, name: str) -> str:
    """Return the description of a parameter in the path of a route.

    >>> _describe_path_parameter("/v1/keys/{id}", "id")
    'ID of the API key.'
    """
    if name == "id":
        return f"ID of the {'API key' if path.startswith('/v1/keys') else 'webhook'}."
    return "Name of the experiment, percent-encoded."
