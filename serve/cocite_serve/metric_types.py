"""Counters, gauges and histograms: Ray's, or those of an endpoint that runs in one process.

What counts something makes its metrics here, and need not know on what it runs. Both kinds have the same names in
Prometheus (``ray_`` before, ``_total`` behind a counter's), so that one dashboard and one set of alerts reads both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Counter(Protocol):
    """A number that only grows.

    Example:
        >>> counter("cocite_example", "Example.", ("reason",)).inc(tags={"reason": "overloaded"})
    """

    def inc(self, value: float = 1.0, tags: dict[str, str] | None = None) -> None:
        """Add to it."""


class Gauge(Protocol):
    """A number that grows and shrinks.

    Example:
        >>> gauge("cocite_example_now", "Example.").set(3)
    """

    def set(self, value: float, tags: dict[str, str] | None = None) -> None:
        """Set it."""


class Histogram(Protocol):
    """How many values there were up to each of some bounds.

    Example:
        >>> histogram("cocite_example_seconds", "Example.", [0.1, 1.0]).observe(0.4)
    """

    def observe(self, value: float, tags: dict[str, str] | None = None) -> None:
        """Take a value."""


class Metrics(Protocol):
    """Makes the metrics of a process that is none of Ray's.

    Example:
        See :class:`cocite_serve.one_process.metrics.LocalMetrics`.

        >>> issubclass(Metrics, Protocol)
        True
    """

    def counter(self, name: str, description: str, tag_keys: Sequence[str]) -> Counter:
        """The counter of a name."""

    def gauge(self, name: str, description: str, tag_keys: Sequence[str]) -> Gauge:
        """The gauge of a name."""

    def histogram(
        self, name: str, description: str, tag_keys: Sequence[str], boundaries: Sequence[float]
    ) -> Histogram:
        """The histogram of a name."""


_of_process: Metrics | None = None


def keep_in(metrics: Metrics | None) -> None:
    """Make the metrics of this process here from now on; None: they are Ray's again."""
    global _of_process
    _of_process = metrics


def counter(name: str, description: str, tag_keys: Sequence[str] = ()) -> Counter:
    """A counter of this process. In a process that is not connected to Ray, Ray's goes nowhere."""
    if _of_process is not None:
        return _of_process.counter(name, description, tag_keys)
    made: Counter = _ray("Counter")(name, description=description, tag_keys=tuple(tag_keys))
    return made


def gauge(name: str, description: str, tag_keys: Sequence[str] = ()) -> Gauge:
    """A gauge of this process, see :func:`counter`."""
    if _of_process is not None:
        return _of_process.gauge(name, description, tag_keys)
    made: Gauge = _ray("Gauge")(name, description=description, tag_keys=tuple(tag_keys))
    return made


def histogram(
    name: str, description: str, boundaries: Sequence[float], tag_keys: Sequence[str] = ()
) -> Histogram:
    """A histogram of this process, see :func:`counter`.

    Args:
        name: without ``ray_``.
        description: for Prometheus.
        boundaries: upper bounds of its buckets, ascending; one without a bound is added.
        tag_keys: names of its labels.
    """
    if _of_process is not None:
        return _of_process.histogram(name, description, tag_keys, boundaries)
    made: Histogram = _ray("Histogram")(
        name, description=description, boundaries=list(boundaries), tag_keys=tuple(tag_keys)
    )
    return made


def name_in_prometheus(name: str, *, counts: bool) -> str:
    """The name under which Prometheus has a metric.

    Example:
        >>> name_in_prometheus("cocite_requests", counts=True)
        'ray_cocite_requests_total'
    """
    return f"ray_{name}{'_total' if counts else ''}"


def _ray(kind: str) -> Any:
    from ray.serve import metrics  # Ray is for processes that serve alone

    return getattr(metrics, kind)
