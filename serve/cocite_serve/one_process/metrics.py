"""The metrics of an endpoint in one process, for Prometheus to read over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from cocite_serve.metric_types import name_in_prometheus

Made = TypeVar("Made")
Prometheus = TypeVar("Prometheus", Counter, Gauge, Histogram)

FORGOTTEN_S = 20.0
"""Seconds after which a gauge that was not set again is no longer told, as by Ray's agent."""


class LocalMetrics:
    """Metrics of this process by name; what asks for a name a second time, as a stage that is loaded anew, gets the
    same one.

    Example:
        >>> metrics = LocalMetrics()
        >>> metrics.counter("cocite_requests", "Requests.", ("path",)).inc(tags={"path": "/v1/recommend"})
        >>> metrics.registry.get_sample_value("ray_cocite_requests_total", {"path": "/v1/recommend"})
        1.0
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._by_name: dict[str, Any] = {}
        self._server: Any = None

    def counter(self, name: str, description: str, tag_keys: Sequence[str]) -> LocalCounter:
        """The counter of a name."""
        known = name_in_prometheus(name, counts=True)
        return self._once(
            name, lambda: LocalCounter(Counter(known, description, tag_keys, registry=self.registry))
        )

    def gauge(self, name: str, description: str, tag_keys: Sequence[str]) -> LocalGauge:
        """The gauge of a name."""
        known = name_in_prometheus(name, counts=False)

        def make() -> LocalGauge:
            made = LocalGauge(Gauge(known, description, tag_keys, registry=None), tag_keys)
            self.registry.register(made)
            return made

        return self._once(name, make)

    def histogram(
        self, name: str, description: str, tag_keys: Sequence[str], boundaries: Sequence[float]
    ) -> LocalHistogram:
        """The histogram of a name."""
        known = name_in_prometheus(name, counts=False)
        return self._once(
            name,
            lambda: LocalHistogram(
                Histogram(known, description, tag_keys, buckets=boundaries, registry=self.registry)
            ),
        )

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        if name not in self._by_name:
            self._by_name[name] = make()
        made: Made = self._by_name[name]
        return made

    def serve(self, port: int) -> str:
        """Answer Prometheus on the loopback address until :meth:`close`. Returns the URL.

        Args:
            port: 0: any free one.
        """
        self._server, _ = start_http_server(port, addr="127.0.0.1", registry=self.registry)
        return f"http://127.0.0.1:{self._server.server_port}/metrics"

    def close(self) -> None:
        """Answer no more."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


class LocalCounter:
    """A counter of prometheus_client that is called as Ray's.

    Example:
        >>> LocalMetrics().counter("cocite_example", "Example.", ()).inc(2)
    """

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def inc(self, value: float = 1.0, tags: dict[str, str] | None = None) -> None:
        """Add to it."""
        _labelled(self._counter, tags).inc(value)


class LocalHistogram:
    """A histogram of prometheus_client that is called as Ray's.

    Example:
        >>> LocalMetrics().histogram("cocite_example_seconds", "Example.", (), [0.1, 1.0]).observe(0.4)
    """

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram

    def observe(self, value: float, tags: dict[str, str] | None = None) -> None:
        """Take a value."""
        _labelled(self._histogram, tags).observe(value)


class LocalGauge(Collector):
    """A gauge that forgets what was not set again for :data:`FORGOTTEN_S`: the index served before, for example.

    Example:
        >>> LocalMetrics().gauge("cocite_example", "Example.", ("version",)).set(1, tags={"version": "000001"})
    """

    def __init__(self, gauge: Gauge, tag_keys: Sequence[str]) -> None:
        self._gauge, self._tag_keys = gauge, tag_keys
        self._set_at: dict[tuple[str, ...], float] = {}

    def set(self, value: float, tags: dict[str, str] | None = None) -> None:
        """Set it."""
        _labelled(self._gauge, tags).set(value)
        self._set_at[tuple((tags or {})[name] for name in self._tag_keys)] = time.monotonic()

    def collect(self) -> Iterable[Metric]:
        """What Prometheus reads."""
        now = time.monotonic()
        for labels, at in list(self._set_at.items()):
            if labels and now - at > FORGOTTEN_S:
                self._gauge.remove(*labels)
                del self._set_at[labels]
        return self._gauge.collect() if self._set_at else ()


def _labelled(metric: Prometheus, tags: dict[str, str] | None) -> Prometheus:
    """The metric of some labels; without any, the metric itself."""
    return metric.labels(**tags) if tags else metric
