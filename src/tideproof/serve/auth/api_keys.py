"""Keys and sessions: secrets that are shown once, and of which the store has a hash only.

A row is never deleted: who made and who took back a key, and when, stays in it.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple

from tideproof.errors import InputError, UnknownName
from tideproof.serve.auth.roles import ROLES, Right
from tideproof.store.backend import Backend

FRESH = 2.0  # seconds after which another process's changes are looked for
ENVIRONMENT = "environment"  # the id of the key that an environment variable sets
_COLUMNS = "id, name, role, experiments, made_at, made_by, revoked_at, revoked_by"


class Key(NamedTuple):
    """What a caller may do.

    Attributes
    ----------
    id : by which it is known; no secret.
    name : whose it is, in words.
    role : one of `ROLES`.
    experiments : to which it is restricted; None for all.
    """

    id: str
    name: str
    role: str
    experiments: tuple[str, ...] | None
    made_at: float
    made_by: str | None = None
    revoked_at: float | None = None
    revoked_by: str | None = None

    def may(self, right: Right) -> bool:
        """Tell whether its role has a right."""
        return right in ROLES[self.role]

    def reaches(self, experiment: str) -> bool:
        """Tell whether it is for that experiment."""
        return self.experiments is None or experiment in self.experiments

    def covers(self, role: str, experiments: Sequence[str] | None) -> bool:
        """Tell whether a key with that role and those experiments could do nothing that this one cannot."""
        if not ROLES[role] <= ROLES[self.role]:
            return False
        if self.experiments is None:
            return True
        return experiments is not None and set(experiments) <= set(self.experiments)


class Keys:
    """The keys and sessions of a store; its calls may block, and are safe from threads."""

    def __init__(self, place: Backend, admin_key: str = "", lock: threading.RLock | None = None) -> None:
        self._place, self._lock = place, lock or threading.RLock()
        self._own: dict[str, Key] = {}
        if admin_key:
            self._own[hashed(admin_key)] = Key(ENVIRONMENT, "admin", "admin", None, time.time())
        self._known: dict[str, Key] = dict(self._own)
        self._sessions: dict[str, tuple[str, float, float]] = {}  # key, end, when that was looked up
        self._read_at = 0.0

    # -- keys

    def mint(
        self, name: str, role: str, experiments: Sequence[str] | None, by: Key | None
    ) -> tuple[str, Key]:
        """Return a new secret and its key; one with more rights than its maker has is refused."""
        if role not in ROLES:
            raise UnknownName.with_suggestion("role", role, ROLES)
        if by is not None and not by.covers(role, experiments):
            raise InputError(f"a key cannot make one that may do more than itself: {role!r} is refused")
        secret = f"tp_{secrets.token_urlsafe(32)}"
        key = Key(
            f"k{secrets.token_hex(5)}",
            name,
            role,
            None if experiments is None else tuple(experiments),
            time.time(),
            None if by is None else by.id,
        )
        with self._lock:
            self._place.statement(
                "INSERT INTO ~api_keys (id, hash, name, role, experiments, made_at, made_by) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key.id, hashed(secret), name, role, json.dumps(experiments), key.made_at, key.made_by),
            )
            self._known[hashed(secret)] = key
        return secret, key

    def revoke(self, id: str, by: Key) -> None:
        """Take a key back, and end its sessions; a repeat is harmless."""
        known = {key.id: key for key in self.listed()}
        if id not in known:
            raise UnknownName(f"there is no key {id!r}")
        if not by.covers(known[id].role, known[id].experiments):
            raise InputError(f"a key cannot take back one that may do more than itself: {id!r}")
        with self._lock:
            self._place.statement(
                "UPDATE ~api_keys SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL",
                (time.time(), by.id, id),
            )
            self._place.statement("DELETE FROM ~sessions WHERE key = ?", (id,))
            self._known = {hash: key for hash, key in self._known.items() if key.id != id}
            self._sessions = {hash: found for hash, found in self._sessions.items() if found[0] != id}

    def listed(self) -> list[Key]:
        """Return all keys, the oldest first, those that were taken back too."""
        with self._lock:
            rows = self._place.statement(f"SELECT {_COLUMNS} FROM ~api_keys ORDER BY made_at, id", ())
        return [_key(row) for row in rows]

    def exist(self, role: str | None = None) -> bool:
        """Tell whether there is a key that is valid, of that role."""
        every = [*self._own.values(), *(key for key in self.listed() if key.revoked_at is None)]
        return any(role is None or key.role == role for key in every)

    # -- who calls

    @property
    def fresh(self) -> bool:
        """Whether what is known was read a moment ago."""
        return time.monotonic() - self._read_at < FRESH

    def known(self, secret: str) -> Key | None:
        """Return the key of a secret, as far as it is known without reading; never blocks."""
        return self._known.get(hashed(secret))

    def is_valid(self, id: str) -> bool:
        """Tell whether a key has not been taken back, as far as is known; never blocks."""
        return any(key.id == id for key in list(self._known.values()))

    def read(self) -> None:
        """Read what other processes changed."""
        with self._lock:
            rows = self._place.statement(
                f"SELECT hash, {_COLUMNS} FROM ~api_keys WHERE revoked_at IS NULL", ()
            )
            self._known = {row[0]: _key(row[1:]) for row in rows} | self._own
            self._sessions = {}
            self._read_at = time.monotonic()

    # -- tickets: what an address may have in it, where a client can send no header

    def ticket(self, key: Key, seconds: float) -> str:
        """Return a word that stands for a key for so long, and only where `of_ticket` is asked."""
        end = f"{key.id}.{int(time.time() + seconds)}"
        hash = next((hash for hash, each in list(self._known.items()) if each.id == key.id), "")
        return f"{end}.{_mac(hash, end)}"

    def of_ticket(self, ticket: str) -> Key | None:
        """Return the key of a ticket, unless it is over or the key was taken back; never blocks."""
        end, _, mac = ticket.rpartition(".")
        id, _, until = end.partition(".")
        for hash, key in list(self._known.items()):
            if key.id == id and hmac.compare_digest(_mac(hash, end).encode(), mac.encode("utf-8", "replace")):
                return key if int(until) > time.time() else None
        return None

    # -- sessions

    def begin_session(self, key: Key, seconds: float) -> str:
        """Return the secret of a new session of a key."""
        secret, end = secrets.token_urlsafe(32), time.time() + seconds
        with self._lock:
            self._place.statement("DELETE FROM ~sessions WHERE ends_at < ?", (time.time(),))
            self._place.statement("INSERT INTO ~sessions VALUES (?, ?, ?)", (hashed(secret), key.id, end))
            self._sessions[hashed(secret)] = key.id, end, time.monotonic()
        return secret

    def end_session(self, secret: str) -> None:
        """End a session, if there is one."""
        with self._lock:
            self._place.statement("DELETE FROM ~sessions WHERE hash = ?", (hashed(secret),))
            self._sessions.pop(hashed(secret), None)

    def of_session(self, secret: str) -> Key | None:
        """Return the key of a session; may read."""
        hash = hashed(secret)
        found = self._sessions.get(hash)
        if found is None or time.monotonic() - found[2] > FRESH:
            with self._lock:
                rows = self._place.statement("SELECT key, ends_at FROM ~sessions WHERE hash = ?", (hash,))
                if not rows:
                    self._sessions.pop(hash, None)
                    return None
                found = self._sessions[hash] = rows[0][0], rows[0][1], time.monotonic()
        if found[1] < time.time():
            return None
        return next((key for key in list(self._known.values()) if key.id == found[0]), None)


def hashed(secret: str) -> str:
    """Return what is kept of a secret; it is random, so that no slower hash is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _mac(hash: str, said: str) -> str:
    return hmac.new(hash.encode(), f"ticket {said}".encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def _key(row: Sequence[object]) -> Key:
    id, name, role, experiments, *rest = row
    only = json.loads(str(experiments))
    return Key(str(id), str(name), str(role), None if only is None else tuple(only), *rest)  # type: ignore[arg-type]
