"""API keys and login sessions; the store contains only hashes of their secrets.

Rows of keys are never deleted, so the store shows who created and revoked each key, and when.
"""

from __future__ import annotations

import base64
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
from tideproof.text import join_names

FRESH = 2.0  # seconds after which cached keys and sessions are read again, for changes of other processes
ENVIRONMENT = "environment"  # id of the key that the environment variable TIDEPROOF_ADMIN_KEY sets
_COLUMNS = "id, name, role, experiments, made_at, made_by, revoked_at, revoked_by"


class Key(NamedTuple):
    """An API key without its secret: its role, and the experiments to which it is restricted.

    Attributes
    ----------
    id : public identifier of the key.
    name : description, such as the person or program that uses the key.
    role : one of `ROLES`.
    experiments : names of the experiments to which the key is restricted; None for all.
    made_at, made_by : time of creation in seconds since 1970, and id of the key that created it.
    revoked_at, revoked_by : time of revocation, and id of the revoking key; None while the key is valid.
    person : name of the person who logged in with the key; empty without a login or a name.
    """

    id: str
    name: str
    role: str
    experiments: tuple[str, ...] | None
    made_at: float
    made_by: str | None = None
    revoked_at: float | None = None
    revoked_by: str | None = None
    person: str = ""

    def may(self, right: Right) -> bool:
        """Return whether the role of the API key includes a right."""
        return right in ROLES[self.role]

    @property
    def is_public(self) -> bool:
        """Whether anybody can read the API key, because it is part of a web page or an app."""
        return self.role == "public"

    def reaches(self, experiment: str) -> bool:
        """Return whether the API key may be used for an experiment."""
        return self.experiments is None or experiment in self.experiments

    def covers(self, role: str, experiments: Sequence[str] | None) -> bool:
        """Return whether this key has all rights of a key with the given role and experiments."""
        if not ROLES[role] <= ROLES[self.role] or (self.is_public and role != "public"):
            return False
        if self.experiments is None:
            return True
        return experiments is not None and set(experiments) <= set(self.experiments)


