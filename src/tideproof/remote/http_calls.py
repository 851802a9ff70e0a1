"""Calls of a service: repeated where a connection is lost, and raising what the experiment raised there."""

from __future__ import annotations

import os
import random
import time
import uuid
import weakref
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import unquote

from tideproof import errors
from tideproof.errors import InputError, MissingExtra, StoreError, describe_value

try:
    import httpx
except ImportError:
    raise MissingExtra.for_module("httpx", "serve", "tp.connect") from None

PATIENCE = 30.0  # seconds that a service may be away
TIMEOUT = 60.0  # seconds that an answer may take
_PAUSES = 0.05, 0.5  # seconds between two tries, twice as many each time, and at most
NOTHING = object()  # a null that is meant; None is left out
_ASKED = 2.0  # seconds that a service which is too busy may have us wait
_AGAIN = (429, 502, 503, 504)


def _contents(found: httpx.Response) -> Any:
    return found.json() if found.content else None


class Calls:
    """A service, and a key for it; safe to use from several threads."""

    def __init__(self, url: str, key: str | None, transport: Any = None) -> None:
        key = os.environ.get("TIDEPROOF_KEY") if key is None else key
        if not isinstance(key, str) or not key.isascii() or not key:
            raise InputError(
                "a key is needed: tp.connect(url, key), or the environment variable TIDEPROOF_KEY"
            )
        self.url = url
        self._client = httpx.Client(
            base_url=url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(TIMEOUT, connect=5.0),
            transport=transport,
        )
        weakref.finalize(self, self._client.close)

    def get(self, path: str, **params: Any) -> Any:
        """Return what a service says."""
        given = {name: value for name, value in params.items() if value is not None}
        return self._answer("GET", path, {"params": given})

    def post(self, path: str, body: dict[str, Any], once: str | None = None) -> Any:
        """Let a service do something, once, however often the connection is lost."""
        headers = {"Idempotency-Key": once or uuid.uuid4().hex}
        given = {
            name: None if value is NOTHING else value for name, value in body.items() if value is not None
        }
        return self._answer("POST", path, {"json": given, "headers": headers})

    def text(self, path: str) -> str:
        """Return a file as it is sent."""
        return str(self._answer("GET", path, {}, lambda found: found.text))

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def _answer(
        self, method: str, path: str, how: dict[str, Any], read: Callable[[httpx.Response], Any] = _contents
    ) -> Any:
        end, tries = time.monotonic() + PATIENCE, 0
        while True:
            wait = min(_PAUSES[0] * 2**tries, _PAUSES[1]) * random.uniform(0.5, 1.0)
            last = time.monotonic() + wait > end
            tries += 1
            try:
                found = self._client.request(method, path, **how)
            except httpx.TransportError as error:
                if last:
                    raise StoreError(f"{self.url} cannot be reached: {error}") from None
            except (httpx.InvalidURL, ValueError) as error:
                raise InputError(f"this cannot be sent to {self.url}: {error}") from None
            else:
                if found.is_success:
                    return read(found)
                if last or found.status_code not in _AGAIN:
                    _raise(found, self.url)
                wait = max(wait, _seconds(found))
            time.sleep(wait)


def _seconds(found: httpx.Response) -> float:
    """Return after how many seconds a service wants to be asked again."""
    said = found.headers.get("retry-after", "")
    return min(float(said), _ASKED) if said.isdigit() else 0.0


def _raise(found: httpx.Response, url: str) -> NoReturn:
    """Raise what the experiment raised there."""
    try:
        said = found.json()
        detail, name = str(said["detail"]), str(said["error"])
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{url} answers {found.status_code}, and is no tideproof service") from None
    kind = getattr(errors, name) if name in errors.__all__ else InputError
    raise kind(detail)


def checked_url(url: Any) -> tuple[str, str | None]:
    """Return the address of a service, and the experiment if the URL is that of one.

    >>> checked_url("http://127.0.0.1:8080/v1/experiments/my%20prices")
    ('http://127.0.0.1:8080', 'my prices')
    """
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise InputError(f"a service is a URL such as 'http://127.0.0.1:8080', not {describe_value(url)}")
    where, slash, name = url.partition("/v1/experiments/")
    return where.rstrip("/"), unquote(name.rstrip("/")) if slash and name else None
