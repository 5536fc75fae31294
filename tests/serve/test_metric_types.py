"""Metrics are Ray's unless the process keeps its own."""

from __future__ import annotations

import ray.util.metrics

from cocite_serve.metric_types import counter, gauge, histogram, keep_in, name_in_prometheus
from cocite_serve.one_process.metrics import LocalCounter, LocalGauge, LocalHistogram, LocalMetrics


def test_they_are_rays_and_then_the_processs_own() -> None:
    def made() -> list[object]:
        return [counter("cocite_a", "A."), gauge("cocite_b", "B."), histogram("cocite_c", "C.", [1.0, 2.0])]

    assert all(isinstance(metric, ray.util.metrics.Metric) for metric in made())
    keep_in(LocalMetrics())
    try:
        assert [type(metric) for metric in made()] == [LocalCounter, LocalGauge, LocalHistogram]
    finally:
        keep_in(None)
    assert all(isinstance(metric, ray.util.metrics.Metric) for metric in made())


def test_names_are_those_that_rays_agent_gives() -> None:
    assert name_in_prometheus("cocite_requests", counts=True) == "ray_cocite_requests_total"
    assert name_in_prometheus("cocite_index_papers", counts=False) == "ray_cocite_index_papers"
