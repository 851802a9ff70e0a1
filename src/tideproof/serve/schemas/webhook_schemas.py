"""Schemas of webhooks."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from tideproof.serve.schemas.field_types import Name, RequestBody


class WebhookBody(RequestBody):
    """A webhook to register; its messages are signed as the specification "Standard Webhooks" says."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"url": "https://example.com/hook"}]}
    )
    url: Annotated[
        StrictStr,
        Field(min_length=1, max_length=2000, description="An https URL on the public internet."),
    ]
    experiments: Annotated[
        list[Name] | None,
        Field(max_length=1000, description="Experiments that the webhook reports on, by name; null for all."),
    ] = None


class WebhookInfo(BaseModel):
    """A webhook, without its secret."""

    id: str
    url: str
    experiments: list[str] | None
    made_at: float
    made_by: str | None


class CreatedWebhook(WebhookInfo):
    """A new webhook with its secret, which is shown only once."""

    secret: str


class WebhookList(BaseModel):
    """Webhooks that the caller may see."""

    webhooks: list[WebhookInfo]
