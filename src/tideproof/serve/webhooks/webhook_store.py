"""Registered webhooks of a store."""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from tideproof.errors import InputError, UnknownName
from tideproof.serve.auth.api_keys import Key, name_experiments
from tideproof.serve.webhooks.webhook_queue import WebhookQueue
from tideproof.serve.webhooks.webhook_targets import checked_target
from tideproof.store.backend import Backend

MAX_WEBHOOKS = 100  # maximum number of webhooks per store


class Webhook(NamedTuple):
    """Registered webhook: the URL that receives messages about experiments.

    The secret is for signatures. `experiments` is None if the webhook reports on all experiments.
    """

    id: str
    url: str
    secret: str
    experiments: tuple[str, ...] | None
    made_at: float
    made_by: str | None

    def reaches(self, experiment: str) -> bool:
        """Return whether the webhook reports on an experiment."""
        return self.experiments is None or experiment in self.experiments


class WebhookStore:
    """The registered webhooks that a database contains.

    Calls block, and are thread-safe.

    Attributes
    ----------
    any_target : whether messages may be sent to private networks.
    queue : the queues of their messages.
    """

    def __init__(self, backend: Backend, lock: threading.RLock, any_target: bool) -> None:
        self._backend, self._lock, self.any_target = backend, lock, any_target
        self.queue = WebhookQueue(backend, lock)

    def create(self, url: str, experiments: Sequence[str] | None, by: Key) -> Webhook:
        """Register a webhook and return it with its secret."""
        if not by.covers(by.role, experiments):
            raise InputError(
                f"this key is restricted to {name_experiments(by.experiments)}, so its webhooks must be "
                f"restricted to some of these, and not report on {name_experiments(experiments)}"
            )
        checked_target(url, self.any_target)
        if len(self.list_webhooks()) >= MAX_WEBHOOKS:
            raise InputError(f"there are {MAX_WEBHOOKS} webhooks, which is the maximum: delete one first")
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        only = None if experiments is None else tuple(experiments)
        made = Webhook(f"w{secrets.token_hex(5)}", url, secret, only, time.time(), by.id)
        with self._lock:
            self._backend.execute(
                "INSERT INTO ~webhooks VALUES (?, ?, ?, ?, ?, ?)",
                (made.id, url, secret, json.dumps(experiments), made.made_at, made.made_by),
            )
        return made

    def list_webhooks(self) -> list[Webhook]:
        """Return all webhooks, oldest first."""
        with self._lock:
            rows = self._backend.execute(
                "SELECT id, url, secret, experiments, made_at, made_by FROM ~webhooks ORDER BY made_at, id",
                (),
            )
        found = []
        for id, url, secret, experiments, at, by in rows:
            only = json.loads(experiments)
            found.append(Webhook(id, url, secret, None if only is None else tuple(only), at, by))
        return found

    def delete(self, id: str, by: Key) -> None:
        """Delete a webhook if the caller's API key may access all experiments on which it reports.

        Otherwise, and for an unknown id, raise `UnknownName`.
        """
        if not any(each.id == id and by.covers(by.role, each.experiments) for each in self.list_webhooks()):
            raise UnknownName(f"there is no webhook with the id {id!r}")
        with self._lock:
            self._backend.execute("DELETE FROM ~webhooks WHERE id = ?", (id,))
        self.queue.delete(id)
