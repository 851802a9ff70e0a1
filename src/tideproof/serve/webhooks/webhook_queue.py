"""Queues of webhook messages in the store, one for each receiver, from which all processes take messages."""

from __future__ import annotations

import hashlib
import threading
from typing import NamedTuple

from tideproof.store.backend import Backend

CLAIM_SECONDS = 60.0  # seconds for which a message belongs to the process that claimed it


class WebhookMessage(NamedTuple):
    """Message for one receiver, claimed by this process.

    Attributes
    ----------
    id : identifier, which stays the same when the message is sent again.
    body : its text, as JSON.
    attempts : number of attempts to send it, with the present one.
    """

    id: str
    body: str
    attempts: int


class WebhookCursor(NamedTuple):
    """Record of the time at which a webhook must check an experiment for new messages.

    Attributes
    ----------
    events : number of events of the experiment at the last inspection.
    due_at : time of the next inspection if there are no new events; None if there is none.
    """

    events: int
    due_at: float | None

    def is_due(self, events: int, now: float) -> bool:
        """Return whether an experiment with so many events must be checked for webhook messages."""
        return events != self.events or (self.due_at is not None and self.due_at <= now)


class WebhookQueue:
    """The queues of messages that a database contains.

    Of all processes, one at a time sends to a receiver: it claims the first message of the queue by updating
    its row, which the database locks. Calls block, and are thread-safe.
    """

    def __init__(self, backend: Backend, lock: threading.RLock) -> None:
        self._backend, self._lock = backend, lock

    def read_cursors(self, webhook: str) -> dict[str, WebhookCursor]:
        """Return the time at which a webhook must check each experiment for new messages."""
        with self._lock:
            rows = self._backend.execute(
                "SELECT experiment, events, due_at FROM ~webhook_cursors WHERE webhook = ?", (webhook,)
            )
        return {name: WebhookCursor(events, due_at) for name, events, due_at in rows}

    def save_cursor(self, webhook: str, experiment: str, cursor: WebhookCursor) -> None:
        """Store the time at which a webhook must check an experiment for new messages."""
        with self._lock:
            self._backend.execute(
                "INSERT INTO ~webhook_cursors VALUES (?, ?, ?, ?) ON CONFLICT (webhook, experiment) "
                "DO UPDATE SET events = excluded.events, due_at = excluded.due_at",
                (webhook, experiment, *cursor),
            )

    def add(self, id: str, webhook: str, experiment: str, now: float, body: str) -> None:
        """Add a message to the queue of a webhook, unless any process has already added it."""
        with self._lock:
            if self._backend.execute("SELECT 1 FROM ~webhook_messages WHERE id = ?", (id,)):
                return  # mostly the case, and no transaction
            self._backend.execute(
                "INSERT INTO ~webhook_messages VALUES (?, ?, ?, ?, ?, 0, ?, NULL) "
                "ON CONFLICT (id) DO NOTHING",
                (id, webhook, experiment, now, body, now),
            )

    def due_webhooks(self, now: float) -> set[str]:
        """Return the webhooks that may have a message to send now."""
        with self._lock:
            rows = self._backend.execute(
                "SELECT DISTINCT webhook FROM ~webhook_messages WHERE sent_at IS NULL AND free_at <= ?",
                (now,),
            )
        return {webhook for (webhook,) in rows}

    def claim(self, webhook: str, now: float) -> WebhookMessage | None:
        """Claim the first message of a queue that was not delivered yet, and return it.

        The result is None if there is none, if it is not due, or if a process has claimed it.
        """
        with self._lock:
            rows = self._backend.execute(
                "UPDATE ~webhook_messages SET free_at = ?, attempts = attempts + 1 WHERE id = "
                "(SELECT id FROM ~webhook_messages WHERE webhook = ? AND sent_at IS NULL "
                "ORDER BY made_at, id LIMIT 1) "
                "AND sent_at IS NULL AND free_at <= ? RETURNING id, body, attempts",
                (now + CLAIM_SECONDS, webhook, now),
            )
        return WebhookMessage(*rows[0]) if rows else None

    def mark_sent(self, id: str, now: float) -> None:
        """Record that a message was delivered, and delete its text."""
        with self._lock:
            self._backend.execute(
                "UPDATE ~webhook_messages SET sent_at = ?, body = '' WHERE id = ?", (now, id)
            )

    def postpone(self, id: str, until: float) -> None:
        """Release a message that could not be delivered; nobody sends it before `until`."""
        with self._lock:
            self._backend.execute(
                "UPDATE ~webhook_messages SET free_at = ? WHERE id = ? AND sent_at IS NULL", (until, id)
            )

    def delete(self, webhook: str) -> None:
        """Delete the queue of a webhook."""
        with self._lock:
            self._backend.execute("DELETE FROM ~webhook_messages WHERE webhook = ?", (webhook,))
            self._backend.execute("DELETE FROM ~webhook_cursors WHERE webhook = ?", (webhook,))


def message_id(webhook: str, experiment: str, created_at: float, word: str) -> str:
    """Return the identifier of a message, which is the same in all processes.

    An experiment that takes the name of a deleted one has other messages.
    """
    digest = hashlib.sha256(f"{webhook}\n{experiment}\n{created_at!r}\n{word}".encode()).hexdigest()
    return f"msg_{digest[:24]}"
