"""HTTP client of a service, which retries requests and raises the same errors as a local experiment."""

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

PATIENCE = 30.0  # seconds to keep retrying while the service cannot be reached
TIMEOUT = 60.0  # seconds to wait for a response
_PAUSES = 0.05, 0.5  # seconds between two attempts: the first, doubled each time, and the longest
NOTHING = object()  # sends a JSON null; fields that are None are omitted
_MAX_RETRY_AFTER = 2.0  # longest wait in seconds that a Retry-After header can cause
_RETRY_STATUSES = (429, 502, 503, 504)


def _contents(response: httpx.Response) -> Any:
    """Return the JSON body of a response, or None if the body is empty."""
    return response.json() if response.content else None


class ServiceClient:
    """HTTP client of one service with an API key; safe to use from several threads."""

    def __init__(self, url: str, key: str | None, transport: Any = None) -> None:
        key = os.environ.get("TIDEPROOF_KEY") if key is None else key
        if not isinstance(key, str) or not key.isascii() or not key:
            raise InputError(
                "an API key is needed: pass it to tp.connect(url, key) or set the environment variable "
                "TIDEPROOF_KEY"
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
        """Send a GET request and return the JSON response."""
        given = {name: value for name, value in params.items() if value is not None}
        return self._request("GET", path, {"params": given})

    def post(self, path: str, body: dict[str, Any], once: str | None = None) -> Any:
        """Send a POST request that the service executes once, even if lost connections cause retries."""
        headers = {"Idempotency-Key": once or uuid.uuid4().hex}
        given = {
            name: None if value is NOTHING else value for name, value in body.items() if value is not None
        }
        return self._request("POST", path, {"json": given, "headers": headers})

    def delete(self, path: str) -> None:
        """Send a DELETE request."""
        self._request("DELETE", path, {})

    def text(self, path: str) -> str:
        """Send a GET request and return the response as text."""
        return str(self._request("GET", path, {}, lambda response: response.text))

    def close(self) -> None:
        """Close the HTTP connections to the service."""
        self._client.close()

    def _request(
        self,
        method: str,
        path: str,
        options: dict[str, Any],
        read: Callable[[httpx.Response], Any] = _contents,
    ) -> Any:
        """Send a request, retrying while the service is unreachable or busy, and return its response."""
        end, tries = time.monotonic() + PATIENCE, 0
        while True:
            wait = min(_PAUSES[0] * 2**tries, _PAUSES[1]) * random.uniform(0.5, 1.0)
            is_last = time.monotonic() + wait > end
            tries += 1
            try:
                response = self._client.request(method, path, **options)
            except httpx.TransportError as error:
                if is_last:
                    raise StoreError(f"the service at {self.url} cannot be reached: {error}") from None
            except (httpx.InvalidURL, ValueError) as error:
                raise InputError(f"the request cannot be sent to {self.url}: {error}") from None
            else:
                if response.is_success:
                    return read(response)
                if is_last or response.status_code not in _RETRY_STATUSES:
                    _raise(response, self.url)
                wait = max(wait, _retry_after(response))
            time.sleep(wait)


def _retry_after(response: httpx.Response) -> float:
    """Return the seconds to wait before a retry, from the Retry-After header of a response."""
    seconds = response.headers.get("retry-after", "")
    return min(float(seconds), _MAX_RETRY_AFTER) if seconds.isdigit() else 0.0


def _raise(response: httpx.Response, url: str) -> NoReturn:
    """Raise the exception that an error response describes: the one that was raised on the service."""
    try:
        problem = response.json()
        detail, name = str(problem["detail"]), str(problem["error"])
    except (ValueError, KeyError, TypeError):
        raise StoreError(
            f"the answer from {url} does not come from a tideproof service (status {response.status_code})"
        ) from None
    kind = getattr(errors, name) if name in errors.__all__ else InputError
    raise kind(detail)


def checked_url(url: Any) -> tuple[str, str | None]:
    """Split a URL into the address of a service and the name of an experiment.

    The name is None if the URL contains none.

    >>> checked_url("http://127.0.0.1:8080/v1/experiments/my%20prices")
    ('http://127.0.0.1:8080', 'my prices')
    """
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise InputError(
            f"the URL of a service must begin with http:// or https://, such as 'http://127.0.0.1:8080', "
            f"not {describe_value(url)}"
        )
    where, slash, name = url.partition("/v1/experiments/")
    return where.rstrip("/"), unquote(name.rstrip("/")) if slash and name else None
