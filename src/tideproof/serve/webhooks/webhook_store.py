"""Webhooks of a store: where to send what happened, and how far each of them is."""

from __future__ import annotations

import base64
import json
import secrets
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from tideproof.errors import InputError, UnknownName
from tideproof.serve.auth.api_keys import Key
from tideproof.serve.webhooks.webhook_targets import checked_target
from tideproof.store.backend import Backend

MOST = 100  # webhooks of a store


class Webhook(NamedTuple):
    """Where to send what happened to which experiments; its secret signs."""

    id: str
    url: str
    secret: str
    experiments: tuple[str, ...] | None
    made_at: float
    made_by: str | None

    def reaches(self, experiment: str) -> bool:
        """Tell whether it is for that experiment."""
        return self.experiments is None or experiment in self.experiments


class Cursor(NamedTuple):
    """How far a webhook is: of how many events all was said, and what was."""

    events: int
    said: tuple[str, ...]


class Webhooks:
    """The webhooks of a store; its calls block, and are safe from threads."""

    def __init__(self, place: Backend, lock: threading.RLock, anywhere: bool) -> None:
        self._place, self._lock, self.anywhere = place, lock, anywhere

    def make(self, url: str, experiments: Sequence[str] | None, by: Key) -> Webhook:
        """Make a webhook; its secret is shown this once."""
        if not by.covers(by.role, experiments):
            raise InputError(
                "this key is for other experiments: a webhook of its own must be for some of them"
            )
        checked_target(url, self.anywhere)
        if len(self.listed()) >= MOST:
            raise InputError(f"there are {MOST} webhooks already: delete one of them")
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        only = None if experiments is None else tuple(experiments)
        made = Webhook(f"w{secrets.token_hex(5)}", url, secret, only, time.time(), by.id)
        with self._lock:
            self._place.statement(
                "INSERT INTO ~webhooks VALUES (?, ?, ?, ?, ?, ?)",
                (made.id, url, secret, json.dumps(experiments), made.made_at, made.made_by),
            )
        return made

    def listed(self) -> list[Webhook]:
        """Return all of them, the oldest first."""
        with self._lock:
            rows = self._place.statement(
                "SELECT id, url, secret, experiments, made_at, made_by FROM ~webhooks ORDER BY made_at, id",
                (),
            )
        found = []
        for id, url, secret, experiments, at, by in rows:
            only = json.loads(experiments)
            found.append(Webhook(id, url, secret, None if only is None else tuple(only), at, by))
        return found

    def delete(self, id: str, by: Key) -> None:
        """Delete one that is for nothing that a key does not reach."""
        if not any(each.id == id and by.covers(by.role, each.experiments) for each in self.listed()):
            raise UnknownName(f"there is no webhook {id!r}")
        with self._lock:
            self._place.statement("DELETE FROM ~webhooks WHERE id = ?", (id,))
            self._place.statement("DELETE FROM ~webhook_cursors WHERE webhook = ?", (id,))

    def cursors(self, id: str) -> dict[str, Cursor]:
        """Return how far a webhook is, for each experiment."""
        with self._lock:
            rows = self._place.statement(
                "SELECT experiment, events, said FROM ~webhook_cursors WHERE webhook = ?", (id,)
            )
        return {name: Cursor(events, tuple(json.loads(said))) for name, events, said in rows}

    def move(self, id: str, experiment: str, cursor: Cursor) -> None:
        """Note how far a webhook is."""
        with self._lock:
            self._place.statement(
                "INSERT INTO ~webhook_cursors VALUES (?, ?, ?, ?) ON CONFLICT (webhook, experiment) "
                "DO UPDATE SET events = excluded.events, said = excluded.said",
                (id, experiment, cursor.events, json.dumps(cursor.said)),
            )
