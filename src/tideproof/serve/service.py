"""`Service`: the objects that all routes of one service share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread
from fastapi import Request

from tideproof.serve.auth.api_keys import KeyStore
from tideproof.serve.auth.visitor_limits import VisitorLimiter
from tideproof.serve.clock_keeper import ClockKeeper
from tideproof.serve.experiment_cache import ExperimentCache
from tideproof.serve.feature_flags import FlagEvaluator
from tideproof.serve.pages.experiment_view import ViewCache
from tideproof.serve.problem_details import Problem
from tideproof.serve.prometheus_metrics import ServiceMetrics
from tideproof.serve.rate_limit import RateLimiter
from tideproof.serve.readiness_check import ReadinessCheck
from tideproof.serve.retention import RetentionSweeper
from tideproof.serve.service_settings import Settings
from tideproof.serve.stream_notifier import Notifier
from tideproof.serve.unit_evaluation import UnitEvaluator
from tideproof.serve.webhooks.webhook_sender import WebhookSender
from tideproof.serve.webhooks.webhook_store import WebhookStore

T = TypeVar("T")


class Service:
    """Objects that all routes of one HTTP service share, such as the open experiments and the API keys.

    Attributes
    ----------
    settings : settings of the service.
    experiments : the open experiments; its calls block, so routes make them through `call`.
    readiness : check of the store for `/readyz`; its calls block, too.
    units, flags : assignment of arms to units, and feature flags; their calls block, too.
    keys : API keys and sessions; its calls block, too.
    webhooks, sender : registered webhooks, whose calls block, and the thread that sends their messages.
    clock_keeper : the thread that notices when the clock of the machine is set.
    sweeper : the thread that deletes archived experiments after the retention time.
    rate_limiter, address_limiter : rate limits per API key, and per address.
    failure_limiter : rate limit per address without a valid key.
    visitor_limiter : limit of the new visitors that public keys bring; its calls do not block.
    notifier : wakes the streams that wait for events of an experiment.
    visitor_notifier : counts the streams on which browsers wait for changes of flags.
    metrics : counters for Prometheus.
    views : cached data of experiment pages; its calls block.
    stopping : whether the service is stopping, so that streams must end.
    """

    def __init__(self, url: str, settings: Settings) -> None:
        self.settings = settings
        self.experiments = ExperimentCache(url, settings.open_experiments, settings.postgres_connections)
        self.readiness = ReadinessCheck(url)
        self.visitor_limiter = VisitorLimiter(settings)
        self.units = UnitEvaluator(settings, self.visitor_limiter)
        self.flags = FlagEvaluator(self.experiments, settings, self.units)
        self.keys = KeyStore(self.experiments.backend, settings.admin_key, self.experiments.store_lock)
        self.webhooks = WebhookStore(
            self.experiments.backend, self.experiments.store_lock, settings.webhook_targets == "any"
        )
        self.sender = WebhookSender(self.experiments, self.webhooks)
        self.clock_keeper = ClockKeeper(url)
        self.sweeper = RetentionSweeper(self.experiments, settings.retention_days)
        self.rate_limiter = RateLimiter(settings.requests_per_second)
        self.address_limiter = RateLimiter(settings.address_requests_per_second)
        self.failure_limiter = RateLimiter(settings.failures_per_minute / 60.0, settings.failures_per_minute)
        self.notifier = Notifier(settings.event_streams)
        self.visitor_notifier = Notifier(settings.flag_streams)
        self.metrics = ServiceMetrics(lambda: len(self.experiments))
        self.views = ViewCache()
        self.stopping = False
        self._limiter: anyio.CapacityLimiter | None = None
        self._commands = 0

    async def call(self, work: Callable[..., T], *args: Any) -> T:
        """Run a blocking function in a worker thread and return its result."""
        limiter = self._limiter = self._limiter or anyio.CapacityLimiter(self.settings.threads)
        if self._commands >= self.settings.threads + self.settings.waiting_requests:
            raise Problem(
                503,
                f"too many requests are in progress ({self._commands:,}, the maximum): retry later",
                "StoreError",
            )
        self._commands += 1
        try:
            with anyio.fail_after(self.settings.request_seconds):
                return await anyio.to_thread.run_sync(work, *args, limiter=limiter, abandon_on_cancel=True)
        except TimeoutError:
            raise Problem(
                503,
                f"the request took longer than {self.settings.request_seconds:g} s; it may have been "
                f"executed, or may still be executed. If it had an Idempotency-Key, repeat it with the same "
                f"key to get its result",
                "StoreError",
            ) from None
        finally:
            self._commands -= 1

    def stop(self) -> None:
        """Let event streams end, so that the service can stop; safe to call from a signal handler."""
        self.stopping = True

    def close(self) -> None:
        """Close the store. Every acknowledged request is already saved in it."""
        self.readiness.close()
        self.experiments.close()


def service_of(request: Request) -> Service:
    """Return the service that received a request."""
    return cast(Service, request.app.state.service)
