"""A provider for OpenFeature: which arm a visitor gets, and by `track`, who saw it and what they brought."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tideproof.errors import InputError, MissingExtra

try:
    from openfeature.contrib.provider.ofrep import OFREPProvider
    from openfeature.provider import Metadata
except ImportError:
    raise MissingExtra.for_module("openfeature-provider-ofrep", "openfeature", "TideproofProvider") from None

from tideproof.remote.http_calls import Calls, checked_url

if TYPE_CHECKING:
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.track import TrackingEventDetails


class TideproofProvider(OFREPProvider):
    """OpenFeature's provider for OFREP, which also tracks.

    `client.track("buttons", context)` says that the visitor of the context saw what the flag `buttons` gave
    them; with `TrackingEventDetails(value=20.0, attributes={"key": "order 7"})`, what they brought, once for
    each key. The latter needs a key of the role reporter.

    Parameters
    ----------
    url
        Of a service that `tideproof serve` started.
    key
        What it is to be let in with; by default the environment variable `TIDEPROOF_KEY`.
    timeout
        Seconds that an evaluation may take; the default in the code holds then.
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 5.0) -> None:
        where, _ = checked_url(url)
        secret = os.environ.get("TIDEPROOF_KEY") if key is None else key
        self._calls = Calls(where, secret)
        super().__init__(
            where, headers_factory=lambda: {"Authorization": f"Bearer {secret}"}, timeout=timeout
        )

    def get_metadata(self) -> Metadata:
        """Return how it is called."""
        return Metadata(name="tideproof")

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Note that a visitor saw what the flag of that name gave them; with a value, what they brought."""
        unit = evaluation_context.targeting_key if evaluation_context else None
        if not unit:
            raise InputError(f"track({tracking_event_name!r}) needs a context with a targeting key")
        path = f"/v1/experiments/{quote(tracking_event_name, safe='')}"
        value = tracking_event_details.value if tracking_event_details else None
        if tracking_event_details is None or value is None:
            self._calls.post(f"{path}/exposures", {"exposures": [{"unit": unit}]})
            return
        outcome: dict[str, Any] = {"unit": unit, "reward": value}
        if (key := tracking_event_details.attributes.get("key")) is not None:
            outcome["key"] = str(key)
        self._calls.post(f"{path}/outcomes", {"outcomes": [outcome]})

    def shutdown(self) -> None:
        """Let go of the connections."""
        self._calls.close()
        self.session.close()
