"""OpenFeature provider: uses a tideproof experiment as a feature flag, and records rewards."""

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

from tideproof.remote.http_calls import ServiceClient, checked_url

if TYPE_CHECKING:
    from openfeature.evaluation_context import EvaluationContext
    from openfeature.track import TrackingEventDetails


class TideproofProvider(OFREPProvider):
    """OpenFeature provider that evaluates feature flags and records rewards by a tideproof service.

    Flags are evaluated by OFREP. `client.track("buttons", context)` records that the visitor of the context
    saw the arm of the flag `buttons`. With `TrackingEventDetails(value=20.0, attributes={"key": "order 7"})`
    it records a reward, once for each key; this needs an API key with the role reporter.

    Parameters
    ----------
    url
        URL of a service that `tideproof serve` started.
    key
        API key; by default the environment variable `TIDEPROOF_KEY`.
    timeout
        Seconds to wait for an evaluation; after that, the default value in the code is used.
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 5.0) -> None:
        where, _ = checked_url(url)
        secret = os.environ.get("TIDEPROOF_KEY") if key is None else key
        self._calls = ServiceClient(where, secret)
        super().__init__(
            where, headers_factory=lambda: {"Authorization": f"Bearer {secret}"}, timeout=timeout
        )

    def get_metadata(self) -> Metadata:
        """Return the name of this OpenFeature provider."""
        return Metadata(name="tideproof")

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Record a visitor's reward from a tracking event.

        An event without a value records that the visitor saw the arm.
        """
        unit = evaluation_context.targeting_key if evaluation_context else None
        if not unit:
            raise InputError(
                f"track({tracking_event_name!r}) needs an evaluation context with a targeting key"
            )
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
        """Close the HTTP connections to the service."""
        self._calls.close()
        self.session.close()
