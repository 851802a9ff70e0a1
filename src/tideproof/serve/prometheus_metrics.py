"""Metrics of the service in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tideproof._version import __version__

MEDIA = "text/plain; version=0.0.4; charset=utf-8"


class ServiceMetrics:
    """Counters and histograms of one HTTP service, for Prometheus."""

    def __init__(self, opened: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "tideproof_requests",
            "Number of requests.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self.seconds = Histogram(
            "tideproof_request_seconds",
            "Seconds until the response began.",
            ["route"],
            buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
            registry=self._registry,
        )
        Gauge(
            "tideproof_open_experiments", "Number of open experiments.", registry=self._registry
        ).set_function(opened)
        about = Gauge("tideproof_info", "Version of tideproof.", ["version"], registry=self._registry)
        about.labels(__version__).set(1)

    def text(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self._registry)
