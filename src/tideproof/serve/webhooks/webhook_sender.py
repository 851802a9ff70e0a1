"""Thread that sends webhook messages, signed by the specification "Standard Webhooks", with retries."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import httpx

from tideproof.errors import TideproofError
from tideproof.experiment.read_model import ReadModel
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.json_logs import LOG
from tideproof.serve.webhooks.webhook_store import Webhook, WebhookCursor, WebhookStore
from tideproof.serve.webhooks.webhook_targets import TargetError, checked_target

PAUSE = 5.0  # seconds between two checks for messages; also the first wait after a failure, then doubled
MAX_PAUSE = 3600.0  # longest wait in seconds before a retry
TIMEOUT = 10.0  # seconds to wait for a target


class Notice(NamedTuple):
    """Message about an experiment, such as its winner, that each webhook sends only once.

    Attributes
    ----------
    word : text that identifies the message among those of the experiment, such as "winner B".
    kind : type of the message, such as "experiment.winner".
    about : its data.
    """

    word: str
    kind: str
    about: dict[str, Any]


class WebhookSender:
    """Thread that finds pending webhook messages and sends them."""

    def __init__(self, experiments: ExperimentCache, webhooks: WebhookStore) -> None:
        self._experiments, self._webhooks = experiments, webhooks
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        # Webhooks that failed: time of the next attempt on the monotonic clock, and the wait after that
        self._retries: dict[str, tuple[float, float]] = {}

    def start(self) -> None:
        """Start the thread that sends webhook messages."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread that sends webhook messages; undelivered ones are sent after the next start."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT + 1.0)

    def _run(self) -> None:
        """Send pending webhook messages at regular intervals until the sender is stopped."""
        while not self._stopping.wait(PAUSE):
            try:
                self.send_pending()
            except Exception as error:  # an unexpected error must not end the thread
                LOG.error(
                    "unexpected error while sending webhook messages", exc_info=error, extra={"fields": {}}
                )

    def send_pending(self) -> None:
        """Send the pending messages of each webhook; after a failure, wait longer before the next attempt."""
        for webhook in self._webhooks.list_webhooks():
            until, wait = self._retries.get(webhook.id, (0.0, PAUSE))
            if time.monotonic() < until or self._stopping.is_set():
                continue
            try:
                self._send_notices(webhook)
                self._retries.pop(webhook.id, None)
            except (httpx.HTTPError, httpx.InvalidURL, TideproofError) as error:
                self._retries[webhook.id] = time.monotonic() + wait, min(2.0 * wait, MAX_PAUSE)
                fields = {"webhook": webhook.id, "reason": _reason(error), "retry_in_seconds": wait}
                LOG.warning("webhook delivery failed; it will be retried", extra={"fields": fields})

    def _send_notices(self, webhook: Webhook) -> None:
        """Send the pending messages of one webhook."""
        cursors = self._webhooks.read_cursors(webhook.id)
        for listed in self._experiments.list_experiments():
            cursor = cursors.get(listed.name, WebhookCursor(0, ()))
            if not webhook.reaches(listed.name) or listed.events == cursor.events:
                continue
            for notice in pending_notices(self._experiments.get(listed.name).internals.read()):
                if notice.word not in cursor.said:
                    send(webhook, listed.name, notice, self._webhooks.any_target)
                    cursor = cursor._replace(said=(*cursor.said, notice.word))
                    self._webhooks.save_cursor(webhook.id, listed.name, cursor)
            self._webhooks.save_cursor(webhook.id, listed.name, cursor._replace(events=listed.events))


def pending_notices(found: ReadModel) -> Iterator[Notice]:
    """Yield the webhook messages for the state of an experiment: a winner, a used-up budget, warnings."""
    status, recommended = found.status, found.recommendation
    if status.winner is not None:
        winner = {"arm": status.winner, "sentence": str(recommended)}
        yield Notice(f"winner {status.winner}", "experiment.winner", winner)
    if status.remaining == 0:
        about = {"budget": status.budget, "arm": recommended.arm, "sentence": str(recommended)}
        yield Notice(f"budget {status.budget}", "experiment.budget_used", about)
    for text in found.warnings:  # a warning with other numbers counts as the same warning
        yield Notice(re.sub(r"\d[\d,.]*", "#", text), "experiment.warning", {"warning": text})


def send(webhook: Webhook, experiment: str, notice: Notice, any_target: bool) -> None:
    """Send one webhook message, or raise an error.

    The connection goes to exactly the IP address that was checked.
    """
    address = checked_target(webhook.url, any_target)
    at = datetime.now(UTC)
    said = {
        "type": notice.kind,
        "timestamp": at.isoformat(),
        "data": {"experiment": experiment, **notice.about},
    }
    body = json.dumps(said)
    word = hashlib.sha256(f"{webhook.id}\n{experiment}\n{notice.word}".encode()).hexdigest()[:24]
    url = httpx.URL(webhook.url)
    headers = signature_headers(webhook.secret, f"msg_{word}", int(at.timestamp()), body) | {
        "Content-Type": "application/json",
        "Host": url.netloc.decode(),
        "User-Agent": "tideproof",
    }
    with (
        httpx.Client(timeout=TIMEOUT, trust_env=False) as client,
        client.stream(
            "POST",
            url.copy_with(host=address),
            content=body,
            headers=headers,
            extensions={"sni_hostname": url.host},
        ) as answer,
    ):
        if not answer.is_success:
            raise TargetError(f"the target responded with status {answer.status_code}")


def _reason(error: Exception) -> str:
    """Return why a delivery failed, for the log, which contains no names of experiments and no full URLs."""
    known = isinstance(error, (TargetError, httpx.HTTPError)) and str(error)
    return str(error) if known else type(error).__name__


def signature_headers(secret: str, id: str, at: int, body: str) -> dict[str, str]:
    """Return the HTTP headers that sign a webhook message.

    They also identify a repeated message.
    """
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{id}.{at}.{body}".encode(), "sha256").digest()
    return {
        "webhook-id": id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }
