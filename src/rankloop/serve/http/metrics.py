"""Metrics of the service for Prometheus."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from rankloop._extras import require
from rankloop.serve.http.schema import Accepted, SearchAnswer

if TYPE_CHECKING:
    from rankloop.serve.service import Service

__all__ = ["Metrics"]

STAGE_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """Metrics of one service, in a registry of its own; no label takes its value from a client."""

    def __init__(self, service: "Service") -> None:
        prometheus = require("prometheus_client", "serve")
        self._text = prometheus.generate_latest
        self.content_type: str = prometheus.CONTENT_TYPE_LATEST
        self.registry, self.versions = prometheus.CollectorRegistry(), prometheus.CollectorRegistry()
        options = {"registry": self.registry}
        self._requests = prometheus.Counter(
            "rankloop_requests", "Answers by route and status.", ["route", "status"], **options
        )
        self._seconds = prometheus.Histogram(
            "rankloop_stage_seconds",
            "Seconds of each stage of a search.",
            ["stage"],
            buckets=STAGE_BUCKETS,
            **options,
        )
        self._pages = prometheus.Counter(
            "rankloop_pages",
            "Pages by ranker, and whether they were recorded.",
            ["ranker", "recorded"],
            registry=self.versions,
        )
        self._events = prometheus.Counter("rankloop_events", "Events by outcome.", ["outcome"], **options)
        # The same counters by their labels without a lock: a search counts eight times.
        self._route: Callable[..., Any] = cache(self._requests.labels)
        self._stage: Callable[..., Any] = cache(self._seconds.labels)
        self._by: Callable[..., Any] = cache(self._pages.labels)
        gauge = require("prometheus_client.core", "serve").GaugeMetricFamily
        self.registry.register(_Gauges(service, gauge))
        self.versions.register(_VersionGauges(service, gauge))

    def text(self, *, versions: bool = False) -> bytes:
        """The metrics in the format of Prometheus; with `versions` also those that name versions."""
        return bytes(self._text(self.registry)) + (bytes(self._text(self.versions)) if versions else b"")

    def request(self, route: str, status: int) -> None:
        self._route(route, str(status)).inc()

    def page(self, answer: SearchAnswer) -> None:
        self._by(str(answer.ranker), "yes" if answer.impression else "no").inc()
        for stage, seconds in answer.seconds.items():
            self._stage(stage).observe(seconds)

    def events(self, accepted: Accepted) -> None:
        self._events.labels("accepted").inc(accepted.accepted)
        self._events.labels("refused").inc(len(accepted.refused))


class _Gauges:
    """What is read from the service when the metrics are read."""

    def __init__(self, service: "Service", gauge: Any) -> None:
        self.service, self.gauge = service, gauge

    def collect(self) -> Iterator[Any]:
        service = self.service
        yield self.gauge("rankloop_documents", "Documents in the index.", len(service.index))
        yield self.gauge("rankloop_generation", "Commits of the index.", service.index.generation)
        yield self.gauge(
            "rankloop_spool_bytes", "Bytes on disk that wait for the store.", service.recorder.spool.waiting
        )
        yield self.gauge("rankloop_troubles", "Things that are wrong now.", len(service.troubles))


class _VersionGauges(_Gauges):
    """The same for what names versions."""

    def collect(self) -> Iterator[Any]:
        service = self.service
        serving = self.gauge("rankloop_serving", "Which version has which role.", labels=["role", "version"])
        roles = service.versions.live.roles
        for role in ("production", "canary", "shadow"):
            if getattr(roles, role):
                serving.add_metric([role, str(getattr(roles, role))], 1.0)
        yield serving
        agreement = service.shadow.agreement(roles.shadow) if roles.shadow else None
        if agreement is not None:
            shadow = self.gauge(
                "rankloop_shadow", "Agreement of the shadow with what was shown.", labels=["of"]
            )
            for name, value in agreement.items():
                shadow.add_metric([name], value)
            yield shadow
