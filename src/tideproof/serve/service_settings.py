"""Settings of the service, from arguments or environment variables."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tideproof.errors import InputError

PREFIX = "TIDEPROOF_"
SECRET = 20  # minimum length of an admin key that the operator chooses


@dataclass(frozen=True)
class Settings:
    """Settings of a service; each is also an environment variable, such as TIDEPROOF_RATE.

    Attributes
    ----------
    admin_key : an API key with all rights, for scripts; it is not stored.
    threads : maximum number of blocking calls that run at the same time.
    waiting : maximum number of requests that wait for a thread; further ones are refused with status 503.
    body : maximum size of a request in bytes.
    upload : maximum size of an uploaded file in bytes.
    seconds : maximum duration of a request in seconds.
    rate : requests per second that one API key may send.
    failures : requests per minute without a valid key that one address may send.
    streams : maximum number of event streams at the same time.
    visitors : maximum number of browsers that are notified when flags change.
    reservations : maximum number of pulls per experiment that await an exposure; beyond it, clients with the
    role evaluator get none.
    opened : maximum number of experiments that are open at the same time.
    flags : maximum number of experiments that one OFREP request evaluates.
    zone : time zone whose current date is the default environment.
    session : duration of a login in seconds.
    origins : web sites whose scripts may call the API, separated by commas.
    proxies : addresses of proxies whose X-Forwarded headers are trusted, separated by commas.
    targets : "public" restricts webhooks to https URLs on the public internet; "any" allows all URLs.
    log : format of the log: "json", "text" or "off".
    """

    admin_key: str = ""
    threads: int = 32
    waiting: int = 1000
    body: int = 2**20
    upload: int = 2**25
    seconds: float = 30.0
    rate: float = 5000.0
    failures: float = 60.0
    streams: int = 100
    visitors: int = 1000
    reservations: int = 100_000
    opened: int = 200
    flags: int = 100
    zone: str = "UTC"
    session: float = 12 * 3600.0
    origins: str = ""
    proxies: str = ""
    targets: str = "public"
    log: str = "json"

    def __post_init__(self) -> None:
        if self.admin_key and (len(self.admin_key) < SECRET or not self.admin_key.isascii()):
            raise InputError(
                f"TIDEPROOF_ADMIN_KEY must have at least {SECRET} characters, all of them ASCII, and has "
                f"{len(self.admin_key)}"
            )
        if self.log not in ("json", "text", "off"):
            raise InputError(f"TIDEPROOF_LOG must be json, text or off, not {self.log!r}")
        if self.targets not in ("public", "any"):
            raise InputError(f"TIDEPROOF_TARGETS must be public or any, not {self.targets!r}")
        find_time_zone(self.zone)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, (int, float)) and not (0 < value < math.inf):
                raise InputError(f"{PREFIX}{each.name.upper()} must be a number above 0, not {value!r}")

    @property
    def allowed_origins(self) -> list[str]:
        """The web sites whose scripts may call the API, as a list."""
        return [each.strip().rstrip("/") for each in self.origins.split(",") if each.strip()]


def find_time_zone(name: str) -> tzinfo:
    """Return the time zone with this name; UTC works without the system's time zone files."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise InputError(f"{PREFIX}ZONE must be a time zone such as Europe/London, not {name!r}") from None


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that environment variables define.

    >>> from_environment({"TIDEPROOF_RATE": "10"}).rate
    10.0
    """
    found: dict[str, Any] = {}
    for each in fields(Settings):
        text = environment.get(PREFIX + each.name.upper(), "")
        if not text:
            continue
        kind: Any = type(each.default)
        try:
            found[each.name] = kind(text)
        except ValueError:
            raise InputError(f"{PREFIX}{each.name.upper()} must be a number, not {text!r}") from None
    return Settings(**found)
