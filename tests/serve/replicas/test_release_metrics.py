"""The names that the dashboard reads."""

from __future__ import annotations

from cocite_serve.http.metrics import exported_names
from cocite_serve.replicas.release_metrics import ReleaseMetrics


def test_the_exported_names() -> None:
    assert exported_names(ReleaseMetrics()) == [
        "ray_cocite_release_requests_total",
        "ray_cocite_release_seconds",
        "ray_cocite_shadow_overlap",
        "ray_cocite_shadow_dropped_total",
    ]
