"""Threads that send webhook messages, signed by the specification "Standard Webhooks", with retries."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import threading
import time
from datetime import UTC, datetime

import httpx

from tideproof.errors import TideproofError
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.json_logs import LOG
from tideproof.serve.webhooks.webhook_notices import inspect_experiment
from tideproof.serve.webhooks.webhook_queue import CLAIM_SECONDS, WebhookCursor, WebhookMessage, message_id
from tideproof.serve.webhooks.webhook_store import Webhook, WebhookStore
from tideproof.serve.webhooks.webhook_targets import TargetError, checked_target
from tideproof.store.backend import ExperimentListing

PAUSE = 5.0  # seconds between two checks for messages; also the first wait after a failure, then doubled
MAX_PAUSE = 3600.0  # longest wait in seconds before a retry
TIMEOUT = 10.0  # seconds for the whole exchange with a receiver
_UNSEEN = WebhookCursor(-1, None)


class WebhookSender:
    """Threads that find webhook messages and send them.

    One thread looks at experiments that have new events, or that time has changed, and adds messages to the
    queues of the receivers. Each receiver that has messages has a thread of its own, so that a slow one
    delays no other.
    """

    def __init__(self, experiments: ExperimentCache, webhooks: WebhookStore) -> None:
        self._experiments, self._webhooks, self._queue = experiments, webhooks, webhooks.queue
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._deliveries: dict[str, threading.Thread] = {}  # the running thread of each receiver

    def start(self) -> None:
        """Start the threads that send webhook messages."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the threads that send webhook messages; undelivered ones are sent after the next start."""
        self._stopping.set()
        deadline = time.monotonic() + TIMEOUT + 1.0
        for each in (self._thread, *self._deliveries.values()):
            if each is not None:
                each.join(max(0.0, deadline - time.monotonic()))

    def _run(self) -> None:
        """Find messages and start their delivery at regular intervals, until the sender is stopped."""
        while not self._stopping.wait(PAUSE):
            for work in (self._start_deliveries, self.collect, self._start_deliveries):
                try:
                    work()
                except Exception as error:  # an unexpected error must not end the thread
                    _log_unexpected(error)

    def send_pending(self) -> None:
        """Find messages, and send those that are due in this thread, one receiver after another."""
        self.collect()
        for webhook in self._due_webhooks():
            self.deliver(webhook)

    # -- finding messages

    def collect(self) -> None:
        """Check experiments for new messages, and add the messages to the queues of their webhooks."""
        webhooks, now = self._webhooks.list_webhooks(), time.time()
        if not webhooks:
            return
        cursors = {each.id: self._queue.read_cursors(each.id) for each in webhooks}
        for listed in self._experiments.list_experiments():
            if listed.events == 1:  # it was only created: opening thousands of these would close those in use
                continue
            waiting = [
                each
                for each in webhooks
                if each.reaches(listed.name)
                and cursors[each.id].get(listed.name, _UNSEEN).is_due(listed.events, now)
            ]
            if self._stopping.is_set():
                return
            if waiting:
                try:
                    self._collect_from(listed, waiting)
                except TideproofError as error:  # such as an experiment that cannot be opened
                    fields = {"reason": type(error).__name__}
                    LOG.warning("an experiment could not be inspected for webhooks", extra={"fields": fields})

    def _collect_from(self, listed: ExperimentListing, webhooks: list[Webhook]) -> None:
        """Add the messages about one experiment to the queues of these webhooks."""
        found = inspect_experiment(self._experiments.get(listed.name), listed.at)
        for webhook in webhooks:
            for notice in found.notices:
                at = time.time()
                said = {
                    "type": notice.kind,
                    "timestamp": datetime.fromtimestamp(at, UTC).isoformat(),
                    "data": {"experiment": listed.name, **notice.about},
                }
                id = message_id(webhook.id, listed.name, found.created_at, notice.word)
                self._queue.add(id, webhook.id, listed.name, at, json.dumps(said))
            cursor = WebhookCursor(listed.events, found.due_at)
            self._queue.save_cursor(webhook.id, listed.name, cursor)

    # -- sending messages

    def _due_webhooks(self) -> list[Webhook]:
        """Return the webhooks that may have a message to send now."""
        due = self._queue.due_webhooks(time.time())
        return [each for each in self._webhooks.list_webhooks() if each.id in due]

    def _start_deliveries(self) -> None:
        """Start a thread for each receiver that has messages and no thread."""
        self._deliveries = {id: each for id, each in self._deliveries.items() if each.is_alive()}
        for webhook in self._due_webhooks():
            if webhook.id not in self._deliveries and not self._stopping.is_set():
                thread = threading.Thread(target=self.deliver, args=(webhook,), name="webhook", daemon=True)
                self._deliveries[webhook.id] = thread
                thread.start()

    def deliver(self, webhook: Webhook) -> None:
        """Send the messages of one receiver in their order, until none is due or one fails."""
        try:
            while not self._stopping.is_set():
                message = self._queue.claim(webhook.id, time.time())
                if message is None or not self._send(webhook, message):
                    return
        except Exception as error:  # such as a store that cannot be reached: the claim of the message expires
            _log_unexpected(error)

    def _send(self, webhook: Webhook, message: WebhookMessage) -> bool:
        """Send a message and return whether the receiver took it; if not, it is sent again later."""
        try:
            send(webhook, message, self._webhooks.any_target)
        except (httpx.HTTPError, httpx.InvalidURL, TideproofError) as error:
            wait = min(PAUSE * 2.0 ** min(message.attempts - 1, 20), MAX_PAUSE)
            self._queue.postpone(message.id, time.time() + wait)
            fields = {"webhook": webhook.id, "reason": _reason(error), "retry_in_seconds": wait}
            LOG.warning("webhook delivery failed; it will be retried", extra={"fields": fields})
            return False
        self._queue.mark_sent(message.id, time.time())
        return True


def send(webhook: Webhook, message: WebhookMessage, any_target: bool) -> None:
    """Send one webhook message, or raise an error.

    The connection goes to exactly the IP address that was checked.
    """
    begun = time.monotonic()
    address = checked_target(webhook.url, any_target)
    if time.monotonic() > begun + CLAIM_SECONDS - 2.0 * TIMEOUT:  # another process may claim the message soon
        raise TargetError("the name of the target could not be looked up in time")
    url = httpx.URL(webhook.url)
    headers = signature_headers(webhook.secret, message.id, int(time.time()), message.body) | {
        "Content-Type": "application/json",
        "Host": url.netloc.decode(),
        "User-Agent": "tideproof",
    }
    request = httpx.Request(
        "POST",
        url.copy_with(host=address),
        content=message.body,
        headers=headers,
        extensions={"sni_hostname": url.host},
    )
    try:
        status = asyncio.run(_exchange(request))
    except TimeoutError:
        raise TargetError(f"the target did not respond within {TIMEOUT:g} s") from None
    if not 200 <= status < 300:
        raise TargetError(f"the target responded with status {status}")


async def _exchange(request: httpx.Request) -> int:
    """Send a request and return the status of the response, whose body is not read.

    Limits of `httpx` hold for each read and write, so a receiver that sends single bytes could go on forever;
    the limit here is that of the whole exchange.
    """
    async with (
        asyncio.timeout(TIMEOUT),
        httpx.AsyncClient(timeout=None, trust_env=False) as client,
    ):
        answer = await client.send(request, stream=True)
        await answer.aclose()
        return answer.status_code


def _log_unexpected(error: Exception) -> None:
    """Log an error that is not the fault of a receiver."""
    LOG.error("unexpected error while sending webhook messages", exc_info=error, extra={"fields": {}})


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
