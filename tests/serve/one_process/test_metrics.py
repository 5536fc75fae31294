"""Metrics of an endpoint in one process, as Prometheus reads them."""

from __future__ import annotations

import subprocess
import sys

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from cocite_serve.http.metrics import GatewayMetrics
from cocite_serve.metric_types import keep_in
from cocite_serve.one_process import metrics as module
from cocite_serve.one_process.metrics import LocalMetrics


def values(metrics: LocalMetrics) -> dict[tuple[str, ...], float]:
    url = metrics.serve(0)
    try:
        text = httpx.get(url, timeout=10).text
    finally:
        metrics.close()
    families = text_string_to_metric_families(text)
    return {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}


def test_what_is_counted_set_and_observed_is_read() -> None:
    metrics = LocalMetrics()
    requests = metrics.counter("cocite_requests", "Requests.", ("path",))
    requests.inc(tags={"path": "/a"})
    requests.inc(2, tags={"path": "/a"})
    metrics.counter("cocite_dropped", "Dropped.", ()).inc()
    metrics.gauge("cocite_papers", "Papers.", ()).set(7)
    metrics.histogram("cocite_seconds", "Seconds.", ("path",), [0.1, 1.0]).observe(0.4, tags={"path": "/a"})
    found = values(metrics)
    assert found["ray_cocite_requests_total", "/a"] == 3
    assert found["ray_cocite_dropped_total",] == 1
    assert found["ray_cocite_papers",] == 7
    buckets = {key[1:]: value for key, value in found.items() if key[0] == "ray_cocite_seconds_bucket"}
    assert sorted(buckets.values()) == [0, 1, 1]


def test_a_name_has_one_metric() -> None:
    metrics = LocalMetrics()
    for _ in range(2):
        metrics.counter("cocite_requests", "Requests.", ()).inc()
    assert metrics.registry.get_sample_value("ray_cocite_requests_total") == 2


def test_a_gauge_that_is_not_set_again_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics = LocalMetrics()
    index = metrics.gauge("cocite_index_info", "Index.", ("version",))
    index.set(1, tags={"version": "000001"})
    monkeypatch.setattr(module, "FORGOTTEN_S", -1.0)
    assert metrics.registry.get_sample_value("ray_cocite_index_info", {"version": "000001"}) is None
    monkeypatch.setattr(module, "FORGOTTEN_S", 60.0)
    index.set(1, tags={"version": "000002"})
    assert metrics.registry.get_sample_value("ray_cocite_index_info", {"version": "000002"}) == 1


def test_those_of_a_gateway_are_kept_here_while_told_so() -> None:
    metrics = LocalMetrics()
    keep_in(metrics)
    try:
        GatewayMetrics().count("/v1/recommend", status=429, seconds=0.001)
    finally:
        keep_in(None)
    assert metrics.registry.get_sample_value("ray_cocite_rejected_total", {"reason": "overloaded"}) == 1


def test_a_process_that_keeps_its_metrics_does_not_import_ray() -> None:
    code = (
        "import sys; from cocite_serve.http.metrics import GatewayMetrics; "
        "from cocite_serve.metric_types import keep_in; from cocite_serve.one_process.metrics import LocalMetrics; "
        "keep_in(LocalMetrics()); GatewayMetrics(); assert 'ray' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
