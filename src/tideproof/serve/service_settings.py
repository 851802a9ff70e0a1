"""What can be set about a service: by arguments, or by environment variables."""

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
SECRET = 20  # characters that an admin key of one's own must have


@dataclass(frozen=True)
class Settings:
    """How a service behaves; each is also an environment variable, such as TIDEPROOF_RATE.

    Attributes
    ----------
    admin_key : a key that may do everything, for scripts; not stored.
    threads : commands that work at once.
    waiting : commands that may wait for a thread; more are told to come again.
    body : bytes of a request at most.
    upload : bytes of a file that is dropped on a page, at most.
    seconds : that a request may take.
    rate : requests a second of one key.
    failures : requests a minute without a valid key, of one address.
    streams : followers of events at once.
    visitors : browsers that follow changes of flags at once; more are not told to.
    reservations : pulls of an experiment that await an exposure, beyond which public clients get none.
    opened : experiments held open at once.
    flags : experiments that one OFREP request evaluates at most.
    zone : the time zone whose date is the environment of who names none.
    session : seconds until a login ends.
    origins : web sites whose scripts may call with a key, separated by commas.
    proxies : addresses of proxies whose X-Forwarded headers are believed, separated by commas.
    targets : "public": webhooks go to https addresses of the public internet only; "any": anywhere.
    log : "json", "text" or "off".
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
            raise InputError(f"TIDEPROOF_ADMIN_KEY must have at least {SECRET} letters and digits")
        if self.log not in ("json", "text", "off"):
            raise InputError(f"TIDEPROOF_LOG must be json, text or off, not {self.log!r}")
        if self.targets not in ("public", "any"):
            raise InputError(f"TIDEPROOF_TARGETS must be public or any, not {self.targets!r}")
        zone_of(self.zone)
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, (int, float)) and not (0 < value < math.inf):
                raise InputError(f"{PREFIX}{each.name.upper()} must be a number above 0, not {value!r}")

    @property
    def allowed_origins(self) -> list[str]:
        """The web sites whose scripts may call."""
        return [each.strip().rstrip("/") for each in self.origins.split(",") if each.strip()]


def zone_of(name: str) -> tzinfo:
    """Return the time zone of that name; UTC needs no files of the system."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise InputError(f"{PREFIX}ZONE must be a time zone such as Europe/London, not {name!r}") from None


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that environment variables say.

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
