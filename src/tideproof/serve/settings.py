"""What can be set about a service: by arguments, or by environment variables."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

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
    reservations : pulls of an experiment that await an exposure, beyond which public clients get none.
    opened : experiments held open at once.
    session : seconds until a login ends.
    origins : web sites whose scripts may call with a key, separated by commas.
    proxies : addresses of proxies whose X-Forwarded headers are believed, separated by commas.
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
    reservations: int = 100_000
    opened: int = 200
    session: float = 12 * 3600.0
    origins: str = ""
    proxies: str = ""
    log: str = "json"

    def __post_init__(self) -> None:
        if self.admin_key and (len(self.admin_key) < SECRET or not self.admin_key.isascii()):
            raise InputError(f"TIDEPROOF_ADMIN_KEY must have at least {SECRET} letters and digits")
        if self.log not in ("json", "text", "off"):
            raise InputError(f"TIDEPROOF_LOG must be json, text or off, not {self.log!r}")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, (int, float)) and not (0 < value < math.inf):
                raise InputError(f"{PREFIX}{each.name.upper()} must be a number above 0, not {value!r}")

    @property
    def allowed_origins(self) -> list[str]:
        """The web sites whose scripts may call."""
        return [each.strip().rstrip("/") for each in self.origins.split(",") if each.strip()]


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
