"""What all routes of one service share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread
from fastapi import Request

from tideproof.serve.auth.api_keys import Keys
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.feature_flags import Flags
from tideproof.serve.notifier import Feed
from tideproof.serve.pages.experiment_view import Views
from tideproof.serve.problem_details import Problem
from tideproof.serve.prometheus_metrics import ServiceMetrics
from tideproof.serve.rate_limit import Buckets
from tideproof.serve.service_settings import Settings
from tideproof.serve.webhooks.webhook_sender import Sender
from tideproof.serve.webhooks.webhook_store import Webhooks

T = TypeVar("T")


class Service:
    """A store that is served.

    Attributes
    ----------
    settings : as they were given.
    experiments : those that are open; blocking, hence through `call`.
    flags : those of them that have visitors; blocking, too.
    keys : who may call; blocking, too.
    webhooks, sender : where to send what happens, blocking, too; the thread that does.
    rates, failures : how often each key may come, and each address without one.
    feed, visitors : wakes who follows events; counts the browsers that follow flags.
    metrics : for Prometheus.
    views : of experiments, for pages; blocking.
    stopping : whether no more streams should wait.
    """

    def __init__(self, url: str, settings: Settings) -> None:
        self.settings = settings
        self.experiments = ExperimentCache(url, settings.opened)
        self.flags = Flags(self.experiments, settings)
        self.keys = Keys(self.experiments.place, settings.admin_key, self.experiments.reading)
        self.webhooks = Webhooks(self.experiments.place, self.experiments.reading, settings.targets == "any")
        self.sender = Sender(self.experiments, self.webhooks)
        self.rates = Buckets(settings.rate)
        self.failures = Buckets(settings.failures / 60.0, settings.failures)
        self.feed = Feed(settings.streams)
        self.visitors = Feed(settings.visitors)
        self.metrics = ServiceMetrics(lambda: len(self.experiments))
        self.views = Views()
        self.stopping = False
        self._limiter: anyio.CapacityLimiter | None = None
        self._commands = 0

    async def call(self, work: Callable[..., T], *args: Any) -> T:
        """Return what a blocking call returns, done in a thread while others are served."""
        limiter = self._limiter = self._limiter or anyio.CapacityLimiter(self.settings.threads)
        if self._commands >= self.settings.threads + self.settings.waiting:
            raise Problem(503, "too many commands wait already: come again", "StoreError")
        self._commands += 1
        try:
            with anyio.fail_after(self.settings.seconds):
                return await anyio.to_thread.run_sync(work, *args, limiter=limiter, abandon_on_cancel=True)
        except TimeoutError:
            raise Problem(
                503,
                f"it took longer than {self.settings.seconds:g} s and may still be done: repeat it with the "
                f"same Idempotency-Key",
                "StoreError",
            ) from None
        finally:
            self._commands -= 1

    def stop(self) -> None:
        """Let streams end, so that the service can; may be called by a signal."""
        self.stopping = True

    def close(self) -> None:
        """Let go of the store; what was acknowledged is in it."""
        self.experiments.close()


def service_of(request: Request) -> Service:
    """Return the service that a request came to."""
    return cast(Service, request.app.state.service)
