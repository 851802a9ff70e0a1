"""Webhooks, as OpenAPI has them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from tideproof.serve.schemas.field_types import Body, Name


class NewWebhook(Body):
    """Where to send what happens, signed as Standard Webhooks are."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"url": "https://example.com/hook"}]}
    )
    url: Annotated[StrictStr, Field(min_length=1, max_length=2000, description="https, and public.")]
    experiments: Annotated[list[Name] | None, Field(max_length=1000, description="null for all.")] = None


class WebhookInfo(BaseModel):
    """A webhook, without its secret."""

    id: str
    url: str
    experiments: list[str] | None
    made_at: float
    made_by: str | None


class MadeWebhook(WebhookInfo):
    """A new webhook; its secret is shown this once."""

    secret: str


class WebhookList(BaseModel):
    """All webhooks."""

    webhooks: list[WebhookInfo]
