"""Sending webhooks, signed as Standard Webhooks are, again and again until they are taken."""

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

from tideproof.errors import InputError, TideproofError
from tideproof.experiment.experiment import Experiment
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.json_logs import LOG
from tideproof.serve.webhooks.webhook_store import Cursor, Webhook, Webhooks
from tideproof.serve.webhooks.webhook_targets import checked_target

PAUSE = 5.0  # seconds between two looks; twice as many after each failure
LONGEST = 3600.0  # seconds until another try
TIMEOUT = 10.0  # seconds that a target may take


class Notice(NamedTuple):
    """Something to be said once, under that word."""

    word: str
    kind: str
    about: dict[str, Any]


class Sender:
    """Looks for what is to be said, and says it, in a thread of its own."""

    def __init__(self, experiments: ExperimentCache, webhooks: Webhooks) -> None:
        self._experiments, self._webhooks = experiments, webhooks
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._waits: dict[str, tuple[float, float]] = {}  # when to try again, and how long that was

    def start(self) -> None:
        """Begin."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End; what was not taken is sent after the next start."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(TIMEOUT + 1.0)

    def _run(self) -> None:
        while not self._stopping.wait(PAUSE):
            try:
                self.look()
            except Exception as error:  # the thread must not end
                LOG.error("webhooks", exc_info=error, extra={"fields": {}})

    def look(self) -> None:
        """Send what is due; one that fails waits, and the others do not."""
        for webhook in self._webhooks.listed():
            until, wait = self._waits.get(webhook.id, (0.0, PAUSE))
            if time.monotonic() < until or self._stopping.is_set():
                continue
            try:
                self._serve(webhook)
                self._waits.pop(webhook.id, None)
            except (httpx.HTTPError, httpx.InvalidURL, TideproofError) as error:
                self._waits[webhook.id] = time.monotonic() + wait, min(2.0 * wait, LONGEST)
                LOG.warning(
                    "webhook", extra={"fields": {"webhook": webhook.id, "error": type(error).__name__}}
                )

    def _serve(self, webhook: Webhook) -> None:
        cursors = self._webhooks.cursors(webhook.id)
        for listed in self._experiments.listed():
            cursor = cursors.get(listed.name, Cursor(0, ()))
            if not webhook.reaches(listed.name) or listed.events == cursor.events:
                continue
            for notice in notices(self._experiments.get(listed.name)):
                if notice.word not in cursor.said:
                    send(webhook, listed.name, notice, self._webhooks.anywhere)
                    cursor = cursor._replace(said=(*cursor.said, notice.word))
                    self._webhooks.move(webhook.id, listed.name, cursor)
            self._webhooks.move(webhook.id, listed.name, cursor._replace(events=listed.events))


def notices(run: Experiment) -> Iterator[Notice]:
    """Return what is to be said of an experiment as it is: a winner, a used budget, warnings."""
    found, known = run._judged()
    book = run._state.book
    if book.sure is not None:
        arm = book.arms[book.sure.arm]
        yield Notice(f"winner {arm}", "experiment.winner", {"arm": arm, "sentence": str(found)})
    if book.budget is not None and book.remaining == 0:
        about = {"budget": book.budget, "arm": found.arm, "sentence": str(found)}
        yield Notice(f"budget {book.budget}", "experiment.budget_used", about)
    remarks = run._watch.remarks(run._state.events, known, found.groups, looking=False)
    for text in (*found.remarks, *remarks):  # the same one with other numbers is not said again
        yield Notice(re.sub(r"\d[\d,.]*", "#", text), "experiment.warning", {"warning": text})


def send(webhook: Webhook, experiment: str, notice: Notice, anywhere: bool) -> None:
    """Send one notice, or raise; to the very address that was checked."""
    address = checked_target(webhook.url, anywhere)
    at = datetime.now(UTC)
    said = {
        "type": notice.kind,
        "timestamp": at.isoformat(),
        "data": {"experiment": experiment, **notice.about},
    }
    body = json.dumps(said)
    word = hashlib.sha256(f"{webhook.id}\n{experiment}\n{notice.word}".encode()).hexdigest()[:24]
    url = httpx.URL(webhook.url)
    headers = signed(webhook.secret, f"msg_{word}", int(at.timestamp()), body) | {
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
            raise InputError(f"a webhook was answered with {answer.status_code}")


def signed(secret: str, id: str, at: int, body: str) -> dict[str, str]:
    """Return the headers by which a receiver knows that it is from us, and whether it had it already."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    mac = hmac.new(key, f"{id}.{at}.{body}".encode(), "sha256").digest()
    return {
        "webhook-id": id,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{base64.b64encode(mac).decode()}",
    }
