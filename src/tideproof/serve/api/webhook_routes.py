"""Routes for webhooks: URLs to which winners, warnings and used-up budgets are reported."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request

from tideproof.serve.auth.access_control import needs
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.auth.roles import Right
from tideproof.serve.problem_details import RESPONSES
from tideproof.serve.schemas import webhook_schemas as m
from tideproof.serve.service import service_of
from tideproof.serve.webhooks.webhook_store import Webhook

router = APIRouter(prefix="/v1/webhooks", tags=["webhooks"], responses=RESPONSES)

Admin = Annotated[Key, needs(Right.ADMIN)]


@router.post("", status_code=201, summary="Create a webhook")
async def make(body: m.WebhookBody, request: Request, key: Admin) -> m.CreatedWebhook:
    """Register a webhook. The secret with which its messages are signed is shown only once."""
    service = service_of(request)
    made = await service.call(service.webhooks.create, body.url, body.experiments, key)
    return m.CreatedWebhook(secret=made.secret, **_info(made).model_dump())


@router.get("", summary="List webhooks")
async def listed(request: Request, key: Admin) -> m.WebhookList:
    """List the webhooks for experiments that the API key may read, without the secrets of the webhooks."""
    service = service_of(request)
    found = await service.call(service.webhooks.list_webhooks)
    return m.WebhookList(webhooks=[_info(each) for each in found if key.covers(key.role, each.experiments)])


@router.delete("/{id}", status_code=204, summary="Delete a webhook")
async def delete(id: str, request: Request, key: Admin) -> None:
    """Delete a webhook: nothing more is sent to its URL."""
    service = service_of(request)
    await service.call(service.webhooks.delete, id, key)


def _info(webhook: Webhook) -> m.WebhookInfo:
    """Return a webhook, without its secret, as a response body."""
    only = None if webhook.experiments is None else list(webhook.experiments)
    return m.WebhookInfo(
        id=webhook.id, url=webhook.url, experiments=only, made_at=webhook.made_at, made_by=webhook.made_by
    )