class KeyStore:
    """The API keys and login sessions that a database contains.

    Calls may block, and are thread-safe.
    """

    def __init__(self, backend: Backend, admin_key: str = "", lock: threading.RLock | None = None) -> None:
        self._backend, self._lock = backend, lock or threading.RLock()
        self._environment_keys: dict[str, Key] = {}
        if admin_key:
            self._environment_keys[hash_secret(admin_key)] = Key(
                ENVIRONMENT, "admin", "admin", None, time.time()
            )
        self._keys_by_hash: dict[str, Key] = dict(self._environment_keys)
        # By hash: id of the key, end in seconds since 1970, time of the lookup on the monotonic clock
        self._sessions: dict[str, tuple[str, float, float]] = {}
        self._refreshed_at = 0.0

    # -- keys

    def create_key(
        self, name: str, role: str, experiments: Sequence[str] | None, by: Key | None
    ) -> tuple[str, Key]:
        """Create an API key, and return it with its secret.

        The secret comes first; the key itself does not contain it.

        A key cannot create a key with rights that it lacks; that raises `InputError`.
        """
        if role not in ROLES:
            raise UnknownName.with_suggestion("role", role, ROLES)
        if by is not None and not by.covers(role, experiments):
            raise InputError(
                f"a key cannot create a key that has more rights than itself: it has the role "
                f"{by.role!r} for {name_experiments(by.experiments)}, and the new key would have the role "
                f"{role!r} for {name_experiments(experiments)}"
            )
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
            self._backend.execute(
                "INSERT INTO ~api_keys (id, hash, name, role, experiments, made_at, made_by) "
                "VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key.id, hash_secret(secret), name, role, json.dumps(experiments), key.made_at, key.made_by),
            )
            self._keys_by_hash[hash_secret(secret)] = key
        return secret, key

    def revoke(self, id: str, by: Key) -> None:
        """Revoke an API key and end its login sessions; revoking it again has no effect."""
        known = {key.id: key for key in self.list_keys()}
        if id not in known:
            raise UnknownName(f"there is no key with the id {id!r}")
        if not by.covers(known[id].role, known[id].experiments):
            raise InputError(
                f"your key cannot revoke the key {id!r}, because that key has rights that yours lacks"
            )
        with self._lock:
            self._backend.execute(
                "UPDATE ~api_keys SET revoked_at = ?, revoked_by = ? WHERE id = ? AND revoked_at IS NULL",
                (time.time(), by.id, id),
            )
            self._backend.execute("DELETE FROM ~sessions WHERE key = ?", (id,))
            self._keys_by_hash = {hash: key for hash, key in self._keys_by_hash.items() if key.id != id}
            self._sessions = {hash: found for hash, found in self._sessions.items() if found[0] != id}

    def list_keys(self) -> list[Key]:
        """Return all API keys, oldest first, including revoked ones."""
        with self._lock:
            rows = self._backend.execute(f"SELECT {_COLUMNS} FROM ~api_keys ORDER BY made_at, id", ())
        return [_key(row) for row in rows]

    def exists(self, role: str | None = None) -> bool:
        """Return whether a valid API key exists.

        If a role is given, only keys with this role count.
        """
        every = [
            *self._environment_keys.values(),
            *(key for key in self.list_keys() if key.revoked_at is None),
        ]
        return any(role is None or key.role == role for key in every)

    # -- authentication

    @property
    def is_fresh(self) -> bool:
        """Whether the cached API keys were read from the store recently."""
        return time.monotonic() - self._refreshed_at < FRESH

    def cached_key(self, secret: str) -> Key | None:
        """Return the cached API key with this secret, or None if there is none.

        The call never blocks.
        """
        return self._keys_by_hash.get(hash_secret(secret))

    def is_valid(self, id: str) -> bool:
        """Return whether the API key with this id is valid, according to the cache.

        Revoked keys are not cached. The call never blocks.
        """
        return any(key.id == id for key in list(self._keys_by_hash.values()))

    def refresh(self) -> None:
        """Read the valid API keys from the store, and empty the cache of login sessions."""
        with self._lock:
            rows = self._backend.execute(
                f"SELECT hash, {_COLUMNS} FROM ~api_keys WHERE revoked_at IS NULL", ()
            )
            self._keys_by_hash = {row[0]: _key(row[1:]) for row in rows} | self._environment_keys
            self._sessions = {}
            self._refreshed_at = time.monotonic()

    # -- tickets: short-lived tokens in URLs, which replace the API key where clients cannot send headers

    def create_ticket(self, key: Key, seconds: float) -> str:
        """Create a ticket: a token in a URL that replaces an API key for a limited time.

        Only `find_ticket_key` accepts it.
        """
        end = f"{key.id}.{int(time.time() + seconds)}"
        hash = next((hash for hash, each in list(self._keys_by_hash.items()) if each.id == key.id), "")
        return f"{end}.{_mac(hash, end)}"

    def find_ticket_key(self, ticket: str) -> Key | None:
        """Return the API key that a ticket replaces; a ticket is a short-lived token in a URL.

        The result is None if the ticket is invalid or has expired, or if the key was revoked. The call never
        blocks.
        """
        end, _, mac = ticket.rpartition(".")
        id, _, until = end.partition(".")
        for hash, key in list(self._keys_by_hash.items()):
            if key.id == id and hmac.compare_digest(_mac(hash, end).encode(), mac.encode("utf-8", "replace")):
                return key if int(until) > time.time() else None
        return None

    # -- sessions

    def begin_session(self, key: Key, seconds: float, person: str = "") -> str:
        """Start a login session of a person with an API key, and return the secret of the session.

        The name of the person is part of the secret, so that nobody can change it afterwards. Expired
        sessions are deleted.
        """
        secret, end = secrets.token_urlsafe(32), time.time() + seconds
        if person:
            secret += "." + base64.urlsafe_b64encode(person.encode("utf-8", "replace")).decode().rstrip("=")
        with self._lock:
            self._backend.execute("DELETE FROM ~sessions WHERE ends_at < ?", (time.time(),))
            self._backend.execute(
                "INSERT INTO ~sessions VALUES (?, ?, ?)", (hash_secret(secret), key.id, end)
            )
            self._sessions[hash_secret(secret)] = key.id, end, time.monotonic()
        return secret

    def end_session(self, secret: str) -> None:
        """End a login session, if it exists."""
        with self._lock:
            self._backend.execute("DELETE FROM ~sessions WHERE hash = ?", (hash_secret(secret),))
            self._sessions.pop(hash_secret(secret), None)

    def find_session_key(self, secret: str) -> Key | None:
        """Return the API key of a login session with the name of the person, or None if it has ended.

        The call may read the store.
        """
        hash = hash_secret(secret)
        found = self._sessions.get(hash)
        if found is None or time.monotonic() - found[2] > FRESH:
            with self._lock:
                rows = self._backend.execute("SELECT key, ends_at FROM ~sessions WHERE hash = ?", (hash,))
                if not rows:
                    self._sessions.pop(hash, None)
                    return None
                found = self._sessions[hash] = rows[0][0], rows[0][1], time.monotonic()
        if found[1] < time.time():
            return None
        key = next((key for key in list(self._keys_by_hash.values()) if key.id == found[0]), None)
        return None if key is None else key._replace(person=_person(secret))


def _person(secret: str) -> str:
    """Return the name of the person in the secret of a session; the secret must have been verified."""
    encoded = secret.partition(".")[2]
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()


def name_experiments(names: Sequence[str] | None) -> str:
    """Return the experiments to which a key is restricted, in words.

    >>> name_experiments(None), name_experiments([]), name_experiments(["a", "b"])
    ('all experiments', 'no experiments', "the experiments 'a' and 'b'")
    """
    if not names:
        return "all experiments" if names is None else "no experiments"
    return f"the experiment{'s' if len(names) > 1 else ''} {join_names(map(repr, names))}"


def hash_secret(secret: str) -> str:
    """Return the hash of a secret, as it is stored; a fast hash is safe because secrets are random."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _mac(hash: str, said: str) -> str:
    """Return the message authentication code of a ticket, a short-lived token in a URL."""
    return hmac.new(hash.encode(), f"ticket {said}".encode("utf-8", "surrogatepass"), "sha256").hexdigest()


def _key(row: Sequence[object]) -> Key:
    """Return the API key in a row of the table `api_keys`."""
    id, name, role, experiments, *rest = row
    only = json.loads(str(experiments))
    return Key(str(id), str(name), str(role), None if only is None else tuple(only), *rest)  # type: ignore[arg-type]
