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
from tideproof.store.chain_key import read_secret

PREFIX = "TIDEPROOF_"
ADMIN_KEY_FILE = "TIDEPROOF_ADMIN_KEY_FILE"  # names a file with the admin key
SECRET = 20  # minimum length of an admin key that the operator chooses

# Variables that were renamed, and their present names, without the prefix. Names that are unknown for another
# reason are ignored, because programs around the service set some, such as Kubernetes TIDEPROOF_SERVICE_HOST.
RENAMED = {
    "WAITING": "WAITING_REQUESTS",
    "BODY": "BODY_BYTES",
    "UPLOAD": "UPLOAD_BYTES",
    "SECONDS": "REQUEST_SECONDS",
    "RATE": "REQUESTS_PER_SECOND",
    "FAILURES": "FAILURES_PER_MINUTE",
    "STREAMS": "EVENT_STREAMS",
    "VISITORS": "FLAG_STREAMS",
    "OPENED": "OPEN_EXPERIMENTS",
    "FLAGS": "FLAGS_PER_REQUEST",
    "ZONE": "TIME_ZONE",
    "SESSION": "SESSION_SECONDS",
    "PROXIES": "TRUSTED_PROXIES",
    "TARGETS": "WEBHOOK_TARGETS",
    "LOG": "LOG_FORMAT",
}


@dataclass(frozen=True)
class Settings:
    """Settings of the web service, such as how many requests per second a caller may send.

    Each is also an environment variable, such as TIDEPROOF_REQUESTS_PER_SECOND.

    Attributes
    ----------
    admin_key : an API key with all rights, for scripts; it is not stored.
    threads : maximum number of blocking calls that run at the same time.
    waiting_requests : maximum number of requests that wait for a thread; further ones are refused with
    status 503.
    body_bytes : maximum size of a request in bytes.
    upload_bytes : maximum size of an uploaded file in bytes.
    request_seconds : maximum duration of a request in seconds.
    upload_seconds : maximum duration of the analysis of an uploaded file in seconds.
    upload_memory_bytes : maximum memory of the process that analyzes an uploaded file, in bytes.
    upload_arms, upload_cells : maximum number of arms in an uploaded file, and of pairs of an arm and an
    environment.
    connections : maximum number of open connections; if there are more, those are closed that have waited
    longest for their clients.
    connections_per_address : maximum number of open connections of one address that is no trusted proxy.
    header_seconds : seconds in which the headers of a request must arrive.
    idle_seconds : seconds after which a connection without a further request is closed.
    requests_per_second : requests per second that one API key may send.
    address_requests_per_second : requests per second that one address may send.
    new_visitors_per_minute : new visitors per minute that public keys may bring into one experiment.
    address_new_visitors_per_minute : the same of one address.
    failures_per_minute : requests per minute without a valid key that one address may send.
    event_streams : maximum number of event streams at the same time.
    flag_streams : maximum number of browsers that are notified when flags change.
    reservations : maximum number of reserved pulls per experiment, whose units have not seen their arms yet;
    beyond it, clients with the role evaluator get no new pull.
    open_experiments : maximum number of experiments that are open at the same time.
    postgres_connections : maximum number of connections to a PostgreSQL server, which all experiments share.
    flags_per_request : maximum number of running experiments that one OFREP request evaluates.
    retention_days : days after which an archived experiment is deleted; 0 keeps archived experiments.
    time_zone : time zone whose current date is the default environment.
    session_seconds : duration of a login in seconds.
    origins : web sites whose scripts may call the API, separated by commas.
    trusted_proxies : addresses of proxies whose X-Forwarded headers are trusted, separated by commas.
    webhook_targets : "public" restricts webhooks to https URLs on the public internet; "any" allows all URLs.
    log_format : format of the log: "json", "text" or "off".
    """

    admin_key: str = ""
    threads: int = 32
    waiting_requests: int = 1000
    body_bytes: int = 2**20
    upload_bytes: int = 2**25
    request_seconds: float = 30.0
    upload_seconds: float = 25.0
    upload_memory_bytes: int = 2**30
    upload_arms: int = 200
    upload_cells: int = 20_000
    connections: int = 2000
    connections_per_address: int = 256
    header_seconds: float = 10.0
    idle_seconds: float = 30.0
    requests_per_second: float = 5000.0
    address_requests_per_second: float = 1000.0
    new_visitors_per_minute: float = 600.0
    address_new_visitors_per_minute: float = 30.0
    failures_per_minute: float = 60.0
    event_streams: int = 100
    flag_streams: int = 1000
    reservations: int = 100_000
    open_experiments: int = 200
    postgres_connections: int = 20
    flags_per_request: int = 1000
    retention_days: float = 0.0
    time_zone: str = "UTC"
    session_seconds: float = 12 * 3600.0
    origins: str = ""
    trusted_proxies: str = ""
    webhook_targets: str = "public"
    log_format: str = "json"

    def __post_init__(self) -> None:
        if self.admin_key and (len(self.admin_key) < SECRET or not self.admin_key.isascii()):
            raise InputError(
                f"TIDEPROOF_ADMIN_KEY must have at least {SECRET} characters, all of them ASCII, and has "
                f"{len(self.admin_key)}"
            )
        if self.log_format not in ("json", "text", "off"):
            raise InputError(f"TIDEPROOF_LOG_FORMAT must be json, text or off, not {self.log_format!r}")
        if self.webhook_targets not in ("public", "any"):
            raise InputError(f"TIDEPROOF_WEBHOOK_TARGETS must be public or any, not {self.webhook_targets!r}")
        find_time_zone(self.time_zone)
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, (int, float)) or 0 < value < math.inf:
                continue
            if each.name != "retention_days":
                raise InputError(f"{PREFIX}{each.name.upper()} must be a number above 0, not {value!r}")
            if value != 0:
                raise InputError(
                    f"{PREFIX}RETENTION_DAYS must be a number above 0, or 0 to keep archived experiments, "
                    f"not {value!r}"
                )

    @property
    def allowed_origins(self) -> list[str]:
        """The web sites whose scripts may call the API, as a list."""
        return [each.strip().rstrip("/") for each in self.origins.split(",") if each.strip()]


def find_time_zone(name: str) -> tzinfo:
    """Return the time zone with this name.

    UTC works without the system's time zone files.
    """
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise InputError(
            f"{PREFIX}TIME_ZONE must be a time zone such as Europe/London, not {name!r}"
        ) from None


def from_environment(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings that environment variables define.

    Raise `InputError` if one of them has a former name, which would otherwise have no effect.

    >>> from_environment({"TIDEPROOF_REQUESTS_PER_SECOND": "10"}).requests_per_second
    10.0
    """
    for old, new in RENAMED.items():
        if environment.get(PREFIX + old, ""):
            raise InputError(f"the environment variable {PREFIX}{old} is now named {PREFIX}{new}: rename it")
    found: dict[str, Any] = {}
    for each in fields(Settings):
        text = environment.get(PREFIX + each.name.upper(), "")
        if each.name == "admin_key" and not text and (path := environment.get(ADMIN_KEY_FILE, "")):
            text = read_secret(ADMIN_KEY_FILE, path)
        if not text:
            continue
        kind: Any = type(each.default)
        try:
            found[each.name] = kind(text)
        except ValueError:
            raise InputError(f"{PREFIX}{each.name.upper()} must be a number, not {text!r}") from None
    return Settings(**found)
